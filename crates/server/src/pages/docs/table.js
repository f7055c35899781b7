// Rows as a table. Related rows open in their cell, or are loaded when their row is opened; long values open in a dialog. An open row can
// be changed and deleted.

import { copyButton, counted, element } from './dom.js';
import { compact, pretty } from './json.js';
import { colouredJson } from './paint.js';

/** The number of rows that are drawn at once. */
const STEP = 100;
/** JSON up to this length is shown in its cell. */
const MAX_INLINE_JSON = 60;
/** Strings up to this length, such as a timestamp, stay on one line. */
const MAX_ONE_LINE = 36;
/** A longer string is cut in its cell, and opens in a dialog. */
const MAX_IN_CELL = 160;
/** The types of numbers. A decimal comes as a string. */
const NUMERIC = new Set(['int', 'bigint', 'float', 'decimal']);
const DECIMAL = /^-?\d+\.\d+$/;
/** The writes of one row, with the words of their buttons. */
const EDITS = { updateById: 'Edit', deleteById: 'Delete' };

/**
 * A table of row nodes; `text` is the answer they were read from, `inside` says what they belong to, as in `orders of row 3`.
 * `scope` is `{resource, catalog, load, edit}` if the rows are those of a resource: `load` gives the related rows of one row, `edit` opens
 * the form of a write for it.
 */
