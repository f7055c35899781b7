// The statement playground of one resource: write, run, see.

import { Answer } from './answer.js';
import { pathOf, pathOfRow } from './catalog.js';
import { announce, copyButton, counted, element } from './dom.js';
import { Editor } from './editor.js';
import { parse, pretty } from './json.js';
import { lineAndColumn, locate } from './pointer.js';
import { bodyOf, curl, pointerInText, send } from './request.js';

const SAMPLE = '{\n  "limit": 20\n}';
const LABELS = { paginate: 'paginate', list: 'list', find: 'find', findById: 'find by id' };
/** Milliseconds without typing before the text is checked. */
const CHECK_DELAY = 500;
const NO_JSON = 'The statement is not JSON yet; the first fault is marked.';
const NO_ID = 'The id is missing.';
/** `explain` takes a statement, without an id. */
const WITHOUT_ID = 'This is the SQL of the statement alone: the condition on the key and the limit that “find by id” adds are not shown.';

export class Playground {
  /** `onState` is called with the state that can be shared: operation, id and statement. */
  constructor({ resource, catalog, token, state, onState }) {
    Object.assign(this, { resource, catalog, token, onState, faultList: [], requests: {} });
    this.editor = new Editor({ scope: () => ({ resource, catalog }), onInput: () => this.edited(), onRun: () => this.run() });
    this.answer = new Answer({ canExplain: catalog.explain && pathOf(resource, 'explain') !== undefined, onSql: () => this.explain() });
    this.build();
    this.restore(state);
  }

