// The input for the fields that rows show, as `?fields=` takes them: names with commas between, and suggestions for each.

import { typeName } from './catalog.js';
import { element } from './dom.js';
import { member, parse } from './json.js';
import { isBody } from './grammar.js';
import { Suggestions } from './suggestions.js';

/** Milliseconds after which the page follows what was typed. */
const DELAY = 250;

/** The names in a text with commas between. */
export function namesIn(text) {
  return text.split(',').map((name) => name.trim()).filter((name) => name !== '');
}

/** The parameter of a URL for names; empty without any. */
export function fieldsParameter(names) {
  return names.length === 0 ? '' : `?fields=${names.map((name) => encodeURIComponent(name)).join(',')}`;
}

/** The names that rows of a statement can show: the fields, and those of the relations that it loads, at every depth. */
export function showable(resource, catalog, text) {
  const { root } = parse(text);
  return namesOf({ resource, catalog }, isBody(root) ? member(root, 'query') : root, '');
}

function namesOf({ resource, catalog }, node, prefix) {
  const own = resource.fields.map((field) => ({ label: `${prefix}${field.name}`, detail: field.eager === false ? `${typeName(field)}, only if named` : typeName(field) }));
  const loaded = (member(node, 'relations')?.members ?? []).flatMap(({ key, value }) => {
    const target = catalog.target(resource, key.value);
    if (!target) return [];
    return [{ label: `${prefix}${key.value}`, detail: 'all its fields' }, ...namesOf({ resource: target, catalog }, value, `${prefix}${key.value}.`)];
  });
  return [...own, ...loaded];
}

export class FieldsInput {
  /** `names()` gives the suggestions, `onChange` is called after an edit, `onRun` on Enter. */
  constructor({ names, onChange, onRun }) {
    Object.assign(this, { names, onChange });
    this.input = element('input', { type: 'text', role: 'combobox', 'aria-expanded': 'false', id: 'fields', placeholder: 'all fields', autocomplete: 'off', autocapitalize: 'off', spellcheck: 'false', 'aria-describedby': 'faults' });
    this.suggestions = new Suggestions(this.input, (option) => this.accept(option), { id: 'field-suggestions', within: () => document.documentElement });
    this.node = element('span', { class: 'part fields-part' }, element('label', { for: 'fields' }, 'Fields'), element('span', { class: 'suggested' }, this.input, this.suggestions.list));
    this.input.addEventListener('input', () => this.typed());
    this.input.addEventListener('click', () => this.suggest());
    this.input.addEventListener('blur', () => this.suggestions.close());
    this.input.addEventListener('keydown', (event) => {
      if (this.suggestions.key(event)) return;
      const opens = event.key === 'ArrowDown' || (event.code === 'Space' && (event.ctrlKey || event.metaKey));
      if (!opens && event.key !== 'Enter') return;
      event.preventDefault();
      if (opens) this.suggest();
      else onRun();
    });
  }

  /** The names, each once. */
  get value() {
    return [...new Set(namesIn(this.input.value))];
  }

  set value(names) {
    this.input.value = names.join(', ');
    this.mark(false);
  }

  mark(isFaulty) {
    if (isFaulty) this.input.setAttribute('aria-invalid', 'true');
    else this.input.removeAttribute('aria-invalid');
  }

  typed() {
    this.mark(false);
    this.suggest();
    clearTimeout(this.pause);
    this.pause = setTimeout(() => this.onChange(), DELAY);
  }

  /** The word at the cursor: `{from, to, text}`. */
  word() {
    const { value, selectionStart: cursor } = this.input;
    const from = value.lastIndexOf(',', cursor - 1) + 1;
    const end = value.indexOf(',', cursor);
    const to = end < 0 ? value.length : end;
    return { from, to, text: value.slice(from, to).trim() };
  }

  /** Suggests the names that begin with the word at the cursor, or hold it, without those that are there already. */
  suggest() {
    const { text } = this.word();
    const taken = new Set(this.value.filter((name) => name !== text));
    const lower = text.toLowerCase();
    const open = this.names().filter(({ label }) => !taken.has(label) && label.toLowerCase().includes(lower));
    const sorted = [...open.filter(({ label }) => label.toLowerCase().startsWith(lower)), ...open.filter(({ label }) => !label.toLowerCase().startsWith(lower))];
    if (sorted.length === 0 || (sorted.length === 1 && sorted[0].label === text)) this.suggestions.close();
    else this.suggestions.open(sorted, this.input.getBoundingClientRect());
  }

  accept({ label }) {
    const { from, to } = this.word();
    const before = this.input.value.slice(0, from).trimEnd();
    const after = this.input.value.slice(to);
    const start = `${before === '' ? '' : `${before} `}${label}`;
    this.input.value = after === '' ? `${start}, ` : `${start}${after}`;
    const cursor = after === '' ? this.input.value.length : start.length;
    this.input.focus();
    this.input.setSelectionRange(cursor, cursor);
    this.suggestions.close();
    this.onChange();
  }

  close() {
    clearTimeout(this.pause);
  }
}
