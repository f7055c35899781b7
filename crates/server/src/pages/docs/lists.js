// What the menus of the playground list: the examples of a resource, and the statements that ran in this tab.

import { OPERATIONS } from './catalog.js';
import { element } from './dom.js';
import { examples } from './examples.js';
import { clear, entries } from './history.js';

/** The examples of a resource; `onChoose` is called with one. */
export function exampleList(resource, catalog, { valuesOf, onChoose }) {
  const item = (example) => element('li', {}, element('button', { type: 'button', onclick: () => onChoose(example) }, element('code', {}, example.label), element('span', { class: 'hint' }, example.detail)));
  return examples(resource, catalog, valuesOf).map(({ title, examples: listed }) => element('section', {}, element('h3', {}, title), element('ul', {}, listed.map(item))));
}

/** The statements that ran in this tab; `onChoose` is called with an entry. */
export function historyList({ onChoose, onClear }) {
  const all = entries();
  if (all.length === 0) return element('p', { class: 'hint' }, 'Statements that you run are listed here until you close this tab.');
  const items = all.map((entry) =>
    element(
      'li',
      {},
      element(
        'button',
        { type: 'button', onclick: () => onChoose(entry) },
        element('span', {}, element('strong', {}, entry.resource), ` ${OPERATIONS[entry.operation] ?? entry.operation}`),
        element('span', { class: 'hint' }, `${new Date(entry.at).toLocaleTimeString()} · ${entry.outcome}`),
        element('code', { class: 'line' }, entry.statement.replace(/\s+/g, ' ')),
      ),
    ),
  );
  const forget = element('button', { type: 'button', class: 'small', onclick: () => { clear(); onClear(); } }, 'Clear the history');
  return [element('ul', { class: 'history' }, items), element('p', { class: 'buttons' }, forget)];
}
