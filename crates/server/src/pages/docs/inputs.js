// One field of the form of a write: an input by its type, the choice between a value, null and nothing, and its fault.

import { typeName } from './catalog.js';
import { element } from './dom.js';
import { isJson, rulesOf, shownOf, valueOf } from './payload.js';

/** A longer text has several lines. */
const MAX_LINE = 200;

export class FieldInput {
  /** `onChange` is called when the field would send something else. */
  constructor(field, operation, onChange) {
    Object.assign(this, { field, operation, onChange });
    const id = `write-${field.name}`;
    this.fault = element('p', { class: 'fault-text', id: `${id}-fault` });
    this.input = inputOf(field, { id, 'aria-describedby': `${id}-rules ${id}-fault` });
    this.input.addEventListener('input', () => this.typed());
    const absent = operation === 'create' ? 'left out' : 'unchanged';
    const choices = [['absent', absent], field.nullable && ['null', 'null'], ['value', 'this value']].filter(Boolean);
    this.choice = element(
      'select',
      { id: `${id}-choice`, class: 'choice', 'aria-label': `${field.name} is`, onchange: () => this.changed() },
      choices.map(([value, label]) => element('option', { value }, label)),
    );
    const rules = rulesOf(field, operation);
    this.node = element(
      'div',
      { class: 'entry', 'data-write': field.name },
      element('label', { for: id }, element('code', {}, field.name), ' ', element('span', { class: 'type' }, typeName(field))),
      element('span', { class: 'given' }, this.input, this.choice),
      element('p', { class: 'hint', id: `${id}-rules` }, rules),
      this.fault,
    );
  }

  /** What a person typed is meant. An emptied input is left out, except for a text, which may be empty. */
  typed() {
    const isText = this.field.type === 'text' && !this.field.array;
    const isEmpty = this.text === '' && !isText;
    this.choice.value = isEmpty ? 'absent' : 'value';
    this.changed();
  }

  changed() {
    this.mark('');
    this.onChange();
  }

  get text() {
    return this.input.type === 'checkbox' ? String(this.input.checked) : this.input.value;
  }

  /** Shows the value of a row. The field stays unchanged until a person changes it. */
  show(node, text) {
    const shown = shownOf(this.field, node, text);
    if (this.input.type === 'checkbox') this.input.checked = shown === 'true';
    else this.input.value = shown;
    this.choice.value = 'absent';
    this.mark('');
  }

  /** The value to send as `{json}`, `{fault}`, or nothing. */
  value() {
    if (this.choice.value === 'absent') return undefined;
    return this.choice.value === 'null' ? { json: 'null' } : valueOf(this.field, this.text);
  }

  /** Shows a fault beside the input; an empty one removes it. */
  mark(message) {
    this.fault.textContent = message;
    if (message === '') this.input.removeAttribute('aria-invalid');
    else this.input.setAttribute('aria-invalid', 'true');
  }
}

/** An input for the type of a field. */
function inputOf(field, attributes) {
  const plain = { ...attributes, autocomplete: 'off', spellcheck: 'false' };
  if (isJson(field)) return element('textarea', { ...plain, rows: '2', placeholder: field.array ? '[]' : '{}' });
  if (field.values) return element('select', attributes, element('option', { value: '' }, ''), field.values.map((value) => element('option', { value }, value)));
  const kinds = {
    bool: { type: 'checkbox' },
    int: { inputmode: 'numeric' },
    bigint: { inputmode: 'numeric' },
    float: { inputmode: 'decimal' },
    decimal: { inputmode: 'decimal' },
    date: { type: 'date' },
    time: { type: 'time', step: '1' },
    timestamp: { type: 'datetime-local', step: '0.001' },
  };
  const isLong = field.type === 'text' && !(field.maxLength <= MAX_LINE) && field.pattern === undefined;
  if (isLong) return element('textarea', { ...plain, rows: '2' });
  // Numbers are plain texts: an input for numbers would drop what is no number, and digits with it.
  return element('input', { type: 'text', ...plain, ...kinds[field.type] });
}
