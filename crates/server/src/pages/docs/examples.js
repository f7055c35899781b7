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
const LIMIT = 20;

/** The JSON of two values for a field, from low to high: those of the shown rows if there are any. */
function samples(field, shown) {
  const found = shown?.(field.name) ?? [];
  if (found.length > 0) return [found[0], found.at(-1)];
  if (field.values) return [field.values[0], field.values.at(-1)].map((value) => JSON.stringify(value));
  return (VALUES[field.type] ?? VALUES.text).map((value) => JSON.stringify(value));
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
function statement(json) {
  return pretty(parse(json).root, json);
}

/** The example for one operator of one field. */
export function operatorExample(field, operator, shown) {
  return statement(`{"where": {${JSON.stringify(field.name)}: {${JSON.stringify(operator)}: ${operand(field, operator, shown)}}}, "limit": ${LIMIT}}`);
}

/** The statement that a resource opens with: some rows, with a row of a to-one relation and some of a to-many one. */
export function firstExample(resource) {
  const one = resource.relations.find(({ many }) => !many);
  const several = resource.relations.find(({ many }) => many);
  const loaded = [one && `${JSON.stringify(one.name)}: true`, several && `${JSON.stringify(several.name)}: {"limit": 3}`].filter(Boolean);
  const relations = loaded.length > 0 ? `"relations": {${loaded.join(', ')}}, ` : '';
  return statement(`{${relations}"limit": ${LIMIT}}`);
}

/** All examples of a resource: `[{title, examples: [{label, detail, text}]}]`. */
export function examples(resource, catalog, shown) {
  const groups = [
    { title: 'Operators', examples: ofOperators(resource, shown) },
    { title: 'Combine', examples: ofConnectors(resource, shown) },
    { title: 'Related rows', examples: ofRelations(resource, catalog) },
    { title: 'Sort and page', examples: ofOrder(resource, catalog) },
    { title: 'Count and sum', examples: ofAggregation(resource, catalog) },
  ];
  return groups.filter((group) => group.examples.length > 0);
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

function ofOrder(resource, catalog) {
  const sortable = resource.fields.find((field) => field.sortable && !field.key) ?? resource.fields.find((field) => field.sortable);
  if (!sortable) return [];
  const order = (field) => `"order": [{"field": ${JSON.stringify(field)}, "dir": "desc"}]`;
  const found = [
    { label: `by ${sortable.name}`, detail: 'the highest first', text: statement(`{${order(sortable.name)}, "limit": ${LIMIT}}`) },
    { label: 'second page', detail: 'skips rows', text: statement(`{${order(sortable.name)}, "limit": 10, "offset": 10}`) },
  ];
  for (const relation of resource.relations.filter(({ many }) => !many)) {
    const field = catalog.resource(relation.target)?.fields.find((candidate) => candidate.sortable && !candidate.key);
    if (field) found.push({ label: `by ${relation.name}.${field.name}`, detail: 'a field of a to-one relation', text: statement(`{${order(`${relation.name}.${field.name}`)}, "limit": ${LIMIT}}`) });
  }
  return found;
}

function ofAggregation(resource) {
  const found = [{ label: 'how many', detail: 'counts rows', text: statement('{"aggregation": {"fields": [{"fn": "count", "field": "*"}]}}') }];
  const grouping = resource.fields.find((field) => field.type === 'enum' && field.sortable) ?? resource.fields.find((field) => field.sortable && !field.key && ['text', 'bool', 'date'].includes(field.type));
  const measured = resource.fields.find((field) => !field.key && field.functions.includes('sum'));
  const fields = ['{"fn": "count", "field": "*"}', measured && `{"fn": "sum", "field": ${JSON.stringify(measured.name)}}`].filter(Boolean).join(', ');
  if (grouping) found.push({ label: `by ${grouping.name}`, detail: 'a row for each value', text: statement(`{"aggregation": {"fields": [${fields}], "groupBy": [${JSON.stringify(grouping.name)}]}, "order": [{"field": ${JSON.stringify(grouping.name)}}], "limit": ${LIMIT}}`) });
  return found;
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
