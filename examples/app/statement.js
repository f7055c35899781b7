// Makes Query Statements from the choices on the page. Nothing here uses the page or the network.

/** How many rows a page shows. */
export const PAGE = 12;

/** The statement of a table; `may(permission)` says whether the viewer holds it. */
export function ofTable(resource, choices, may) {
  const [field, dir] = orderOf(resource, choices);
  const shown = resource.columns.map((column) => relationOf(column.field)).filter(Boolean);
  return trimmed({
    where: whereOf(resource.filters, choices, may),
    relations: Object.fromEntries(shown.map((name) => [name, true])),
    order: [{ field, dir }],
    limit: PAGE,
    offset: (pageOf(choices) - 1) * PAGE,
  });
}

/** The chosen page, from 1; the URL may contain anything. */
export function pageOf(choices) {
  const text = choices.get('page') ?? '';
  return /^[1-9]\d{0,8}$/.test(text) ? Number(text) : 1;
}

/** The statement of an open row: its relations, on all levels that are shown. */
export function ofDetails(resource, may) {
  const visible = resource.details.filter(({ permission }) => may(permission));
  return { relations: Object.fromEntries(visible.map(({ relation, shape }) => [relation, shape])) };
}

/** The statement of a chart: one row for each group, with every measure. */
export function ofChart({ filters, measures }, group, choices, may) {
  const fields = Object.entries(measures).map(([as, { fn, field }]) => ({ fn, field, as }));
  return trimmed({
    where: whereOf(filters, choices, may),
    aggregation: { fields, groupBy: [group.field] },
    order: [{ field: group.field, dir: 'asc' }],
    limit: 200,
  });
}

/** The order of the table: `-total` is the field `total`, descending. */
export function orderOf(resource, choices) {
  const sort = choices.get('sort') ?? resource.order;
  const isKnown = resource.columns.some(({ field }) => field === sort.replace(/^-/, ''));
  const chosen = isKnown ? sort : resource.order;
  return chosen.startsWith('-') ? [chosen.slice(1), 'desc'] : [chosen, 'asc'];
}

/** The active filters, joined by AND. */
export function whereOf(filters, choices, may) {
  const clauses = filters.filter(({ permission }) => may(permission)).map((filter) => clauseOf(filter, choices)).filter(Boolean);
  const names = clauses.flatMap(Object.keys);
  // Two conditions on one name, such as one relation, must not overwrite each other.
  if (new Set(names).size < names.length) return { and: clauses };
  return clauses.length > 0 ? Object.assign({}, ...clauses) : undefined;
}

function clauseOf(filter, choices) {
  const leaf = LEAVES[filter.kind](filter.name, choices);
  // `orders.total` is a relation filter: rows with at least one such order.
  return leaf && filter.field.split('.').reduceRight((inner, name) => ({ [name]: inner }), leaf);
}

const LEAVES = {
  text: (name, choices) => {
    const text = choices.get(name)?.trim();
    // `%`, `_` and backslash have a meaning in a pattern; typed characters must not.
    return text ? { iLike: `%${text.replace(/[\\%_]/g, '\\$&')}%` } : undefined;
  },
  choice: (name, choices) => {
    const values = choices.getAll(name).filter(Boolean);
    return values.length > 1 ? { in: values } : values.length === 1 ? { eq: values[0] } : undefined;
  },
  amounts: (name, choices) => between(choices.get(`${name}-from`), choices.get(`${name}-to`), (text) => (/^\d+(\.\d+)?$/.test(text) ? text : undefined)),
  days: (name, choices) => {
    const [from, to] = [dayOf(choices.get(`${name}-from`)), dayOf(choices.get(`${name}-to`))];
    // Until the end of the last day.
    return trimmedLeaf({ gte: from && `${from}T00:00:00Z`, lte: to && `${to}T23:59:59.999999Z` });
  },
};

function between(from, to, read) {
  return trimmedLeaf({ gte: from ? read(from) : undefined, lte: to ? read(to) : undefined });
}

function dayOf(text) {
  return /^\d{4}-\d{2}-\d{2}$/.test(text ?? '') ? text : undefined;
}

function trimmedLeaf(leaf) {
  const kept = Object.entries(leaf).filter(([, value]) => value !== undefined && value !== '' && value !== null);
  return kept.length > 0 ? Object.fromEntries(kept) : undefined;
}

function relationOf(field) {
  return field.includes('.') ? field.split('.')[0] : undefined;
}

/** Removes empty members. */
function trimmed(statement) {
  const says = ([, value]) => value !== undefined && value !== 0 && !(typeof value === 'object' && Object.keys(value).length === 0);
  return Object.fromEntries(Object.entries(statement).filter(says));
}
