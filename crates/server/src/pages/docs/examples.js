// Statements to learn from, for one resource: every operator that its fields take, connectors, relations, order, aggregation.

import { OPERATORS } from './grammar.js';
import { member, pretty, parse } from './json.js';

/** Values for each type, from low to high. */
const VALUES = {
  bool: [true, false],
  int: [1, 100],
  bigint: [1, 1000],
  float: [0.5, 99.5],
  decimal: ['1.00', '1000.00'],
  text: ['a', 'z'],
  uuid: ['00000000-0000-0000-0000-000000000000', 'ffffffff-ffff-ffff-ffff-ffffffffffff'],
  date: ['2024-01-01', '2024-12-31'],
  time: ['08:00:00', '18:00:00'],
  timestamp: ['2024-01-01T00:00:00Z', '2024-12-31T23:59:59Z'],
  json: ['a', 'b'],
};
/** Values that rows may show and no statement takes: the end of a day of PostgreSQL. */
const NOT_ACCEPTED = ['"24:00:00"'];
const LIMIT = 20;

/** The JSON of two values for a field, from low to high: those of the shown rows if there are any. */
function samples(field, shown) {
  const found = (shown?.(field.name) ?? []).filter((json) => !NOT_ACCEPTED.includes(json));
  if (found.length > 0) return [found[0], found.at(-1)];
  if (field.values) return [field.values[0], field.values.at(-1)].map((value) => JSON.stringify(value));
  return (VALUES[field.type] ?? VALUES.text).map((value) => JSON.stringify(value));
}

/** The JSON of a value that a field of a payload may have. */
export function sampleOf(field) {
  if (field.array) return '[]';
  if (field.type === 'json') return '{}';
  if (field.min === undefined) return samples(field)[0];
  return JSON.stringify(field.type === 'decimal' ? String(field.min) : field.min);
}

/** The JSON of the value for an operator. */
function operand(field, operator, shown) {
  if (operator === 'isNull') return 'false';
  const [low, high] = samples(field, field.array || field.type === 'json' ? undefined : shown);
  const both = low === high ? `[${low}]` : `[${low}, ${high}]`;
  if (operator === 'iLike') return pattern(low);
  if (operator === 'between') return `[${low}, ${high}]`;
  if (operator === 'in' || operator === 'notIn' || operator === 'overlap') return both;
  if (operator === 'contains') return `[${low}]`;
  return operator === 'gt' || operator === 'gte' ? low : operator === 'lt' || operator === 'lte' ? high : low;
}

/** A pattern with the beginning of a value; `%` and `_` in it are taken literally. */
function pattern(json) {
  const start = [...String(JSON.parse(json))].slice(0, 3).join('').replace(/[\\%_]/g, '\\$&');
  return JSON.stringify(`${start}%`);
}

/** A statement in lines, from its JSON. */
function statement(json, maxRows = Infinity) {
  const text = fitting(json, maxRows);
  return pretty(parse(text).root, text);
}

/** The statement with limits that the server accepts: those of a relation count for all its rows together. */
function fitting(json, maxRows) {
  let rows = maxRows;
  const related = json.replaceAll(/": \{"limit": (\d+)\}/g, (_, limit) => {
    const each = Math.min(limit, maxRows);
    rows = Math.min(rows, Math.max(1, Math.floor(maxRows / each)));
    return `": {"limit": ${each}}`;
  });
  return related.replace(/"limit": (\d+)(?=(,\s*"offset": \d+)?\s*\}$)/, (_, limit) => `"limit": ${Math.min(limit, rows)}`);
}

/** The example for one operator of one field. `maxRows` is the most rows that the server answers. */
export function operatorExample(field, operator, shown, maxRows = Infinity) {
  return statement(`{"where": {${JSON.stringify(field.name)}: {${JSON.stringify(operator)}: ${operand(field, operator, shown)}}}, "limit": ${LIMIT}}`, maxRows);
}

