// Example queries and mutations, from the resources that /docs/resources.json lists.

import { FORMS } from '../docs/payload.js';
import { sampleOf } from '../docs/examples.js';
import { mutation } from '../docs/snippets.js';

/** The fields of an example; more would hide its shape. */
const MAX_FIELDS = 12;
const MAX_RELATED_FIELDS = 4;
const LIMIT = 10;
/** The related rows of each row: all of them could be millions. */
const RELATED_LIMIT = 3;

/** Whether GraphQL has this field: it reserves some names. */
const isName = (name) => /^[_A-Za-z]\w*$/.test(name) && !name.startsWith('__') && name !== '_aggregation';

/** The query that lists a resource, such as `shopGetCustomers`; undefined if there is none for the caller. */
function listName(resource) {
  return resource.operations.find(({ name }) => name === 'list')?.graphql;
}

/** The write of an example: the first one that GraphQL has. */
function writeOf(resource) {
  return Object.keys(FORMS).find((form) => resource.write?.operations.some(({ name, graphql }) => name === form && graphql));
}

/** Whether GraphQL has something for the caller to do with a resource. */
export function isReachable(resource) {
  return listName(resource) !== undefined || writeOf(resource) !== undefined;
}

/** The first example of a resource: a query, or for a resource that may only be written a dry run of a mutation. */
export function example(resource, catalog) {
  return listName(resource) ? { query: listExample(resource, catalog), isQuery: true } : { ...writeExample(resource, catalog), isQuery: false };
}

/** The first rows of a resource, with one relation if there is any, within the rows that the server answers. */
function listExample(resource, catalog) {
  const lines = fieldNames(resource, MAX_FIELDS);
  const relation = resource.relations.find(({ name }) => isName(name) && fieldNames(catalog.target(resource, name), 1).length > 0);
  if (relation) lines.push(`${relation.name} { ${fieldNames(catalog.target(resource, relation.name), MAX_RELATED_FIELDS).join(' ')} }`);
  if (lines.length === 0) lines.push('__typename');
  const each = Math.min(RELATED_LIMIT, catalog.maxRows);
  const limit = Math.min(LIMIT, relation?.many ? Math.max(1, Math.floor(catalog.maxRows / each)) : catalog.maxRows);
  const related = relation?.many ? `, relations: { ${relation.name}: { limit: ${each} } }` : '';
  return `{\n  ${listName(resource)}(query: { limit: ${limit}${related} }) {\n${lines.map((line) => `    ${line}\n`).join('')}  }\n}\n`;
}

/** Fields that are shown only if they are named cost a lookup, so no example names them. */
function fieldNames(resource, count) {
  return (resource?.fields ?? []).filter(({ eager }) => eager !== false).map(({ name }) => name).filter(isName).slice(0, count);
}

/** A dry run of a write, with a value for each field that a new row needs: `{query, variables}`. */
export function writeExample(resource, catalog) {
  const form = writeOf(resource);
  if (!form) return null;
  const { operation } = FORMS[form];
  const taken = resource.write.fields.filter((field) => field.operations.includes(operation));
  const needed = taken.filter(({ required }) => operation === 'create' && required);
  const members = (needed.length > 0 ? needed : taken.slice(0, 1)).map((field) => `${JSON.stringify(field.name)}: ${sampleOf(field)}`);
  const key = operation === 'update' ? resource.write.key.map((name) => `${JSON.stringify(name)}: "1"`) : [];
  const payload = ['create', 'update'].includes(operation) ? `"payload": {${[...key, ...members].join(', ')}}, ` : '';
  const id = ['delete', 'restore'].includes(operation) ? resource.write.key.map(() => '1').join(',') : undefined;
  return mutation({ resource, form, id, text: `{${payload}"dryRun": true}` }, catalog);
}
