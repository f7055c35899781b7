// The reference of a resource: its fields with their operators, its relations, and its paths; and the overview of all resources.

import { typeName } from './catalog.js';
import { diagram } from './diagram.js';
import { copyButton, counted, element } from './dom.js';
import { linkTo } from './fragment.js';
import { OPERATORS } from './grammar.js';
import { curl } from './request.js';
import { withheldLine } from './withheld.js';

const MASKS = { email: 'first letter and domain', last4: 'last four characters', redact: 'nothing of it' };
const ANSWERS = {
  paginate: '{total, count, rows}',
  keysetPaginate: '{count, rows, next}; next is the statement of the next page',
  list: 'an array of rows',
  get: 'the same as list',
  find: 'the first row, or 404',
  findById: 'the row with that key, or 404',
  explain: 'the SQL',
  create: 'the new row',
  updateById: 'the row after the change',
  update: '{count, rows} after the change',
  deleteById: 'the row before it was deleted',
  delete: '{count, rows} before they were deleted',
  restoreById: 'the restored row',
};

/** The reference of one resource. `isSignedIn` adds a token to the example, `onOperator` tries an operator of a field. */
export function reference(resource, catalog, { isSignedIn, onOperator }) {
  return element(
    'div',
    { class: 'reference' },
    element('section', { 'aria-labelledby': 'fields-title' }, element('h2', { id: 'fields-title' }, 'Fields'), fields(resource, onOperator)),
    element('section', { 'aria-labelledby': 'relations-title' }, element('h2', { id: 'relations-title' }, 'Relations'), drawing(resource, catalog), relations(resource)),
    element('section', { 'aria-labelledby': 'paths-title' }, element('h2', { id: 'paths-title' }, 'Paths'), operationPaths(resource, isSignedIn)),
  );
}

/** The resource and its neighbours, drawn again when the width of the window asks for another shape. */
function drawing(resource, catalog) {
  const narrow = matchMedia('(max-width: 52rem)');
  const node = element('div', { class: 'neighbours' });
  const draw = () => node.replaceChildren(...[diagram(resource, catalog, narrow.matches)].filter(Boolean));
  draw();
  const redraw = () => (node.isConnected ? draw() : narrow.removeEventListener('change', redraw));
  narrow.addEventListener('change', redraw);
  return node;
}

function fields(resource, onOperator) {
  const head = ['Field', 'Type', 'Null', 'Operators'].map((name) => element('th', { scope: 'col', role: 'columnheader' }, name));
  const rows = resource.fields.map((field) =>
    element(
      'tr',
      { role: 'row', 'data-field': field.name },
      element('th', { scope: 'row', role: 'rowheader' }, element('code', {}, field.name), field.key && badge('key'), field.mask && badge('masked'), field.derived && badge('derived')),
      element('td', { role: 'cell' }, element('code', { class: 'type' }, typeName(field)), field.values && values(field.values), field.derived && element('span', { class: 'hint origin' }, withCode(field.derived))),
      element('td', { role: 'cell', class: 'null-rule' }, field.nullable ? 'may be null' : 'never null'),
      element('td', { role: 'cell' }, field.mask ? masked(field.mask) : operators(field, onOperator)),
    ),
  );
  // On a narrow screen the rows are blocks, which lose their roles unless they are set.
  const table = element('table', { class: 'fields', role: 'table' }, element('thead', { role: 'rowgroup' }, element('tr', { role: 'row' }, head)), element('tbody', { role: 'rowgroup' }, rows));
  return scroll('Fields', table);
}

/** A sentence whose names stand between backticks, with the names as code. */
function withCode(sentence) {
  return sentence.split('`').map((part, index) => (index % 2 === 1 ? element('code', {}, part) : part));
}

function masked(mask) {
  return element('span', { class: 'hint' }, `Shown masked (${MASKS[mask] ?? mask}); cannot filter, sort or aggregate.`);
}

function badge(word) {
  return element('span', { class: `badge ${word}` }, word);
}

/** The operators of a field. Each runs an example. */
function operators(field, onOperator) {
  const chip = (operator) =>
    element('button', { type: 'button', class: 'chip', title: OPERATORS[operator], 'aria-label': `${operator} on ${field.name}: run an example`, onclick: () => onOperator(field, operator) }, element('code', {}, operator));
  return element('span', { class: 'chips' }, field.operators.map(chip));
}

function values(all) {
  return element('span', { class: 'values' }, all.map((value) => element('code', {}, JSON.stringify(value))));
}

function relations(resource) {
  if (resource.relations.length === 0) return element('p', { class: 'hint' }, 'None that you may follow.');
  const rows = resource.relations.map(({ name, many, target }) =>
    element(
      'tr',
      {},
      element('th', { scope: 'row' }, element('code', {}, name)),
      element('td', {}, many ? 'many' : 'one'),
      element('td', {}, element('a', { href: linkTo(target) }, target)),
    ),
  );
  const head = ['Relation', 'Leads to', 'Resource'].map((name) => element('th', { scope: 'col' }, name));
  return scroll('Relations', element('table', {}, element('thead', {}, element('tr', {}, head)), element('tbody', {}, rows)));
}

function operationPaths(resource, isSignedIn) {
  const rows = [...resource.operations, ...(resource.write?.operations ?? [])].map(({ name, address }) =>
    element('tr', {}, element('th', { scope: 'row' }, element('code', { class: 'path' }, `POST ${address}`)), element('td', {}, ANSWERS[name] ?? '')),
  );
  const example = curl(location.origin, resource.operations[0].address, '{"query": {"limit": 20}}', isSignedIn);
  return [
    scroll('Paths', element('table', {}, element('thead', {}, element('tr', {}, ['Path', 'Answers'].map((name) => element('th', { scope: 'col' }, name)))), element('tbody', {}, rows))),
    element('div', { class: 'code' }, element('pre', { tabindex: '0', 'aria-label': 'Example with curl' }, example), copyButton(() => example, 'the curl example')),
  ];
}

function scroll(label, table) {
  return element('div', { class: 'scroll', role: 'region', 'aria-label': `${label} as a table`, tabindex: '0' }, table);
}

/** All resources, while none is chosen. */
export function overview(catalog, session) {
  const groups = catalog.contexts().map(([context, resources]) =>
    element(
      'section',
      { class: 'group' },
      element('h2', {}, context),
      element(
        'ul',
        { class: 'cards' },
        resources.map((resource) =>
          element(
            'li',
            {},
            element('a', { href: linkTo(resource.name) }, resource.resource),
            element('span', { class: 'hint' }, resource.operations.length > 0 ? `${counted(resource.fields.length, 'field')}, ${counted(resource.relations.length, 'relation')}` : 'for writing only'),
          ),
        ),
      ),
    ),
  );
  return element('div', { class: 'overview' }, element('h1', {}, 'Resources'), element('p', { class: 'lead' }, 'Choose a resource to see its fields and relations, and to run statements on it.'), groups, withheldLine(catalog, session));
}
