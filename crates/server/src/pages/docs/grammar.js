// The grammar of the Query Statement: the kind of value at a path of a statement about a resource.

const STATEMENT = { where: 'where', relations: 'relations', order: 'orders', aggregation: 'aggregation', limit: 'bound', offset: 'bound' };
const NODE = { where: 'where', relations: 'relations', order: 'orders', limit: 'bound', offset: 'bound' };

/** The keys of each kind of object, with a description of each. */
export const KEYS = {
  statement: {
    where: 'which rows',
    relations: 'related rows to load',
    order: 'sorting',
    aggregation: 'counts and sums',
    limit: 'maximum number of rows',
    offset: 'number of rows to skip',
  },
  node: {
    where: 'which related rows',
    order: 'sorting',
    limit: 'for each parent',
    offset: 'for each parent',
    relations: 'one level deeper',
  },
  body: { query: 'the statement', constraint: 'a second one that narrows it' },
  order: { field: 'what to sort by', dir: 'asc or desc' },
  aggregation: { fields: 'what to measure', groupBy: 'one row for each value' },
  measure: { fn: 'count, sum, avg, min, max', field: 'of which field', as: 'its name in the result' },
  connectors: { and: 'all of these', or: 'any of these', not: 'not this' },
};

/** The operators, with a description of each. */
export const OPERATORS = {
  eq: 'equals',
  ne: 'differs from',
  gt: 'greater than',
  gte: 'greater or equal',
  lt: 'less than',
  lte: 'less or equal',
  in: 'one of',
  notIn: 'none of',
  between: 'from … to, both included',
  isNull: 'is NULL or is not',
  iLike: 'pattern, case ignored',
  contains: 'has all of',
  overlap: 'has any of',
};

/** Whether the text is a whole body, with `query` or `constraint` at its root, rather than a statement alone. */
export function isBody(root) {
  return root?.kind === 'object' && root.members.some(({ key }) => key.value === 'query' || key.value === 'constraint');
}

/** The kind of value at a path: `{kind, resource, …}`, or null where the grammar has none. */
export function walk(path, resource, catalog) {
  let here = { kind: 'root', resource };
  for (const step of path) {
    here = inside(here, step, catalog);
    if (!here) return null;
  }
  return here;
}

function inside(here, step, catalog) {
  const { resource } = here;
  const to = (kind, more = {}) => (kind ? { kind, resource, ...more } : null);
  switch (here.kind) {
    case 'root':
      if (step === 'query' || step === 'constraint') return to('statement');
      return to(own(STATEMENT, step), { top: true });
    case 'statement':
      return to(own(STATEMENT, step), { top: true });
    case 'node':
      return to(own(NODE, step), { top: false });
    case 'where':
      return insideWhere(here, step, catalog);
    case 'wheres':
      return to('where');
    case 'operators':
      return to('operand', { field: here.field, operator: step });
    case 'operand':
      return to('element', { field: here.field, operator: here.operator });
    case 'relations': {
      const target = catalog.target(resource, step);
      return target ? { kind: 'node', resource: target } : null;
    }
    case 'orders':
      return to('order', { top: here.top });
    case 'order':
      return to({ field: 'sorted', dir: 'direction' }[step], { top: here.top });
    case 'aggregation':
      return to({ fields: 'measures', groupBy: 'groups' }[step]);
    case 'measures':
      return to('measure');
    case 'measure':
      return to({ fn: 'function', field: 'measured', as: 'alias' }[step]);
    case 'groups':
      return to('group');
    default:
      return null;
  }
}

function insideWhere({ resource }, step, catalog) {
  if (step === 'and' || step === 'or') return { kind: 'wheres', resource };
  if (step === 'not') return { kind: 'where', resource };
  const target = catalog.target(resource, step);
  if (target) return { kind: 'where', resource: target };
  const field = resource.fields.find((candidate) => candidate.name === step);
  return field ? { kind: 'operators', resource, field } : null;
}

/** An own entry of a table: a key such as `constructor` must not find an inherited one. */
function own(table, key) {
  return Object.hasOwn(table, key) ? table[key] : undefined;
}
