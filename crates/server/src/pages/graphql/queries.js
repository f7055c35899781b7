// Names of the GraphQL schema and example queries, from the resources that /docs/resources.json lists.

/** The fields of an example; more would hide its shape. */
const MAX_FIELDS = 12;
const MAX_RELATED_FIELDS = 4;

const upperFirst = (name) => name.charAt(0).toUpperCase() + name.slice(1);
const lowerFirst = (name) => name.charAt(0).toLowerCase() + name.slice(1);

/** Whether GraphQL has this field: it reserves some names. */
const isName = (name) => /^[_A-Za-z]\w*$/.test(name) && !name.startsWith('__') && name !== '_aggregation';

/** The plural in a path, `apps-accounts`, as GraphQL names it: `AppsAccounts`. */
function plural(resource) {
  const segments = resource.operations[0].address.split('/');
  return segments.at(3).split('-').map(upperFirst).join('');
}

/** The query that lists a resource: `shopGetCustomers`. */
export function listName(resource) {
  return `${lowerFirst(resource.context)}Get${plural(resource)}`;
}

/** An example: the first rows of a resource, with one relation if there is any. */
export function example(resource, catalog) {
  const lines = fieldNames(resource, MAX_FIELDS);
  const relation = resource.relations.find(({ name }) => isName(name) && fieldNames(catalog.target(resource, name), 1).length > 0);
  if (relation) lines.push(`${relation.name} { ${fieldNames(catalog.target(resource, relation.name), MAX_RELATED_FIELDS).join(' ')} }`);
  if (lines.length === 0) lines.push('__typename');
  return `{\n  ${listName(resource)}(query: { limit: 10 }) {\n${lines.map((line) => `    ${line}\n`).join('')}  }\n}\n`;
}

function fieldNames(resource, count) {
  return (resource?.fields ?? []).map(({ name }) => name).filter(isName).slice(0, count);
}
