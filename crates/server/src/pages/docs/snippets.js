// A request of the page as programs: fetch in TypeScript, and a GraphQL query or mutation. Each runs as it stands.

import { isBody } from './grammar.js';
import { compact, member, parse, pretty } from './json.js';

const MAX_WIDTH = 80;
const TYPES = { bool: 'boolean', int: 'number', bigint: 'number', float: 'number', json: 'unknown' };

/** The statements of a text: `query`, and `constraint` in a whole body; each a node or undefined. */
function layers(root) {
  if (!root) return {};
  return isBody(root) ? { query: member(root, 'query'), constraint: member(root, 'constraint') } : { query: root };
}

/** The relations that the statements load, by name, with the nodes that shape each. */
function loaded(nodes) {
  const found = new Map();
  for (const node of nodes) {
    for (const { key, value } of member(node, 'relations')?.members ?? []) {
      if (value) found.set(key.value, [...(found.get(key.value) ?? []), value]);
    }
  }
  return found;
}

/** Names such as `orders.total` as a tree: the names of a row, and those of the relations among them, null for all. Null without names. */
function selectionOf(names) {
  if (!names || names.length === 0) return null;
  const tree = new Map();
  for (const name of names) {
    const [first, ...rest] = name.split('.');
    if (rest.length === 0) tree.set(first, null);
    else if (tree.get(first) !== null) tree.set(first, [...(tree.get(first) ?? []), rest.join('.')]);
  }
  return new Map([...tree].map(([name, below]) => [name, below && selectionOf(below)]));
}

/** The fields that a row shows: those that are named, or all but those that are shown only if they are named. */
function shownFields(resource, selection) {
  return resource.fields.filter(({ name, eager }) => (selection ? selection.has(name) : eager !== false));
}

/** The loaded relations that a row shows: `{name, many, target, nodes, selection}`. */
function shownRelations(resource, catalog, nodes, selection) {
  return [...loaded(nodes)].flatMap(([name, inner]) => {
    const target = catalog.target(resource, name);
    const many = resource.relations.find((relation) => relation.name === name)?.many;
    return target && (!selection || selection.has(name)) ? [{ name, many, target, nodes: inner, selection: selection?.get(name) ?? null }] : [];
  });
}

const isAggregated = ({ query }) => member(query, 'aggregation')?.kind === 'object';

/** GraphQL has no field of another shape. */
const isName = (name) => /^[_A-Za-z]\w*$/.test(name) && !name.startsWith('__');

/**
 * The statement as a GraphQL query: `{query, variables}`, or `{message}` if GraphQL cannot say it. The variables are empty unless a key is
 * no name of GraphQL. `fields` are the names that rows show.
 */
export function graphql({ resource, operation, id, text, fields }, catalog) {
  const { root } = parse(text);
  const found = layers(root);
  const roots = rootFields({ resource, operation, fields, found }, catalog);
  if (roots.message) return roots;
  const given = Object.entries(found).filter(([, node]) => node);
  const inline = given.every(([, node]) => isLiteral(node));
  const values = given.map(([name, node]) => [name, inline ? literal(node, text, '    ') : `$${name}`]);
  if (id !== undefined) values.unshift(['id', JSON.stringify(id)]);
  const head = inline || given.length === 0 ? 'query' : `query (${given.map(([name]) => `$${name}: QueryStatementInput`).join(', ')})`;
  const lines = roots.map(([field, selection]) => `  ${field}${argumentList(values)} ${selection}\n`);
  return { query: `${head} {\n${lines.join('')}}\n`, variables: inline ? '' : variablesOf(given, text) };
}

/** The root fields of a query, each with its selection. The rows of a page have no selection of their own, so `list` gives them. */
function rootFields({ resource, operation, fields, found }, catalog) {
  const name = (wanted) => resource.operations.find((candidate) => candidate.name === wanted)?.graphql;
  const field = name(operation);
  if (!field) return { message: 'GraphQL has no name for this resource.' };
  const selection = selectionOf(fields);
  const rows = () => (isAggregated(found) ? '{ _aggregation }' : rowSelection(resource, catalog, { nodes: Object.values(found), selection }, '  '));
  if (operation === 'paginate') return selection ? [[field, '{ total count }'], [name('list'), rows()]] : [[field, '{ total count rows }']];
  if (operation !== 'keysetPaginate') return [[field, rows()]];
  return selection ? { message: 'A keyset page of GraphQL has whole rows. Choose “list” to select fields.' } : [[field, '{ count rows next }']];
}

