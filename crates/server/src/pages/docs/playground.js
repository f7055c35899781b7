// The statement playground of one resource: write, run, see.

import { Answer } from './answer.js';
import { pathOf, pathOfRow } from './catalog.js';
import { announce, counted, element } from './dom.js';
import { Editor } from './editor.js';
import { examples, firstExample, operatorExample } from './examples.js';
import { clear, entries, remember } from './history.js';
import { member, parse, pretty } from './json.js';
import { Menu } from './menu.js';
import { lineAndColumn, locate } from './pointer.js';
import { Programs, TOKEN_NOTE } from './programs.js';
import { bodyOf, curl, pointerInText, problemOf, send } from './request.js';
import { graphql, typescript } from './snippets.js';

const LABELS = { paginate: 'paginate', keysetPaginate: 'keyset-paginate', list: 'list', find: 'find', findById: 'find by id' };
/** Milliseconds without typing before the text is checked. */
const CHECK_DELAY = 500;
/** The related rows that a row loads when it is opened. */
const RELATED_LIMIT = 20;
const NO_JSON = 'The statement is not JSON yet; the first fault is marked.';
const NO_ID = 'The id is missing.';
/** `explain` takes a statement, without an id. */
const WITHOUT_ID = 'This is the SQL of the statement alone: the condition on the key and the limit that “find by id” adds are not shown.';

export class Playground {
  /** `onState` is called with the state that can be shared: operation, id and statement; `onOpen` with an entry of the history. */
  constructor({ resource, catalog, session, state, onState, onOpen }) {
    Object.assign(this, { resource, catalog, session, onState, onOpen, faultList: [], requests: {} });
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
    this.menus = [new Menu('Examples', () => this.exampleList(), { id: 'examples' }), new Menu('History', () => this.historyList(), { id: 'history' })];
    const runs = element('button', { type: 'submit', class: 'primary', 'aria-keyshortcuts': 'Control+Enter' }, 'Run');
    const form = element(
      'form',
      { class: 'controls', onsubmit: (event) => { event.preventDefault(); this.run(); } },
      element('span', { class: 'part' }, element('label', { for: 'operation' }, 'Operation'), this.operation),
      this.identity,
      element('span', { class: 'actions' }, this.menus.map(({ node }) => node), element('button', { type: 'button', class: 'format', onclick: () => this.format() }, 'Format'), runs),
    );
    const hint = element(
      'p',
      { class: 'hint', id: 'statement-hint' },
      kbd('Ctrl+Space'), ' suggests, ', kbd('Ctrl+Enter'), ' runs, ', kbd('Escape'), ' then ', kbd('Tab'), ' leaves. A body with ',
      element('code', {}, '"query"'), ' and ', element('code', {}, '"constraint"'), ' is taken as it is.',
    );
    const label = element('label', { class: 'unseen', for: 'statement' }, 'Statement');
    this.programs = new Programs(element('div', {}, label, this.editor.node, this.faults, hint), (name) => this.program(name));
    this.node = element(
      'section',
      { class: 'playground', 'aria-labelledby': 'playground-title' },
      element('h2', { class: 'unseen', id: 'playground-title' }, 'Playground'),
      form,
      element('div', { class: 'work' }, this.programs.node, this.answer.node),
    );
  }

  /** The request as a program for a tab: `{text, more, note, link}`, or `{message}`. */
  program(name) {
    const { text } = this.editor;
    const { root, faults } = parse(text);
    const path = this.path();
    if (faults.length > 0) return { message: NO_JSON };
    if (!path) return { message: NO_ID };
    const { isSignedIn } = this.session;
    const note = isSignedIn ? TOKEN_NOTE : undefined;
    if (name === 'curl') return { text: curl(location.origin, path, bodyOf(text, root).body, isSignedIn), note };
    const operation = this.operation.value;
    const about = { origin: location.origin, path, resource: this.resource, operation, text, signedIn: isSignedIn };
    if (name === 'TypeScript') return { text: typescript(about, this.catalog), note };
    const values = this.parts.map((part) => part.value);
    const id = operation !== 'findById' ? undefined : values.length === 1 ? values[0] : values.map((value) => encodeURIComponent(value)).join(',');
    const written = graphql({ ...about, id }, this.catalog);
    if (!written) return { message: 'GraphQL has no name for this resource.' };
    const state = new URLSearchParams(written.variables === '' ? { query: written.query } : written);
    return { text: written.query, more: written.variables, link: `/graphql#${state}` };
  }

  exampleList() {
    const groups = examples(this.resource, this.catalog, this.answer.valuesOf);
    return groups.map(({ title, examples: listed }) =>
      element(
        'section',
        {},
        element('h3', {}, title),
        element('ul', {}, listed.map(({ label, detail, text }) => element('li', {}, element('button', { type: 'button', onclick: () => this.try(text) }, element('code', {}, label), element('span', { class: 'hint' }, detail))))),
      ),
    );
  }

