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

const isAggregated = ({ query }) => member(query, 'aggregation')?.kind === 'object';

/** GraphQL has no field of another shape. */
const isName = (name) => /^[_A-Za-z]\w*$/.test(name) && !name.startsWith('__');

/**
 * The statement as a GraphQL query: `{query, variables}`. The variables are empty unless a key is no name of GraphQL. Null if GraphQL
 * has no field for it.
 */
export function graphql({ resource, operation, id, text }, catalog) {
  const field = resource.operations.find(({ name }) => name === operation)?.graphql;
  if (!field) return null;
  const { root } = parse(text);
  const found = layers(root);
  const given = Object.entries(found).filter(([, node]) => node);
  const inline = given.every(([, node]) => isLiteral(node));
  const values = given.map(([name, node]) => [name, inline ? literal(node, text, '    ') : `$${name}`]);
  if (id !== undefined) values.unshift(['id', JSON.stringify(id)]);
  const selection = selected(operation, found, resource, catalog);
  const head = inline || given.length === 0 ? 'query' : `query (${given.map(([name]) => `$${name}: QueryStatementInput`).join(', ')})`;
  const query = `${head} {\n  ${field}${argumentList(values)} ${selection}\n}\n`;
  return { query, variables: inline ? '' : variablesOf(given, text) };
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
  const query = `${head} {\n  ${field}${argumentList(values)} ${rowSelection(resource, catalog, [], '  ')}\n}\n`;
  return { query, variables: inline ? '' : variablesOf(given, text) };
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

function selected(operation, found, resource, catalog) {
  if (operation === 'paginate') return '{ total count rows }';
  if (operation === 'keysetPaginate') return '{ count rows next }';
  if (isAggregated(found)) return '{ _aggregation }';
  return rowSelection(resource, catalog, Object.values(found), '  ');
}

/** The fields of a row, and those of the relations that the statements load. */
function rowSelection(resource, catalog, nodes, indent) {
  const deeper = `${indent}  `;
  const lines = resource.fields.map(({ name }) => name).filter(isName);
  for (const [name, inner] of loaded(nodes)) {
    const target = catalog.target(resource, name);
    if (target && isName(name)) lines.push(`${name} ${rowSelection(target, catalog, inner, deeper)}`);
  }
  if (lines.length === 0) return '{ __typename }';
  return `{\n${lines.map((line) => `${deeper}${line}\n`).join('')}${indent}}`;
}

/** The statement as a program in TypeScript that prints the answer. */
export function typescript({ origin, path, resource, operation, text, signedIn }, catalog) {
  const { root } = parse(text);
  const found = layers(root);
  const row = isAggregated(found) ? 'Record<string, unknown>' : rowType(resource, catalog, Object.values(found), '');
  const name = upperFirst(resource.resource);
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
  const name = upperFirst(resource.resource);
  return program({ name, row: rowType(resource, catalog, [], ''), answer: name, url: origin + path, json: text, signedIn });
}

function program({ name, row, answer, url, json, signedIn }) {
  const headers = ["'Content-Type': 'application/json'", signedIn && 'Authorization: `Bearer ${process.env.TOKEN}`'].filter(Boolean).join(', ');
  return [
    `type ${name} = ${row};`,
    '',
    `const response = await fetch(${quoted(url)}, {`,
    "  method: 'POST',",
    `  headers: { ${headers} },`,
    `  body: ${body(json)},`,
    '});',
    'if (!response.ok) throw new Error(await response.text());',
    `const answer: ${answer} = await response.json();`,
    'console.log(answer);',
    '',
  ].join('\n');
}

/** The body of the request. JavaScript would round some numbers, so a text with such a number stays a text. */
function body(json) {
  if (json === null) return "'{}'";
  const { root } = parse(json);
  if (!keepsNumbers(root, json)) return quoted(json);
  return `JSON.stringify(${pretty(root, json).replaceAll('\n', '\n  ')})`;
}

function keepsNumbers(node, text) {
  if (node?.kind === 'object') return node.members.every(({ key, value }) => key.value !== '__proto__' && keepsNumbers(value, text));
  if (node?.kind === 'array') return node.items.every(({ value }) => keepsNumbers(value, text));
  const written = node ? text.slice(node.start, node.end) : '';
  return node?.kind !== 'number' || String(Number(written)) === written;
}

const quoted = (text) => `'${text.replace(/[\\']/g, '\\$&').replaceAll('\n', '\\n')}'`;

/** The type of a row with the relations that the statements load. */
function rowType(resource, catalog, nodes, indent) {
  const deeper = `${indent}  `;
  const key = (name) => (/^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name));
  const lines = resource.fields.map((field) => `${key(field.name)}: ${fieldType(field)};`);
  for (const [name, inner] of loaded(nodes)) {
    const relation = resource.relations.find((candidate) => candidate.name === name);
    const target = catalog.target(resource, name);
    if (target) lines.push(`${key(name)}: ${rowType(target, catalog, inner, deeper)}${relation.many ? '[]' : ' | null'};`);
  }
  return `{\n${lines.map((line) => `${deeper}${line}\n`).join('')}${indent}}`;
}

function fieldType(field) {
  if (field.mask) return 'string | null';
  const one = field.values ? field.values.map((value) => JSON.stringify(value)).join(' | ') : TYPES[field.type] ?? 'string';
  const whole = field.array ? `(${one} | null)[]` : one;
  return field.nullable && whole !== 'unknown' ? `${whole} | null` : whole;
}