/** The statement that a resource opens with: some rows, with a row of a to-one relation and some of a to-many one. */
export function firstExample(resource, maxRows = Infinity) {
  const one = resource.relations.find(({ many }) => !many);
  const several = resource.relations.find(({ many }) => many);
  const loaded = [one && `${JSON.stringify(one.name)}: true`, several && `${JSON.stringify(several.name)}: {"limit": 3}`].filter(Boolean);
  const relations = loaded.length > 0 ? `"relations": {${loaded.join(', ')}}, ` : '';
  return statement(`{${relations}"limit": ${LIMIT}}`, maxRows);
}

/**
 * All examples of a resource: `[{title, examples: [{label, detail, text, operation, fields}]}]`. `operation` and `fields` are missing where
 * an example needs none of its own.
 */
export function examples(resource, catalog, shown) {
  const groups = [
    { title: 'Sort and page', examples: ofOrder(resource, catalog) },
    { title: 'Derived fields', examples: ofDerived(resource, shown) },
    { title: 'Count and sum', examples: ofAggregation(resource, catalog) },
    { title: 'Related rows', examples: ofRelations(resource, catalog) },
    { title: 'Operators', examples: ofOperators(resource, shown) },
    { title: 'Combine', examples: ofConnectors(resource, shown) },
  ];
  const fits = (example) => ({ ...example, text: statement(example.text, catalog.maxRows) });
  return groups.filter((group) => group.examples.length > 0).map((group) => ({ ...group, examples: group.examples.map(fits) }));
}

function ofOperators(resource, shown) {
  return Object.entries(OPERATORS).flatMap(([operator, detail]) => {
    const field = best(resource, operator);
    return field ? [{ label: operator, detail, text: operatorExample(field, operator, shown) }] : [];
  });
}

/** The field that shows an operator best: one that is no key, if there is one. */
function best(resource, operator) {
  const able = resource.fields.filter(({ operators }) => operators.includes(operator));
  const fits = { iLike: ['text'], isNull: [], between: ['decimal', 'int', 'date', 'timestamp'], gt: ['decimal', 'int', 'float'], lt: ['decimal', 'int', 'float'], gte: ['timestamp', 'date', 'decimal'], lte: ['timestamp', 'date', 'decimal'] }[operator] ?? ['enum', 'text'];
  const nullable = operator === 'isNull' ? able.find((field) => field.nullable && !field.key) : undefined;
  return nullable ?? able.find((field) => !field.key && fits.includes(field.type)) ?? able.find((field) => !field.key) ?? able[0];
}

function ofConnectors(resource, shown) {
  const usable = resource.fields.filter(({ operators, key }) => !key && operators.includes('isNull'));
  const [first, second = first] = usable;
  if (!first) return [];
  const condition = (field) => {
    const operator = ['eq', 'contains', 'isNull'].find((candidate) => field.operators.includes(candidate));
    return `{${JSON.stringify(field.name)}: {${JSON.stringify(operator)}: ${operand(field, operator, shown)}}}`;
  };
  const where = (json) => statement(`{"where": ${json}, "limit": ${LIMIT}}`);
  const isSet = `{${JSON.stringify(second.name)}: {"isNull": false}}`;
  return [
    { label: 'and', detail: 'all of these', text: where(`{"and": [${condition(first)}, ${isSet}]}`) },
    { label: 'or', detail: 'any of these', text: where(`{"or": [${condition(first)}, ${isSet}]}`) },
    { label: 'not', detail: 'not this', text: where(`{"not": ${condition(first)}}`) },
  ];
}

