// A form of filters. Its field names are the keys of the URL query, so the form holds the whole state.

import { element } from './dom.js';
import { cell } from './format.js';

/** How long typing pauses before the filter applies. */
const SETTLE = 250;

/** A form for these filters: `{node, set}`; `onchange` gets the choices. */
export function filterForm(filters, onchange, more = []) {
  let settling;
  const node = element('form', { class: 'filters', role: 'search', 'aria-label': 'Filters' }, more, filters.map(field));
  const clear = element('button', { type: 'button', class: 'quiet' }, 'Clear');
  node.append(clear);
  const tell = () => {
    clearTimeout(settling);
    onchange(chosen(node));
  };
  node.addEventListener('input', (event) => {
    clearTimeout(settling);
    settling = setTimeout(tell, event.target.type === 'text' || event.target.type === 'number' ? SETTLE : 0);
  });
  node.addEventListener('submit', (event) => {
    event.preventDefault();
    tell();
  });
  clear.addEventListener('click', () => {
    node.reset();
    tell();
  });
  return { node, set: (choices) => fill(node, choices) };
}

function field(filter) {
  const id = `filter-${filter.name}`;
  return FIELDS[filter.kind](filter, id);
}

const FIELDS = {
  text: ({ name, label }, id) => part(label, id, element('input', { id, name, type: 'text', autocomplete: 'off', spellcheck: 'false' })),
  choice: ({ name, label, values, show }, id) =>
    part(label, id, element('select', { id, name }, element('option', { value: '' }, 'any'), values.map((value) => element('option', { value }, cell(value, show))))),
  amounts: ({ name, label }, id) => range(label, id, (end) => element('input', { id: `${id}-${end}`, name: `${name}-${end}`, type: 'number', min: '0', step: 'any', inputmode: 'decimal', placeholder: '€' })),
  days: ({ name, label }, id) => range(label, id, (end) => element('input', { id: `${id}-${end}`, name: `${name}-${end}`, type: 'date' })),
};

/** A select among views of the same data, for a chart. */
export function selection(name, label, options) {
  const id = `choose-${name}`;
  return part(label, id, element('select', { id, name }, options.map(([value, text]) => element('option', { value }, text))));
}

function part(label, id, input) {
  return element('p', { class: 'part' }, element('label', { for: id }, label), input);
}

function range(label, id, input) {
  return element(
    'fieldset',
    { class: 'part range' },
    element('legend', {}, label),
    element('label', { class: 'unseen', for: `${id}-from` }, `${label} from`),
    input('from'),
    element('span', { 'aria-hidden': 'true' }, 'to'),
    element('label', { class: 'unseen', for: `${id}-to` }, `${label} to`),
    input('to'),
  );
}

function chosen(form) {
  return new URLSearchParams([...new FormData(form)].filter(([, value]) => value !== ''));
}

/** Shows choices in the form, except in the field that has the focus. */
function fill(form, choices) {
  for (const input of form.elements) {
    if (!input.name || input === document.activeElement) continue;
    input.value = choices.get(input.name) ?? '';
    // A value that is no option is ignored.
    if (input.selectedIndex === -1) input.selectedIndex = 0;
  }
}
