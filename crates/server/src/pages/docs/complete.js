// Completion at the cursor: the keys, names, operators and values that fit there, and how each is inserted.

import { typeName } from './catalog.js';
import { KEYS, OPERATORS, isBody, walk } from './grammar.js';
import { member, parse } from './json.js';
import { placeAt } from './pointer.js';

/** Marks the place of the cursor in an insertion. */
const CURSOR = '\u0001';

/**
 * Suggestions at a cursor: `{from, to, typed, options: [{label, detail, text, cursor}]}`, or null. An option replaces
 * what stands from `from` to `to` with `text` and puts the cursor `cursor` characters into it.
 */
export function complete(text, cursor, scope) {
  const found = at(text, cursor, scope);
  const isDone = !found || (found.options.length === 1 && found.options[0].label === found.typed);
  return (isDone ? behind(text, cursor, scope) : null) ?? found;
}

/** Right behind a complete number or literal, suggests what can follow it. */
function behind(text, cursor, scope) {
  if (!/\w/.test(text[cursor - 1] ?? '') || /[\w"]/.test(text[cursor] ?? '')) return null;
  const found = at(`${text.slice(0, cursor)} ${text.slice(cursor)}`, cursor + 1, scope);
  return found && found.from === cursor + 1 ? { ...found, from: cursor, to: cursor } : null;
}

function at(text, cursor, { resource, catalog }) {
  const { root } = parse(text);
  const place = placeAt(root, text, cursor);
  const here = place && walk(place.path, resource, catalog);
  if (!here) return null;
  const offered = place.role === 'key' ? keys(here, place, { root, catalog }) : values(here, place, { root, catalog, text });
  const options = rank(offered, place.typed).map((option) => insertion(option, place, text));
  return options.length > 0 ? { from: place.from, to: place.to, typed: place.typed, options } : null;
}

function keys(here, place, { root }) {
  const present = new Set(place.container.members.filter((other) => other !== place.member).map((other) => other.key.value));
  return offeredKeys(here, root).filter(({ label }) => !present.has(label));
}

function offeredKeys(here, root) {
  const { resource } = here;
  const named = (table, shapes) => Object.entries(table).map(([label, detail]) => ({ label, detail, value: shapes[label] }));
  switch (here.kind) {
    case 'root': {
      const body = named(KEYS.body, BODY);
      // A body has no other keys; an empty text may become either.
      if (isBody(root)) return body;
      return root?.members?.length > 1 ? named(KEYS.statement, STATEMENT) : [...named(KEYS.statement, STATEMENT), ...body];
    }
    case 'statement':
      return named(KEYS.statement, STATEMENT);
    case 'node':
      return named(KEYS.node, STATEMENT);
    case 'where':
      return [
        ...usable(resource).map((field) => ({ label: field.name, detail: typeName(field), value: `{${CURSOR}}` })),
        ...resource.relations.map((relation) => ({ label: relation.name, detail: arrow(relation), value: `{${CURSOR}}` })),
        ...named(KEYS.connectors, CONNECTORS),
      ];
    case 'operators':
      return here.field.operators.map((operator) => ({ label: operator, detail: OPERATORS[operator], value: operand(here.field, operator) }));
    case 'relations':
      return resource.relations.map((relation) => ({ label: relation.name, detail: arrow(relation), value: `true${CURSOR}` }));
    case 'order':
      return named(KEYS.order, { field: `"${CURSOR}"`, dir: `"${CURSOR}"` });
    case 'aggregation':
      return named(KEYS.aggregation, { fields: `[{"fn": "${CURSOR}"}]`, groupBy: `["${CURSOR}"]` });
    case 'measure':
      return named(KEYS.measure, { fn: `"${CURSOR}"`, field: `"${CURSOR}"`, as: `"${CURSOR}"` });
    default:
      return [];
  }
}

const BODY = { query: `{${CURSOR}}`, constraint: `{${CURSOR}}` };
const CONNECTORS = { and: `[{${CURSOR}}]`, or: `[{${CURSOR}}]`, not: `{${CURSOR}}` };
const STATEMENT = {
  where: `{${CURSOR}}`,
  relations: `{${CURSOR}}`,
  order: `[{"field": "${CURSOR}"}]`,
  aggregation: `{"fields": [{"fn": "${CURSOR}"}]}`,
  limit: `20${CURSOR}`,
  offset: `0${CURSOR}`,
};

/** What an operator's value looks like before it is written. */
function operand(field, operator) {
  const quoted = !['bool', 'int', 'bigint', 'float', 'decimal', 'json'].includes(field.type);
  const one = quoted ? `"${CURSOR}"` : CURSOR;
  switch (operator) {
    case 'isNull':
      return `true${CURSOR}`;
    case 'iLike':
      return `"%${CURSOR}%"`;
    case 'in':
    case 'notIn':
    case 'contains':
    case 'overlap':
      return `[${one}]`;
    case 'between':
      return quoted ? `["${CURSOR}", ""]` : `[${CURSOR}]`;
    default:
      return one;
  }
}

function values(here, place, { catalog, text }) {
  const { resource } = here;
  const quoted = (label, detail) => ({ label, detail, text: JSON.stringify(label) });
  const plain = (label, detail, written = label) => ({ label, detail, text: written });
  switch (here.kind) {
    case 'root':
    case 'statement':
    case 'where':
    case 'aggregation':
    case 'measure':
      return place.typed === '' ? [plain('{ }', 'an object', `{${CURSOR}}`)] : [];
    case 'relations':
      return place.typed === '' ? [plain('{ }', 'relations by name', `{${CURSOR}}`)] : [];
    case 'node':
      return [plain('true', 'load them all'), plain('{ }', 'shape what is loaded', `{${CURSOR}}`)];
    case 'order':
      return [plain('{ "field" }', 'an entry', `{"field": "${CURSOR}"}`)];
    case 'operand':
    case 'element':
      return operandValues(here, { quoted, plain });
    case 'sorted':
      return [
        ...resource.fields.filter((field) => field.sortable).map((field) => quoted(field.name, typeName(field))),
        ...(here.top ? paths(resource, catalog, (field, relation) => !relation.many && field.sortable) : []),
      ];
    case 'direction':
      return [quoted('asc', 'smallest first'), quoted('desc', 'largest first')];
    case 'function':
      return ['count', 'sum', 'avg', 'min', 'max'].map((name) => quoted(name, ''));
    case 'measured': {
      const chosen = member(place.container, 'fn')?.value;
      const fits = (field) => (chosen ? field.functions.includes(chosen) : field.functions.length > 0);
      return [
        ...(chosen === undefined || chosen === 'count' ? [quoted('*', 'every row')] : []),
        ...resource.fields.filter(fits).map((field) => quoted(field.name, typeName(field))),
        ...paths(resource, catalog, fits),
      ];
    }
    case 'group':
      return [
        ...resource.fields.filter((field) => field.sortable).map((field) => quoted(field.name, typeName(field))),
        ...paths(resource, catalog, (field) => field.sortable),
      ];
    default:
      return [];
  }
}

function operandValues({ kind, field, operator }, { quoted, plain }) {
  if (operator === 'isNull') return kind === 'operand' ? [plain('true', 'is NULL'), plain('false', 'is not NULL')] : [];
  const listed = ['in', 'notIn', 'between'].includes(operator);
  if (kind === 'operand' && listed) return [plain('[ ]', 'a list', `[${CURSOR}]`)];
  if (operator === 'iLike') return [];
  if (field.type === 'bool') return [plain('true', ''), plain('false', '')];
  return (field.values ?? []).map((value) => quoted(value, 'declared value'));
}

function paths(resource, catalog, fits) {
  return resource.relations.flatMap((relation) => {
    const target = catalog.resource(relation.target);
    const fields = target ? target.fields.filter((field) => fits(field, relation)) : [];
    return fields.map((field) => {
      const label = `${relation.name}.${field.name}`;
      return { label, detail: typeName(field), text: JSON.stringify(label) };
    });
  });
}

function usable(resource) {
  return resource.fields.filter((field) => field.operators.length > 0);
}

function arrow(relation) {
  return `${relation.many ? 'many' : 'one'} ${relation.target}`;
}

/** The options that match the typed text: first those that begin with it, then those that hold it. */
function rank(options, typed) {
  const wanted = typed.toLowerCase();
  const begins = options.filter(({ label }) => label.toLowerCase().startsWith(wanted));
  const holds = options.filter(({ label }) => !begins.some((one) => one.label === label) && label.toLowerCase().includes(wanted));
  return [...begins, ...holds];
}

function insertion(option, place, text) {
  let written = option.text;
  if (place.role === 'key') {
    // A key that has its value already is only renamed.
    const hasValue = place.member && place.member.colon >= 0;
    written = JSON.stringify(option.label) + (hasValue ? '' : `: ${option.value}`);
  }
  if (place.before) written = `, ${written}`;
  let cursor = written.indexOf(CURSOR);
  written = written.replace(CURSOR, '');
  if (cursor < 0) cursor = written.length;
  if (place.after && !/^\s*,/.test(text.slice(place.to))) written += ',';
  return { label: option.label, detail: option.detail, text: written, cursor };
}