  historyList() {
    const all = entries();
    if (all.length === 0) return element('p', { class: 'hint' }, 'Statements that you run are listed here until you close this tab.');
    const open = (entry) => {
      for (const menu of this.menus) menu.close();
      this.onOpen(entry);
    };
    const items = all.map((entry) =>
      element(
        'li',
        {},
        element(
          'button',
          { type: 'button', onclick: () => open(entry) },
          element('span', {}, element('strong', {}, entry.resource), ` ${LABELS[entry.operation] ?? entry.operation}`),
          element('span', { class: 'hint' }, `${new Date(entry.at).toLocaleTimeString()} · ${entry.outcome}`),
          element('code', { class: 'line' }, entry.statement.replace(/\s+/g, ' ')),
        ),
      ),
    );
    const forget = element('button', { type: 'button', class: 'small', onclick: () => { clear(); this.menus[1].close(); this.menus[1].summary.focus(); announce('History cleared'); } }, 'Clear the history');
    return [element('ul', { class: 'history' }, items), element('p', { class: 'buttons' }, forget)];
  }

  /** Writes a statement into the editor and runs it. */
  try(text) {
    for (const menu of this.menus) menu.close();
    this.programs.select('Statement');
    this.editor.write(0, this.editor.text.length, text, text.length);
    if (this.operation.value === 'findById') this.operation.value = 'paginate';
    this.changed();
    this.run();
  }

  /** Tries the example for an operator of a field. */
  tryOperator(field, operator) {
    this.try(operatorExample(field, operator, this.answer.valuesOf));
  }

  /** Restores the state of a shared URL. Without a statement the first example runs. */
  restore({ operation, id, statement }) {
    if (pathOf(this.resource, operation ?? '')) this.operation.value = operation === 'get' ? 'list' : operation;
    const parts = (id ?? '').split(',').map((part) => decode(part));
    this.parts.forEach((part, index) => { part.value = parts[index] ?? ''; });
    this.identity.hidden = this.operation.value !== 'findById';
    this.editor.text = statement ?? firstExample(this.resource);
    this.check();
  }

  /** Runs the first example of a resource that was opened without a statement. */
  begin() {
    const { text } = this.editor;
    if (this.operation.value !== 'findById') this.request('rows', this.path(), (answer) => this.showRows(answer, text));
  }

  /** Runs the statement again, after a write changed rows. A text that is no JSON stays as it is. */
  refresh() {
    const { text } = this.editor;
    const path = this.path();
    if (path && parse(text).faults.length === 0) this.request('rows', path, (answer) => this.showRows(answer, text));
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
    this.programs.refresh();
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
    this.programs.select('Statement');
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
    this.answer.reveal();
    const state = this.state();
    const rows = this.request('rows', path, (answer) => remember({ resource: this.resource.name, ...state, outcome: this.showRows(answer, state.statement), at: Date.now() }));
    await Promise.all([rows, sides.includes('sql') && this.explain()]);
  }

  /** Shows rows. Those of a resource can load their related rows; groups cannot. */
  showRows(answer, text) {
    const { root } = parse(text);
    const statement = member(root, 'query') ?? root;
    const isAggregated = member(statement, 'aggregation')?.kind === 'object';
    const load = (resource, key, relation) => this.loadRelated(resource, key, relation);
    return this.answer.rows(answer, isAggregated ? undefined : { resource: this.resource, catalog: this.catalog, load });
  }

  /** Loads the rows of a relation of one row. */
  async loadRelated(resource, key, relation) {
    const { many } = resource.relations.find(({ name }) => name === relation);
    const body = JSON.stringify({ query: { relations: { [relation]: many ? { limit: RELATED_LIMIT } : true } } });
    const { ok, text } = await send(pathOfRow(resource, key), body, { session: this.session });
    if (!ok) throw new Error(problemOf(text).detail ?? 'The related rows cannot be loaded.');
    return { text, node: member(parse(text).root, relation) };
  }

  async explain() {
    if (!this.check()) {
      this.notSent('sql', NO_JSON);
      return;
    }
    const note = this.operation.value === 'findById' ? WITHOUT_ID : undefined;
    const operation = this.operation.value === 'keysetPaginate' ? '?operation=keyset-paginate' : '';
    await this.request('sql', `${pathOf(this.resource, 'explain')}${operation}`, (answer) => this.answer.sql(answer, note));
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
      const answer = await send(path, body, { session: this.session, signal: controller.signal, onProgress });
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
    const problem = problemOf(answer);
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
    for (const menu of this.menus) menu.remove();
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