function ofRelations(resource, catalog) {
  return resource.relations.flatMap((relation) => {
    const name = JSON.stringify(relation.name);
    const target = catalog.resource(relation.target);
    const found = [{ label: `with ${relation.name}`, detail: 'loads related rows', text: statement(`{"relations": {${name}: ${relation.many ? '{"limit": 5}' : 'true'}}, "limit": ${LIMIT}}`) }];
    found.push({ label: `having ${relation.name}`, detail: 'only rows with a related one', text: statement(`{"where": {${name}: {}}, "limit": ${LIMIT}}`) });
    const field = target?.fields.find(({ operators, key }) => !key && operators.includes('isNull'));
    if (field) found.push({ label: `by a field of ${relation.name}`, detail: 'a condition on related rows', text: statement(`{"where": {${name}: {${JSON.stringify(field.name)}: {"isNull": false}}}, "relations": {${name}: ${relation.many ? '{"limit": 5}' : 'true'}}, "limit": ${LIMIT}}`) });
    return found;
  });
}

const NO_INTEREST = 9;

/** How much a field is worth sorting and measuring by: what was computed for that, then amounts and times. Ids and versions are worth nothing. */
function interest(field, resource) {
  if (field.key || field.type === 'uuid' || /^(id|version|.*Id)$/.test(field.name) || field.name === resource.write?.version) return NO_INTEREST;
  if (field.derived && !field.bucket) return isNumber(field) ? 0 : 3;
  const byType = { decimal: 1, float: 1, timestamp: 2, date: 3, text: 4, int: 5, bigint: 5, enum: 6 };
  return byType[field.type] ?? 7;
}

const isNumber = ({ type, array }) => !array && ['int', 'bigint', 'float', 'decimal'].includes(type);

/** The fields that fit, the most interesting first. */
function ranked(resource, fits) {
  return (resource?.fields ?? []).filter(fits).sort((one, other) => interest(one, resource) - interest(other, resource));
}

const isSortable = ({ sortable }) => sortable;
/** The rows with the highest values. NULL would come before them. */
const highest = ({ name, nullable }, limit) => statement(`{${nullable ? `"where": {${JSON.stringify(name)}: {"isNull": false}}, ` : ''}${ordered(name)}, "limit": ${limit}}`);
const ordered = (name) => `"order": [{"field": ${JSON.stringify(name)}, "dir": "desc"}]`;

function ofOrder(resource, catalog) {
  const [first] = ranked(resource, isSortable);
  if (!first) return [];
  const amounts = ranked(resource, (field) => field.sortable && isNumber(field) && interest(field, resource) < NO_INTEREST);
  const times = ranked(resource, (field) => field.sortable && !field.bucket && ['timestamp', 'date'].includes(field.type));
  const found = amounts.slice(0, 2).map((field) => ({ label: `top 10 by ${field.name}`, detail: 'the highest first', text: highest(field, 10) }));
  found.push(...times.slice(0, 1).map((field) => ({ label: `the latest by ${field.name}`, detail: 'the newest first', text: highest(field, LIMIT) })));
  if (found.length === 0) found.push({ label: `by ${first.name}`, detail: 'the highest first', text: highest(first, LIMIT) });
  const by = (times[0] ?? first).name;
  found.push({ label: 'second page', detail: 'skips rows', operation: 'paginate', text: statement(`{${ordered(by)}, "limit": 10, "offset": 10}`) });
  if (resource.operations.some(({ name }) => name === 'keysetPaginate')) found.push({ label: 'keyset pages', detail: 'stay fast at any distance', operation: 'keysetPaginate', text: statement(`{${ordered(by)}, "limit": ${LIMIT}}`) });
  for (const relation of resource.relations.filter(({ many }) => !many)) {
    const [field] = ranked(catalog.resource(relation.target), isSortable);
    if (field) found.push({ label: `by ${relation.name}.${field.name}`, detail: 'a field of a to-one relation', text: statement(`{${ordered(`${relation.name}.${field.name}`)}, "relations": {${JSON.stringify(relation.name)}: true}, "limit": ${LIMIT}}`) });
  }
  return found;
}

