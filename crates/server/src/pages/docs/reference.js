// The reference of a resource: its fields with their operators, its relations, and its paths.

import { typeName } from './catalog.js';
import { copyButton, counted, element } from './dom.js';
import { linkTo } from './fragment.js';
import { curl } from './request.js';

const MASKS = { email: 'first letter and domain', last4: 'last four characters', redact: 'nothing of it' };
const ANSWERS = {
  paginate: '{total, count, rows}',
  list: 'an array of rows',
  get: 'the same as list',
  find: 'the first row, or 404',
  findById: 'the row with that key, or 404',
  explain: 'the SQL',
};

/** The reference of one resource. */
export function reference(resource, token) {
  return element(
    'div',
    { class: 'reference' },
    element('section', { 'aria-labelledby': 'fields-title' }, element('h2', { id: 'fields-title' }, 'Fields'), fields(resource)),
    element('section', { 'aria-labelledby': 'relations-title' }, element('h2', { id: 'relations-title' }, 'Relations'), relations(resource)),
    element('section', { 'aria-labelledby': 'paths-title' }, element('h2', { id: 'paths-title' }, 'Paths'), operationPaths(resource, token)),
  );
}

function fields(resource) {
  const head = ['Field', 'Type', 'Null', 'Operators'].map((name) => element('th', { scope: 'col', role: 'columnheader' }, name));
  const rows = resource.fields.map((field) =>
    element(
      'tr',
      { role: 'row', 'data-field': field.name },
      element('th', { scope: 'row', role: 'rowheader' }, element('code', {}, field.name), field.key && badge('key'), field.mask && badge('masked')),
      element('td', { role: 'cell' }, element('code', { class: 'type' }, typeName(field)), field.values && values(field.values)),
      element('td', { role: 'cell', class: 'null-rule' }, field.nullable ? 'may be null' : 'never null'),
      element('td', { role: 'cell' }, field.mask ? masked(field.mask) : chips(field.operators)),
    ),
  );
  // On a narrow screen the rows are blocks, which lose their roles unless they are set.
  const table = element('table', { class: 'fields', role: 'table' }, element('thead', { role: 'rowgroup' }, element('tr', { role: 'row' }, head)), element('tbody', { role: 'rowgroup' }, rows));
  return scroll('Fields', table);
}

function masked(mask) {
  return element('span', { class: 'hint' }, `Shown masked (${MASKS[mask] ?? mask}); cannot filter, sort or aggregate.`);
}

function badge(word) {
  return element('span', { class: `badge ${word}` }, word);
}

function chips(words) {
  return element('span', { class: 'chips' }, words.map((word) => element('code', {}, word)));
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

function operationPaths(resource, token) {
  const rows = resource.operations.map(({ name, address }) =>
    element('tr', {}, element('th', { scope: 'row' }, element('code', { class: 'path' }, `POST ${address}`)), element('td', {}, ANSWERS[name] ?? '')),
  );
  const example = curl(location.origin, resource.operations[0].address, '{"query": {"limit": 20}}', token);
  return [
    scroll('Paths', element('table', {}, element('thead', {}, element('tr', {}, ['Path', 'Answers'].map((name) => element('th', { scope: 'col' }, name)))), element('tbody', {}, rows))),
    element('div', { class: 'code' }, element('pre', { tabindex: '0', 'aria-label': 'Example with curl' }, example), copyButton(() => example, 'the curl example')),
  ];
}

function scroll(label, table) {
  return element('div', { class: 'scroll', role: 'region', 'aria-label': `${label} as a table`, tabindex: '0' }, table);
}

/** All resources, while none is chosen. */
export function overview(catalog) {
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
            element('span', { class: 'hint' }, `${counted(resource.fields.length, 'field')}, ${counted(resource.relations.length, 'relation')}`),
          ),
        ),
      ),
    ),
  );
  return element('div', { class: 'overview' }, element('h1', {}, 'Resources'), element('p', { class: 'lead' }, 'Choose a resource to see its fields and relations, and to run statements on it.'), groups);
}

/** Shown if the caller may see no resource. */
export function nothing() {
  return element(
    'div',
    { class: 'empty' },
    element('h1', {}, 'No resources'),
    element('p', { class: 'lead' }, 'The manifest declares none that you may see.'),
    element('p', {}, 'A manifest is made from a database you have:'),
    element('pre', {}, 'peristyle introspect\nperistyle check\nperistyle serve'),
    element('p', { class: 'hint' }, 'If there is one already, its resources may need a permission: give a token above.'),
  );
}
