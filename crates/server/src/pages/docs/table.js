// Rows as a table. Related rows and JSON values open in their cell; a button shows more rows of a long answer.

import { counted, element } from './dom.js';
import { compact, pretty } from './json.js';

/** The number of rows that are drawn at once. */
const STEP = 100;
/** JSON up to this length is shown in its cell. */
const MAX_INLINE_JSON = 60;
/** Strings up to this length, such as a timestamp, stay on one line. */
const MAX_ONE_LINE = 36;

/** A table of row nodes; `text` is the answer they were read from, `inside` says what they belong to, as in `orders of row 3`. */
export function rowsTable(rows, text, inside) {
  const label = inside ?? 'Rows';
  const columns = columnsOf(rows);
  const body = element('tbody');
  const node = element('div', { class: 'rows' });
  const table = element(
    'table',
    { 'aria-label': label },
    element('thead', {}, element('tr', {}, columns.map((name) => element('th', { scope: 'col' }, name)))),
    body,
  );
  // A region that scrolls must be reachable by keyboard.
  const region = element('div', { class: 'scroll', role: 'region', 'aria-label': label, tabindex: '0' }, table);
  node.append(region);
  const status = element('span');
  const button = element('button', { type: 'button' });
  const more = element('p', { class: 'more' }, status, ' ', button);
  let drawn = 0;
  const draw = () => {
    const next = rows.slice(drawn, drawn + STEP);
    body.append(...next.map((row, index) => rowOf(row, columns, text, `row ${drawn + index + 1}${inside ? ` of ${inside}` : ''}`)));
    drawn += next.length;
    status.textContent = `${counted(drawn, 'row')} of ${rows.length.toLocaleString('en')} are drawn.`;
    button.textContent = `Show ${Math.min(STEP, rows.length - drawn)} more`;
    more.hidden = drawn >= rows.length;
  };
  button.addEventListener('click', () => {
    draw();
    // The button disappears with the last rows, and must not take the focus with it.
    if (more.hidden) region.focus({ preventScroll: true });
  });
  node.append(more);
  draw();
  return node;
}

function columnsOf(rows) {
  const names = new Set();
  for (const row of rows) {
    for (const { key } of row.members ?? []) names.add(key.value);
  }
  return [...names];
}

/** A row; `place` names it for the tables that open inside it. */
function rowOf(row, columns, text, place) {
  const values = new Map((row.members ?? []).map(({ key, value }) => [key.value, value]));
  return element('tr', {}, columns.map((name) => cell(values.get(name), text, `${name} of ${place}`)));
}

function cell(node, text, place) {
  if (!node) return element('td', { class: 'absent' });
  if (node.kind === 'string') return element('td', { class: node.value.length <= MAX_ONE_LINE ? 'short' : undefined }, node.value === '' ? element('span', { class: 'null' }, '""') : node.value);
  if (node.kind === 'number') return element('td', { class: 'figure' }, text.slice(node.start, node.end));
  if (node.kind === 'literal') {
    const word = text.slice(node.start, node.end);
    return element('td', {}, element('span', { class: word === 'null' ? 'null' : 'literal' }, word));
  }
  return element('td', {}, container(node, text, place));
}

/** Related rows as a table of their own, other JSON as text; made only when it is opened. */
function container(node, text, place) {
  const items = node.kind === 'array' ? node.items.map(({ value }) => value) : [];
  const isRows = items.length > 0 && items.every((item) => item.kind === 'object');
  if (!isRows && node.end - node.start <= MAX_INLINE_JSON) return element('code', {}, compact(node, text));
  const summary = isRows ? counted(items.length, 'row') : node.kind === 'array' ? counted(items.length, 'element') : peek(node, text);
  const details = element('details', {}, element('summary', {}, summary));
  details.addEventListener(
    'toggle',
    () => details.append(isRows ? rowsTable(items, text, place) : node.kind === 'object' ? record(node, text, place) : element('pre', {}, pretty(node, text))),
    { once: true },
  );
  return details;
}

/** The beginning of an object, to tell one from another. */
function peek(node, text) {
  const line = node.members.slice(0, 2).map(({ key, value }) => `${key.value}: ${compact(value, text)}`).join(', ');
  return `{ ${line.length > 40 ? `${line.slice(0, 40)}…` : line} }`;
}

/** One object, a line for each of its members. */
export function record(node, text, place = 'the row') {
  return element(
    'table',
    { class: 'record' },
    element('tbody', {}, node.members.map(({ key, value }) => element('tr', {}, element('th', { scope: 'row' }, key.value), cell(value, text, `${key.value} of ${place}`)))),
  );
}