  build() {
    const operations = Object.keys(LABELS).filter((name) => pathOf(this.resource, name));
    this.operation = element('select', { id: 'operation', onchange: () => this.changed() }, operations.map((name) => element('option', { value: name }, LABELS[name])));
    // Not `required`: the browser would block every operation because of a hidden input.
    this.parts = this.resource.key.map((name) =>
      element('input', { type: 'text', id: `key-${name}`, autocomplete: 'off', spellcheck: 'false', 'aria-required': 'true', 'aria-describedby': 'faults', oninput: () => this.changed() }),
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
    const request = () => {
      const path = this.path();
      if (!path) this.askForId();
      return path && curl(location.origin, path, bodyOf(this.editor.text, parse(this.editor.text).root).body, this.token);
    };
    const button = copyButton(request, 'this request', 'Copy as curl');
    button.classList.remove('small');
    return button;
  }

  /** Restores the state of a shared URL. */
  restore({ operation, id, statement }) {
    if (pathOf(this.resource, operation ?? '')) this.operation.value = operation === 'get' ? 'list' : operation;
    const parts = (id ?? '').split(',').map((part) => decode(part));
    this.parts.forEach((part, index) => { part.value = parts[index] ?? ''; });
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
    // The faults of the old id do not apply to the new one.
    if (this.faultList.some((fault) => fault.field)) this.showFaults(this.faultList.filter((fault) => !fault.field));
    this.onState(this.state());
  }

  edited() {
    this.showFaults([]);
    this.onState(this.state());
    clearTimeout(this.pause);
    this.pause = setTimeout(() => this.check(), CHECK_DELAY);
  }

  /** Marks the first JSON fault. Returns whether the text can be sent. */
  check() {
    clearTimeout(this.pause);
    const { faults } = parse(this.editor.text);
    // Most other faults follow from the first one.
    const marked = faults.slice(0, 1).map(({ start, end, message }) => ({ start, end, message, code: 'JSON' }));
    this.editor.mark(marked);
    this.showFaults(marked);
    return marked.length === 0;
  }

  /** Lists faults; a click on one moves the cursor to it. */
  showFaults(faults) {
    this.faultList = faults;
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

  /** The path of a run; undefined while a part of the key is missing. */
  path() {
    if (this.operation.value !== 'findById') return pathOf(this.resource, this.operation.value);
    return this.parts.every((part) => part.value !== '') ? pathOfRow(this.resource, this.parts.map((part) => part.value)) : undefined;
  }

  /** Reports a missing part of the key, and focuses it. */
  askForId() {
    const field = this.parts.find((part) => part.value === '');
    field.setAttribute('aria-invalid', 'true');
    this.showFaults([{ field, message: NO_ID, code: 'ID' }]);
    field.focus();
  }

  /** Runs the statement, and loads its SQL too if that tab is open. */
  async run() {
    const sides = this.answer.side === 'sql' ? ['rows', 'sql'] : ['rows'];
    if (!this.check()) {
      for (const side of sides) this.notSent(side, NO_JSON);
      return;
    }
    const path = this.path();
    if (!path) {
      this.askForId();
      for (const side of sides) this.notSent(side, NO_ID);
      return;
    }
    const rows = this.request('rows', path, (answer) => this.answer.rows(answer));
    await Promise.all([rows, sides.includes('sql') && this.explain()]);
  }

  async explain() {
    if (!this.check()) {
      this.notSent('sql', NO_JSON);
      return;
    }
    const note = this.operation.value === 'findById' ? WITHOUT_ID : undefined;
    await this.request('sql', pathOf(this.resource, 'explain'), (answer) => this.answer.sql(answer, note));
  }

  /** Shows why a request was not sent, in place of an earlier answer to another text. */
  notSent(side, reason) {
    this.end(side);
    this.answer.failed(side, 'Not sent', reason);
  }

  /** Aborts the request of a side silently, as when another replaces it. */
  end(side) {
    const request = this.requests[side];
    this.requests[side] = null;
    request?.abort();
  }

  /** Sends the statement for the rows or the SQL, and marks the faults of a refusal in the text. */
  async request(side, path, onSuccess) {
    this.end(side);
    const controller = new AbortController();
    this.requests[side] = controller;
    const isLast = () => this.requests[side] === controller;
    const { text } = this.editor;
    const { root } = parse(text);
    const { body, base } = bodyOf(text, root);
    this.answer.busy(side, () => controller.abort());
    try {
      const onProgress = (bytes) => { if (isLast() && bytes > 1024 * 1024) this.answer.progress(side, bytes); };
      const answer = await send(path, body, { token: this.token, signal: controller.signal, onProgress });
      if (!isLast()) return;
      if (answer.ok) onSuccess(answer);
      else this.refused(side, answer, { root, base, text });
    } catch (error) {
      if (!isLast()) return;
      const [line, detail] = error.name === 'AbortError' ? ['Cancelled', 'The request was cancelled.'] : ['No whole answer', 'The server cannot be reached, or the connection broke off before the answer was whole.'];
      this.answer.failed(side, line, detail);
    }
  }

  refused(side, { status, text: answer }, { root, base, text }) {
    let problem;
    try {
      problem = JSON.parse(answer);
    } catch {
      problem = {};
    }
    const faults = (problem.errors ?? []).map((fault) => this.locateFault(fault, root, base));
    faults.sort((one, other) => (one.start ?? -1) - (other.start ?? -1));
    const detail = faults.length > 0 ? `${counted(faults.length, 'fault')}, listed below the statement.` : problem.detail ?? 'The server gave no reason.';
    this.answer.failed(side, `${status} · ${problem.title ?? 'refused'}`, detail);
    // The text may have changed since.
    if (this.editor.text !== text) return;
    this.editor.mark(faults.filter((fault) => fault.start !== undefined));
    this.showFaults(faults);
  }

  locateFault({ code, path, message }, root, base) {
    if (path === '/id') {
      for (const part of this.parts) part.setAttribute('aria-invalid', 'true');
      return { code, path, message, field: this.parts[0] };
    }
    const pointer = pointerInText(path, base);
    return pointer === null ? { code, path, message } : { code, path, message, ...locate(root, pointer) };
  }

  /** Aborts all requests, when another resource is shown. */
  close() {
    clearTimeout(this.pause);
    for (const side of Object.keys(this.requests)) this.end(side);
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