/** A condition on each derived field, and for those that rows show only if they are named, their names. */
function ofDerived(resource, shown) {
  return resource.fields.filter(({ derived, mask }) => derived && !mask).map((field) => {
    const operator = ['gt', 'eq', 'isNull'].find((candidate) => field.operators.includes(candidate));
    const where = operator ? `"where": {${JSON.stringify(field.name)}: {${JSON.stringify(operator)}: ${operand(field, operator, shown)}}}, ` : '';
    const order = field.sortable ? `${ordered(field.name)}, ` : '';
    const fields = field.eager === false ? [...resource.key, ...titles(resource), field.name] : undefined;
    return { label: `${field.name}${operator ? ` ${operator}` : ''}`, detail: fields ? 'shown because it is named' : 'computed, as any other field', fields, text: statement(`{${where}${order}"limit": ${LIMIT}}`) };
  });
}

/** A field that tells rows apart, if there is one. */
function titles(resource) {
  const names = resource.fields.filter(({ key, type, array, mask }) => !key && type === 'text' && !array && !mask).map(({ name }) => name);
  return [names.find((name) => /name|title|label|number/i.test(name)) ?? names[0]].filter(Boolean);
}

function ofAggregation(resource, catalog) {
  const groups = (name, measures) => statement(`{"aggregation": {"fields": [${measures.join(', ')}], "groupBy": [${JSON.stringify(name)}]}, "order": [{"field": ${JSON.stringify(name)}}], "limit": ${LIMIT}}`);
  const found = [{ label: 'how many', detail: 'counts rows', text: statement(`{"aggregation": {"fields": [${COUNT}]}}`) }];
  const [measured] = ranked(resource, (field) => field.functions.includes('sum') && interest(field, resource) < NO_INTEREST);
  const measures = [COUNT, measured && sumOf(measured.name)].filter(Boolean);
  for (const { name, bucket } of groupings(resource)) found.push({ label: `by ${name}`, detail: bucket ? `a row for each ${bucket}` : 'a row for each value', text: groups(name, measures) });
  for (const relation of resource.relations) {
    const target = catalog.resource(relation.target);
    const [grouping] = groupings(target);
    if (!relation.many && grouping) found.push({ label: `by ${relation.name}.${grouping.name}`, detail: 'a field of a related row', text: groups(`${relation.name}.${grouping.name}`, measures) });
    const [summed] = ranked(target, (field) => field.functions.includes('sum') && !field.derived && interest(field, target) < NO_INTEREST);
    const [own] = groupings(resource);
    if (relation.many && summed && own) found.push({ label: `${relation.name}.${summed.name} by ${own.name}`, detail: 'sums related rows', text: groups(own.name, [sumOf(`${relation.name}.${summed.name}`)]) });
  }
  return found;
}

const COUNT = '{"fn": "count", "field": "*"}';
const sumOf = (name) => `{"fn": "sum", "field": ${JSON.stringify(name)}}`;

/** The fields that make few groups: an enum, and each bucket; without them another field. */
function groupings(resource) {
  const fields = (resource?.fields ?? []).filter(({ sortable, key }) => sortable && !key);
  const good = [fields.find(({ type }) => type === 'enum'), ...fields.filter(({ bucket }) => bucket)].filter(Boolean);
  return good.length > 0 ? good : fields.filter(({ name, type, derived }) => !derived && ['bool', 'date', 'text'].includes(type) && !/Id$/.test(name)).slice(0, 1);
}

/** The values of a field in an answer, as JSON, sorted and each once; none for values that have no place in a condition. */
export function valuesIn(rows, text) {
  return (name) => {
    const found = rows.map((row) => member(row, name)).filter((node) => node && (node.kind === 'string' || node.kind === 'number'));
    const all = [...new Set(found.map((node) => text.slice(node.start, node.end)))].filter((json) => json.length <= 80);
    return all.sort((one, other) => compare(JSON.parse(one), JSON.parse(other)));
  };
}

function compare(one, other) {
  const isNumeric = [one, other].every((value) => typeof value === 'number' || /^-?\d+(\.\d+)?$/.test(value));
  const [first, second] = isNumeric ? [Number(one), Number(other)] : [one, other];
  return first < second ? -1 : first > second ? 1 : 0;
}