/** The arguments of a field, on one line if they fit. */
function argumentList(values) {
  const line = values.map(([name, value]) => `${name}: ${value}`).join(', ');
  const isShort = line.length <= MAX_WIDTH && !line.includes('\n');
  return values.length === 0 ? '' : isShort ? `(${line})` : `(\n${values.map(([name, value]) => `    ${name}: ${value}`).join('\n')}\n  )`;
}

function variablesOf(given, text) {
  return `{\n${given.map(([name, node]) => `  ${JSON.stringify(name)}: ${compact(node, text)}`).join(',\n')}\n}\n`;
}

/** A write as a GraphQL mutation: `{query, variables}`; `text` is its body, `id` the key of the row. Null if GraphQL has no field for it. */
export function mutation({ resource, form, id, text }, catalog) {
  const field = resource.write.operations.find(({ name }) => name === form)?.graphql;
  if (!field) return null;
  const { root } = parse(text);
  const given = root.members.map(({ key, value }) => [key.value, value]);
  const inline = given.every(([, node]) => isLiteral(node));
  const type = upperFirst(resource.context) + upperFirst(resource.resource);
  const types = { payload: `${type}${form === 'create' ? 'Create' : 'Update'}Input!`, expect: 'JSON', dryRun: 'Boolean' };
  const values = given.map(([name, node]) => [name, inline ? literal(node, text, '    ') : `$${name}`]);
  if (id !== undefined) values.unshift(['id', JSON.stringify(id)]);
  const head = inline ? 'mutation' : `mutation (${given.map(([name]) => `$${name}: ${types[name]}`).join(', ')})`;
  const query = `${head} {\n  ${field}${argumentList(values)} ${writtenSelection(resource, catalog)}\n}\n`;
  return { query, variables: inline ? '' : variablesOf(given, text) };
}

/** A caller who may not read the rows of a resource sees their key. */
function writtenSelection(resource, catalog) {
  const key = resource.write.key.filter(isName);
  return resource.fields.length === 0 && key.length > 0 ? `{ ${key.join(' ')} }` : rowSelection(resource, catalog, { nodes: [], selection: null }, '  ');
}

const upperFirst = (name) => name.charAt(0).toUpperCase() + name.slice(1);

function isLiteral(node) {
  if (node?.kind === 'object') return node.members.every(({ key, value }) => isName(key.value) && isLiteral(value));
  if (node?.kind === 'array') return node.items.every(({ value }) => isLiteral(value));
  return true;
}

/** A value as GraphQL writes it: like JSON, with names as keys. */
function literal(node, text, indent) {
  const line = flatLiteral(node, text);
  if (indent.length + line.length <= MAX_WIDTH || (node.kind !== 'object' && node.kind !== 'array')) return line;
  const deeper = `${indent}  `;
  const parts =
    node.kind === 'array'
      ? node.items.map(({ value }) => literal(value, text, deeper))
      : node.members.map(({ key, value }) => `${key.value}: ${literal(value, text, deeper)}`);
  const [open, close] = node.kind === 'array' ? ['[', ']'] : ['{', '}'];
  return `${open}\n${parts.map((part) => `${deeper}${part}`).join('\n')}\n${indent}${close}`;
}

function flatLiteral(node, text) {
  if (!node) return 'null';
  if (node.kind === 'object') return `{${node.members.map(({ key, value }) => `${key.value}: ${flatLiteral(value, text)}`).join(', ')}}`;
  if (node.kind === 'array') return `[${node.items.map(({ value }) => flatLiteral(value, text)).join(', ')}]`;
  return text.slice(node.start, node.end);
}

/** The fields of a row, and those of the relations that the statements load. */
function rowSelection(resource, catalog, { nodes, selection }, indent) {
  const deeper = `${indent}  `;
  const lines = shownFields(resource, selection).map(({ name }) => name).filter(isName);
  for (const { name, target, ...inner } of shownRelations(resource, catalog, nodes, selection)) {
    if (isName(name)) lines.push(`${name} ${rowSelection(target, catalog, inner, deeper)}`);
  }
  if (lines.length === 0) return '{ __typename }';
  return `{\n${lines.map((line) => `${deeper}${line}\n`).join('')}${indent}}`;
}

