// The statement playground of one resource: write, run, see.

import { Answer } from './answer.js';
import { addressOf, addressOfRow } from './catalog.js';
import { announce, copyButton, counted, element } from './dom.js';
import { Editor } from './editor.js';
import { parse, pretty } from './json.js';
import { lineAndColumn, locate } from './pointer.js';
import { bodyOf, curl, pointerInText, send } from './request.js';

const SAMPLE = '{\n  "limit": 20\n}';
const LABELS = { paginate: 'paginate', list: 'list', find: 'find', findById: 'find by id' };
/** How long somebody may pause in a word before it is called wrong. */
const PATIENCE = 500;

export class Playground {
  /** `onState` is told of what can be shared: operation, id and statement. */
  constructor({ resource, catalog, token, state, onState }) {
    Object.assign(this, { resource, catalog, token, onState, running: null });
    this.editor = new Editor({ scope: () => ({ resource, catalog }), onInput: () => this.edited(), onRun: () => this.run() });
    this.answer = new Answer({ canExplain: catalog.explain && addressOf(resource, 'explain') !== undefined, onSql: () => this.explain() });
    this.build();
    this.restore(state);
  }

  build() {
    const operations = Object.keys(LABELS).filter((name) => addressOf(this.resource, name));
    this.operation = element('select', { id: 'operation', onchange: () => this.changed() }, operations.map((name) => element('option', { value: name }, LABELS[name])));
    this.parts = this.resource.key.map((name) =>
      element('input', { type: 'text', id: `key-${name}`, autocomplete: 'off', spellcheck: 'false', required: true, 'aria-describedby': 'faults', oninput: () => this.changed() }),
    );
    const keys = this.resource.key.map((name, index) => element('span', { class: 'part' }, element('label', { for: `key-${name}` }, name), this.parts[index]));
    this.identity = element('span', { class: 'identity', hidden: true }, keys);
    this.faults = element('div', { id: 'faults' });
    const runs = element('button', { type: 'submit', class: 'primary', 'aria-keyshortcuts': 'Control+Enter' }, 'Run');
    const form = element(
      'form',
      { class: 'controls', onsubmit: (event) => { event.preventDefault(); this.run(); } },
      element('span', { class: 'part' }, element('label', { for: 'operation' }, 'Operation'), this.operation),
      this.identity,
      element('span', { class: 'actions' }, element('button', { type: 'button', onclick: () => this.format() }, 'Format'), this.curlButton(), runs),
    );
    const hint = element(
      'p',
      { class: 'hint', id: 'statement-hint' },
      kbd('Ctrl+Space'), ' suggests, ', kbd('Ctrl+Enter'), ' runs, ', kbd('Escape'), ' then ', kbd('Tab'), ' leaves. A body with ',
      element('code', {}, '"query"'), ' and ', element('code', {}, '"constraint"'), ' is taken as it is.',
    );
    this.node = element(
      'section',
      { class: 'playground', 'aria-labelledby': 'playground-title' },
      element('h2', { id: 'playground-title' }, 'Playground'),
      form,
      element(
        'div',
        { class: 'halves' },
        element('div', { class: 'half' }, element('h3', {}, element('label', { for: 'statement' }, 'Statement')), this.editor.node, this.faults, hint),
        element('div', { class: 'half' }, element('h3', {}, 'Answer'), this.answer.node),
      ),
    );
  }

  curlButton() {
    const button = copyButton(() => curl(location.origin, this.address() ?? '', bodyOf(this.editor.text, parse(this.editor.text).root).body, this.token), 'this request', 'Copy as curl');
    button.classList.remove('small');
    return button;
  }

  /** Takes up what a shared address says. */
  restore({ operation, id, statement }) {
    if (addressOf(this.resource, operation ?? '')) this.operation.value = operation === 'get' ? 'list' : operation;
    const said = (id ?? '').split(',').map((part) => decode(part));
    this.parts.forEach((part, index) => { part.value = said[index] ?? ''; });
    this.identity.hidden = this.operation.value !== 'findById';
    this.editor.text = statement ?? SAMPLE;
    this.check();
  }

  state() {
    const byId = this.operation.value === 'findById';
    return {
      operation: this.operation.value,
      id: byId ? this.parts.map((part) => encodeURIComponent(part.value)).join(',') : undefined,
      statement: this.editor.text,
    };
  }

  changed() {
    this.identity.hidden = this.operation.value !== 'findById';
    for (const part of this.parts) part.removeAttribute('aria-invalid');
    this.onState(this.state());
  }

  edited() {
    this.tell([]);
    this.onState(this.state());
    clearTimeout(this.pause);
    this.pause = setTimeout(() => this.check(), PATIENCE);
  }

