// A table of rows: columns sort, rows open. A column shows the field at its path in the row.

import { counted, element } from './dom.js';
import { cell, isFigure } from './format.js';

/** A table with headings that sort: `{node, draw}`. Calls `onsort(field)`; `onopen(row)` returns the node of an open row. */
export function sortableTable({ label, columns, named, may, onsort, onopen }) {
  const headings = columns.map((column) => heading(column, may, onsort));
  const body = element('tbody');
  const table = element('table', { 'aria-label': label }, element('thead', {}, element('tr', {}, element('td'), headings.map(({ node }) => node))), body);
  // A scrollable region must be reachable by keyboard.
  const node = element('div', { class: 'scroll', role: 'region', 'aria-label': `${label}, table`, tabindex: '0' }, table);
  const draw = (rows, [field, dir]) => {
    headings.forEach(({ set }) => set(field, dir));
    body.replaceChildren(...rows.flatMap((row) => openable(row, { columns, named, may, onopen })));
  };
  return { node, draw };
}

function heading(column, may, onsort) {
  const node = element('th', { scope: 'col', class: isFigure(column.kind) ? 'figure' : undefined });
  const arrow = element('span', { class: 'arrow', 'aria-hidden': 'true' });
  // A masked column cannot be sorted: the order would reveal its values.
  if (may(column.masked)) node.append(element('button', { type: 'button', onclick: () => onsort(column.field) }, column.label, arrow));
  else node.append(column.label, ' ', element('span', { class: 'badge' }, 'masked'));
  const set = (field, dir) => {
    const isSorted = field === column.field;
    if (isSorted) node.setAttribute('aria-sort', dir === 'asc' ? 'ascending' : 'descending');
    else node.removeAttribute('aria-sort');
    arrow.textContent = isSorted ? (dir === 'asc' ? ' ▲' : ' ▼') : '';
  };
  return { node, set };
}

/** A row, and the place below it for its relations. */
function openable(row, { columns, named, may, onopen }) {
  const inside = element('td', { colspan: columns.length + 1 });
  const below = element('tr', { class: 'inside', hidden: true }, inside);
  const button = element('button', { type: 'button', class: 'opener', 'aria-expanded': 'false', 'aria-label': `Details of ${row[named]}` }, '›');
  button.addEventListener('click', () => {
    const opens = below.hidden;
    below.hidden = !opens;
    button.setAttribute('aria-expanded', String(opens));
    if (opens && inside.childElementCount === 0) inside.append(onopen(row));
  });
  return [element('tr', {}, element('td', { class: 'open' }, button), cells(row, columns, may)), below];
}

/** A plain table of related rows. */
export function plainTable(label, columns, rows) {
  if (rows.length === 0) return element('p', { class: 'hint' }, 'None.');
  const head = element('tr', {}, columns.map(({ label: title, kind }) => element('th', { scope: 'col', class: isFigure(kind) ? 'figure' : undefined }, title)));
  return element('table', { 'aria-label': `${label}, ${counted(rows.length, 'row')}` }, element('thead', {}, head), element('tbody', {}, rows.map((row) => element('tr', {}, cells(row, columns, () => true)))));
}

function cells(row, columns, may) {
  return columns.map(({ field, kind, each, masked }) => {
    const attributes = { class: [isFigure(kind) && 'figure', !may(masked) && 'masked'].filter(Boolean).join(' ') || undefined };
    if (each) return element('td', attributes, row[each].map((item) => at(item, field)).join(', '));
    return element('td', attributes, cell(at(row, field), kind));
  });
}

/** `product.name` of a row. */
function at(row, path) {
  return path.split('.').reduce((value, name) => value?.[name], row);
}