/** The statement as a program in TypeScript that prints the answer. */
export function typescript({ origin, path, resource, operation, text, fields, signedIn }, catalog) {
  const { root } = parse(text);
  const found = layers(root);
  const row = isAggregated(found) ? 'Record<string, unknown>' : rowType(resource, catalog, { nodes: Object.values(found), selection: selectionOf(fields) }, '');
  const name = typeNameOf(resource);
  const answers = {
    paginate: `{ total: number; count: number; rows: ${name}[] }`,
    keysetPaginate: `{ count: number; rows: ${name}[]; next: object | null }`,
    list: `${name}[]`,
  };
  const json = !root ? null : isBody(root) ? compact(root, text) : `{"query": ${compact(root, text)}}`;
  return program({ name, row, answer: answers[operation] ?? name, url: origin + path, json, signedIn });
}

/** A write as a program in TypeScript that prints the row; `text` is the body. */
export function typescriptOfWrite({ origin, path, resource, text, signedIn }, catalog) {
  const name = typeNameOf(resource);
  return program({ name, row: rowType(resource, catalog, { nodes: [], selection: null }, ''), answer: name, url: origin + path, json: text, signedIn });
}

/** The name of the type of a row. It hides neither of the types that the program uses. */
function typeNameOf(resource) {
  const name = upperFirst(resource.resource);
  return ['Promise', 'Record'].includes(name) ? `${name}Row` : name;
}

/** A module without a top-level `await`, which not every setting of a compiler allows. */
function program({ name, row, answer, url, json, signedIn }) {
  const headers = ["'Content-Type': 'application/json'", signedIn && 'Authorization: `Bearer ${process.env.TOKEN}`'].filter(Boolean).join(', ');
  return [
    // In a module of its own, so that it needs no types of Node.
    ...(signedIn ? ['declare const process: { env: Record<string, string | undefined> };', ''] : []),
    `export type ${name} = ${row};`,
    '',
    `export async function request(): Promise<${answer}> {`,
    `  const response = await fetch(${quoted(url)}, {`,
    "    method: 'POST',",
    `    headers: { ${headers} },`,
    `    body: ${body(json)},`,
    '  });',
    '  if (!response.ok) throw new Error(await response.text());',
    `  return (await response.json()) as ${answer};`,
    '}',
    '',
    'request().then((answer) => console.log(answer));',
    '',
  ].join('\n');
}

/** The body of the request. JavaScript would round some numbers, so a text with such a number stays a text. */
function body(json) {
  if (json === null) return "'{}'";
  const { root } = parse(json);
  if (!keepsNumbers(root, json)) return quoted(json);
  return `JSON.stringify(${pretty(root, json).replaceAll('\n', '\n    ')})`;
}

function keepsNumbers(node, text) {
  if (node?.kind === 'object') return node.members.every(({ key, value }) => key.value !== '__proto__' && keepsNumbers(value, text));
  if (node?.kind === 'array') return node.items.every(({ value }) => keepsNumbers(value, text));
  const written = node ? text.slice(node.start, node.end) : '';
  return node?.kind !== 'number' || String(Number(written)) === written;
}

const quoted = (text) => `'${text.replace(/[\\']/g, '\\$&').replaceAll('\n', '\\n')}'`;

/** The type of a row with the relations that the statements load. */
function rowType(resource, catalog, { nodes, selection }, indent) {
  const deeper = `${indent}  `;
  const key = (name) => (/^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name));
  const lines = shownFields(resource, selection).map((field) => `${key(field.name)}: ${fieldType(field)};`);
  for (const { name, many, target, ...inner } of shownRelations(resource, catalog, nodes, selection)) {
    lines.push(`${key(name)}: ${rowType(target, catalog, inner, deeper)}${many ? '[]' : ' | null'};`);
  }
  return `{\n${lines.map((line) => `${deeper}${line}\n`).join('')}${indent}}`;
}

function fieldType(field) {
  if (field.mask) return 'string | null';
  const one = field.values ? field.values.map((value) => JSON.stringify(value)).join(' | ') : TYPES[field.type] ?? 'string';
  const whole = field.array ? `(${one} | null)[]` : one;
  return field.nullable && whole !== 'unknown' ? `${whole} | null` : whole;
}