export function rowsTable(rows, text, { inside, scope } = {}) {
  const label = inside ?? 'Rows';
  const columns = columnsOf(rows);
  const hasMore = scope !== undefined && (scope.resource.relations.length > 0 || editsOf(scope).length > 0);
  const opens = hasMore && rows.some((row) => keyOf(row, text, scope));
  const body = element('tbody');
  const node = element('div', { class: 'rows' });
  const figures = figuresOf(rows, columns, scope);
  const heads = columns.map((name) => element('th', { scope: 'col', class: figures.has(name) ? 'figure' : undefined }, name));
  if (opens) heads.unshift(element('th', { scope: 'col', class: 'opener' }, element('span', { class: 'unseen' }, 'More of the row')));
  const table = element('table', { 'aria-label': label }, element('thead', {}, element('tr', {}, heads)), body);
  // A region that scrolls must be reachable by keyboard.
  const region = element('div', { class: 'scroll', role: 'region', 'aria-label': label, tabindex: '0' }, table);
  node.append(region);
  const status = element('span');
  const button = element('button', { type: 'button' });
  const more = element('p', { class: 'more' }, status, ' ', button);
  let drawn = 0;
  const draw = () => {
    const next = rows.slice(drawn, drawn + STEP);
    body.append(...next.map((row, index) => rowOf(row, { columns, figures, text, scope, opens }, `row ${drawn + index + 1}${inside ? ` of ${inside}` : ''}`)));
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

/** The columns of numbers: those of a number's type, and without a type those with numbers in their first rows. */
function figuresOf(rows, names, scope) {
  return new Set(names.filter((name) => {
    const field = scope?.resource.fields.find((candidate) => candidate.name === name);
    return field && !field.mask ? NUMERIC.has(field.type) && !field.array : isFigures(rows, name);
  }));
}

function isFigures(rows, name) {
  const found = rows.slice(0, STEP).map((row) => row.members?.find(({ key }) => key.value === name)?.value);
  const isFigure = (node) => node.kind === 'number' || (node.kind === 'string' && DECIMAL.test(node.value));
  const present = found.filter((node) => node && node.kind !== 'literal');
  return present.length > 0 && present.every(isFigure);
}

/** The relations that a row does not hold. */
function unloaded(row, { resource }) {
  const present = new Set((row.members ?? []).map(({ key }) => key.value));
  return resource.relations.filter(({ name }) => !present.has(name));
}

/** The parts of a row's key as texts; null if the row does not show them all. */
function keyOf(row, text, { resource }) {
  const values = new Map((row.members ?? []).map(({ key, value }) => [key.value, value]));
  const parts = resource.key.map((name) => scalar(values.get(name), text));
  return parts.length > 0 && parts.every((part) => part !== null) ? parts : null;
}

function scalar(node, text) {
  if (node?.kind === 'string') return node.value;
  return node?.kind === 'number' ? text.slice(node.start, node.end) : null;
}

/** The writes that the caller may use on a row. */
function editsOf({ resource, edit }) {
  const offered = edit && resource.write?.key.length > 0 ? resource.write.operations : [];
  return Object.keys(EDITS).filter((form) => offered.some(({ name }) => name === form));
}

/** The buttons that open the form of a write for a row; null if the caller may use none. */
function editButtons(key, scope, place) {
  const button = (form) => element('button', { type: 'button', class: 'small', 'aria-label': `${EDITS[form]} ${place}`, onclick: () => scope.edit(scope.resource, form, key) }, EDITS[form]);
  const buttons = editsOf(scope).map(button);
  return buttons.length > 0 ? element('span', { class: 'buttons' }, buttons) : null;
}

/** A row; `place` names it for the tables that open inside it. */
function rowOf(row, { columns, figures, text, scope, opens }, place) {
  const values = new Map((row.members ?? []).map(({ key, value }) => [key.value, value]));
  const cells = columns.map((name) => cell(values.get(name), text, { inside: `${name} of ${place}`, scope: scopeOf(scope, name), isFigures: figures.has(name) }));
  const line = element('tr', {}, cells);
  if (opens) line.prepend(opener(row, line, { text, scope, place, width: columns.length + 1 }));
  return line;
}

function scopeOf(scope, name) {
  const target = scope?.catalog.target(scope.resource, name);
  return target && { ...scope, resource: target };
}

/** A cell with a button that shows the writes and the relations of its row in a line below. */
function opener(row, line, { text, scope, place, width }) {
  const key = keyOf(row, text, scope);
  if (!key) return element('td', { class: 'opener' });
  const values = new Map(row.members.map(({ key: name, value }) => [name.value, value]));
  const view = (relation) => related(relation, { key, scope, place, loaded: values.get(relation.name), text });
  const button = element('button', { type: 'button', class: 'open', 'aria-expanded': 'false', 'aria-label': `More of ${place}` });
  let below;
  button.addEventListener('click', () => {
    below ??= element('tr', { class: 'inside' }, element('td', { colspan: width }, element('div', { class: 'related' }, editButtons(key, scope, place), scope.resource.relations.map(view))));
    const isOpen = button.getAttribute('aria-expanded') === 'true';
    button.setAttribute('aria-expanded', String(!isOpen));
    if (isOpen) below.remove();
    else line.after(below);
  });
  return element('td', { class: 'opener' }, button);
}

/** A relation of a row. Rows of the answer are shown at once, others are loaded when it is opened. */
function related({ name, many, target }, { key, scope, place, loaded, text: answer }) {
  const details = element('details', { open: loaded !== undefined }, element('summary', {}, name, ' ', element('span', { class: 'hint' }, `${many ? 'many' : 'one'} ${target}`)));
  const content = element('div', { role: 'status' }, 'Loading…');
  const show = async () => {
    content.replaceChildren('Loading…');
    try {
      const { text, node } = loaded ? { text: answer, node: loaded } : await scope.load(scope.resource, key, name);
      content.removeAttribute('role');
      content.replaceChildren(relatedRows(node, text, { inside: `${name} of ${place}`, scope: scopeOf(scope, name) }));
    } catch (error) {
      content.replaceChildren(element('p', { class: 'fault-text' }, error.message), element('button', { type: 'button', class: 'small', onclick: show }, 'Try again'));
    }
  };
  details.addEventListener('toggle', () => { details.append(content); show(); }, { once: true });
  return details;
}

function relatedRows(node, text, about) {
  if (node?.kind === 'object') return element('div', { class: 'scroll', role: 'region', 'aria-label': about.inside, tabindex: '0' }, record(node, text, about));
  const rows = node?.kind === 'array' ? node.items.map(({ value }) => value) : [];
  return rows.length > 0 ? rowsTable(rows, text, about) : element('p', { class: 'hint' }, 'None.');
}

function cell(node, text, about) {
  if (!node) return element('td', { class: 'absent' });
  if (node.kind === 'string') return about.isFigures ? element('td', { class: 'figure' }, node.value) : stringCell(node.value, about);
  if (node.kind === 'number') return element('td', { class: 'figure' }, text.slice(node.start, node.end));
  if (node.kind === 'literal') {
    const word = text.slice(node.start, node.end);
    return element('td', { class: about.isFigures ? 'figure' : undefined }, element('span', { class: word === 'null' ? 'null' : 'literal' }, word));
  }
  return element('td', {}, container(node, text, about));
}

function stringCell(value, { inside }) {
  if (value === '') return element('td', { class: 'short' }, element('span', { class: 'null' }, '""'));
  if (value.length <= MAX_IN_CELL) return element('td', { class: value.length <= MAX_ONE_LINE ? 'short' : 'long' }, value);
  const whole = element('button', { type: 'button', class: 'small', 'aria-label': `Open all of ${inside}`, onclick: () => openValue(value, inside) }, 'Open');
  return element('td', { class: 'long' }, `${value.slice(0, MAX_IN_CELL)}… `, element('span', { class: 'hint' }, counted(value.length, 'character')), ' ', whole);
}

/** Shows a whole value in a dialog. */
function openValue(value, inside) {
  const close = element('button', { type: 'button', class: 'primary', onclick: () => dialog.close() }, 'Close');
  const title = element('h2', { id: 'value-title' }, inside);
  const shown = element('pre', { tabindex: '0', 'aria-label': inside }, value);
  const dialog = element('dialog', { class: 'value', 'aria-labelledby': 'value-title', onclose: () => dialog.remove() }, title, shown, element('p', { class: 'buttons' }, copyButton(() => value, 'the value'), close));
  document.body.append(dialog);
  dialog.showModal();
}

/** Related rows as a table of their own, other JSON as text; made only when it is opened. */
function container(node, text, about) {
  const items = node.kind === 'array' ? node.items.map(({ value }) => value) : [];
  const isRows = items.length > 0 && items.every((item) => item.kind === 'object');
  if (!isRows && !about.scope && node.end - node.start <= MAX_INLINE_JSON) return element('code', {}, compact(node, text));
  if (node.kind === 'array' && items.length === 0) return element('span', { class: 'null' }, about.scope ? 'none' : '[]');
  const summary = isRows ? counted(items.length, 'row') : node.kind === 'array' ? counted(items.length, 'element') : peek(node, text);
  const details = element('details', {}, element('summary', {}, summary));
  const content = () => (isRows ? rowsTable(items, text, about) : node.kind === 'object' ? record(node, text, about) : element('pre', {}, colouredJson(pretty(node, text))));
  details.addEventListener('toggle', () => details.append(content()), { once: true });
  return details;
}

/** The beginning of an object, to tell one from another. */
function peek(node, text) {
  const line = node.members.slice(0, 2).map(({ key, value }) => `${key.value}: ${compact(value, text)}`).join(', ');
  return `{ ${line.length > 40 ? `${line.slice(0, 40)}…` : line} }`;
}

/** One object, a line for each of its members. `before` are the values of the row before a change, by their names. */
export function record(node, text, { inside = 'the row', scope, before } = {}) {
  const key = scope && keyOf(node, text, scope);
  const line = ({ key: name, value }) => {
    const shown = cell(value, text, { inside: `${name.value} of ${inside}`, scope: scopeOf(scope, name.value) });
    const old = before?.get(name.value);
    const isChanged = old !== undefined && old !== compact(value, text);
    if (isChanged) shown.append(' ', element('span', { class: 'was' }, `was ${old.length > MAX_ONE_LINE ? `${old.slice(0, MAX_ONE_LINE)}…` : old}`));
    return element('tr', { class: isChanged ? 'changed' : undefined }, element('th', { scope: 'row' }, name.value), shown);
  };
  const others = key ? unloaded(node, scope) : [];
  const edits = key && editButtons(key, scope, inside);
  const change = edits && element('tr', {}, element('th', { scope: 'row' }, 'Change it'), element('td', {}, edits));
  const more = others.map((relation) => element('tr', {}, element('th', { scope: 'row' }, relation.name), element('td', {}, related(relation, { key, scope, place: inside }))));
  return element('table', { class: 'record' }, element('tbody', {}, node.members.map(line), more, change));
}