  /** Marks what is no JSON; says whether the text is good to send. */
  check() {
    clearTimeout(this.pause);
    const { faults } = parse(this.editor.text);
    // After the first fault the others are mostly its consequences.
    const told = faults.slice(0, 1).map(({ start, end, message }) => ({ start, end, message, code: 'JSON' }));
    this.editor.mark(told);
    this.tell(told);
    return told.length === 0;
  }

  /** Lists faults; each leads to its place. */
  tell(faults) {
    if (faults.length === 0) {
      this.faults.replaceChildren();
      return;
    }
    const items = faults.map((fault) => {
      const { line, column } = lineAndColumn(this.editor.text, fault.start ?? 0);
      const place = fault.field ? 'id' : fault.start === undefined ? fault.path : `${line}:${column}`;
      const go = () => (fault.field ? fault.field.focus() : this.editor.focusAt(fault.start ?? 0));
      return element('li', {}, element('button', { type: 'button', class: 'fault-button', onclick: go }, element('span', { class: 'place' }, place), ' ', fault.message, ' ', element('code', {}, fault.code)));
    });
    this.faults.replaceChildren(element('ul', { class: 'faults', 'aria-label': 'Faults' }, items));
    announce(`${counted(faults.length, 'fault')}: ${faults[0].message}`);
  }

  format() {
    const { root, faults } = parse(this.editor.text);
    if (!root || faults.length > 0) {
      this.check();
      return;
    }
    const text = pretty(root, this.editor.text);
    this.editor.write(0, this.editor.text.length, text, text.length);
  }

  /** Where a run goes; undefined while a part of the key is missing. */
  address() {
    if (this.operation.value !== 'findById') return addressOf(this.resource, this.operation.value);
    return this.parts.every((part) => part.value !== '') ? addressOfRow(this.resource, this.parts.map((part) => part.value)) : undefined;
  }

  async run() {
    if (!this.check()) {
      this.answer.failed('Not sent', 'The statement is no JSON yet; its first fault is marked.');
      return;
    }
    const address = this.address();
    if (!address) {
      this.parts.find((part) => part.value === '').focus();
      this.answer.failed('Not sent', 'The id is missing.');
      return;
    }
    await this.ask(address, (answer) => this.answer.rows(answer));
    if (this.answer.selected === 'SQL') await this.explain();
  }

  async explain() {
    if (!this.check()) {
      this.answer.noSql('The statement is no JSON yet.');
      return;
    }
    this.answer.noSql('Asking…');
    const isShown = await this.ask(addressOf(this.resource, 'explain'), (answer) => this.answer.sql(answer));
    if (!isShown) this.answer.noSql('There is no SQL to show.');
  }

  /** Sends the statement; a refusal is told at its place. Says whether it was answered well. */
  async ask(address, onGood) {
    this.running?.abort();
    const running = new AbortController();
    this.running = running;
    const { text } = this.editor;
    const { root } = parse(text);
    const { body, base } = bodyOf(text, root);
    this.answer.busy(() => running.abort());
    try {
      const onProgress = (bytes) => { if (bytes > 1024 * 1024) this.answer.progress(bytes); };
      const answer = await send(address, body, { token: this.token, signal: running.signal, onProgress });
      if (answer.ok) onGood(answer);
      else this.refused(answer, { root, base, text });
      return answer.ok;
    } catch (error) {
      if (this.running !== running) return false;
      const [line, detail] = error.name === 'AbortError' ? ['Cancelled', 'The request was cancelled.'] : ['No whole answer', 'The server cannot be reached, or the connection broke off before the answer was whole.'];
      this.answer.failed(line, detail);
      return false;
    } finally {
      if (this.running === running) this.answer.idle();
    }
  }

  refused({ status, text: answer }, { root, base, text }) {
    let problem;
    try {
      problem = JSON.parse(answer);
    } catch {
      problem = {};
    }
    const faults = (problem.errors ?? []).map((fault) => this.placed(fault, root, base));
    faults.sort((one, other) => (one.start ?? -1) - (other.start ?? -1));
    const detail = faults.length > 0 ? `${counted(faults.length, 'fault')}, told at the statement.` : problem.detail ?? 'The server gave no reason.';
    this.answer.failed(`${status} · ${problem.title ?? 'refused'}`, detail);
    // The text may have changed while the request was under way.
    if (this.editor.text !== text) return;
    this.editor.mark(faults.filter((fault) => fault.start !== undefined));
    this.tell(faults);
  }

  placed({ code, path, message }, root, base) {
    if (path === '/id') {
      for (const part of this.parts) part.setAttribute('aria-invalid', 'true');
      return { code, path, message, field: this.parts[0] };
    }
    const pointer = pointerInText(path, base);
    return pointer === null ? { code, path, message } : { code, path, message, ...locate(root, pointer) };
  }

  /** Ends what is under way, when another resource is shown. */
  close() {
    clearTimeout(this.pause);
    this.running?.abort();
  }
}

function kbd(text) {
  return element('kbd', {}, text);
}

function decode(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
