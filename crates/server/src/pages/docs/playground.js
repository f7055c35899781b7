// The statement playground of one resource: write, run, see.

import { Answer } from './answer.js';
import { OPERATIONS, pathOf, pathOfRow } from './catalog.js';
import { announce, counted, element } from './dom.js';
import { Editor } from './editor.js';
import { firstExample, operatorExample } from './examples.js';
import { FieldsInput, fieldsParameter, namesIn, showable } from './fields-input.js';
import { hasRun, remember } from './history.js';
import { member, parse, pretty } from './json.js';
import { exampleList, historyList } from './lists.js';
import { Menu } from './menu.js';
import { Trail, pagesBeside } from './paging.js';
import { lineAndColumn, locate } from './pointer.js';
import { Programs, TOKEN_NOTE } from './programs.js';
import { bodyOf, curl, pointerInText, problemOf, send } from './request.js';
import { graphql, typescript } from './snippets.js';

/** Milliseconds without typing before the text is checked. */
const CHECK_DELAY = 500;
/** The related rows that a row loads when it is opened. */
const RELATED_LIMIT = 20;
const NO_JSON = 'The statement is not JSON yet; the first fault is marked.';
const NO_ID = 'The id is missing.';
/** `explain` takes a statement, without an id. */
const WITHOUT_ID = 'This is the SQL of the statement alone: the condition on the key and the limit that “find by id” adds are not shown.';

export class Playground {
  /**
   * `onState` is called with the state that can be shared: operation, id, fields and statement; `onOpen` with an entry of the history;
   * `onEdit` with the resource and the key of a row, and the form of the write that a person wants.
   */
  constructor({ resource, catalog, session, state, onState, onOpen, onEdit }) {
    Object.assign(this, { resource, catalog, session, onState, onOpen, onEdit, faultList: [], requests: {}, trail: new Trail() });
    this.editor = new Editor({ scope: () => ({ resource, catalog }), onInput: () => this.edited(), onRun: () => this.run() });
    this.fields = new FieldsInput({ names: () => showable(resource, catalog, this.editor.text), onChange: () => this.changed(), onRun: () => this.run() });
    this.answer = new Answer({ canExplain: catalog.explain && pathOf(resource, 'explain') !== undefined, onSql: () => this.explain() });
    this.build();
    this.restore(state);
  }

  build() {
    const operations = Object.keys(OPERATIONS).filter((name) => pathOf(this.resource, name));
    this.operation = element('select', { id: 'operation', onchange: () => this.changed() }, operations.map((name) => element('option', { value: name }, OPERATIONS[name])));
    // Not `required`: the browser would block every operation because of a hidden input.
    this.parts = this.resource.key.map((name) =>
      element('input', { type: 'text', id: `key-${name}`, autocomplete: 'off', spellcheck: 'false', 'aria-required': 'true', 'aria-describedby': 'faults', oninput: () => this.changed() }),
    );
    const keys = this.resource.key.map((name, index) => element('span', { class: 'part' }, element('label', { for: `key-${name}` }, name), this.parts[index]));
    this.identity = element('span', { class: 'identity', hidden: true }, keys);
    this.faults = element('div', { id: 'faults' });
    this.menus = [new Menu('Examples', () => exampleList(this.resource, this.catalog, { valuesOf: this.answer.valuesOf, onChoose: (example) => this.try(example) }), { id: 'examples' }), new Menu('History', () => this.historyList(), { id: 'history' })];
    const runs = element('button', { type: 'submit', class: 'primary', 'aria-keyshortcuts': 'Control+Enter' }, 'Run');
    const form = element(
      'form',
      { class: 'controls', onsubmit: (event) => { event.preventDefault(); this.run(); } },
      element('span', { class: 'part' }, element('label', { for: 'operation' }, 'Operation'), this.operation),
      this.identity,
      this.fields.node,
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
    const about = { origin: location.origin, path, resource: this.resource, operation, text, fields: this.fields.value, signedIn: isSignedIn };
    if (name === 'TypeScript') return { text: typescript(about, this.catalog), note };
    const values = this.parts.map((part) => part.value);
    const id = operation !== 'findById' ? undefined : values.length === 1 ? values[0] : values.map((value) => encodeURIComponent(value)).join(',');
    const written = graphql({ ...about, id }, this.catalog);
    if (written.message) return written;
    const state = new URLSearchParams(written.variables === '' ? { query: written.query } : written);
    return { text: written.query, more: written.variables, link: `/graphql#${state}` };
  }

  historyList() {
    const open = (entry) => {
      this.closeMenus();
      this.onOpen(entry);
    };
    const onClear = () => {
      this.closeMenus();
      this.menus[1].summary.focus();
      announce('History cleared');
    };
    return historyList({ onChoose: open, onClear });
  }

  closeMenus() {
    for (const menu of this.menus) menu.close();
  }

  /** Writes an example into the editor and runs it. */
  try({ text, operation, fields = [] }) {
    this.closeMenus();
    this.programs.select('Statement');
    this.editor.write(0, this.editor.text.length, text, text.length);
    this.fields.value = fields;
    if (operation) this.operation.value = operation;
    // These take no id, and some of them an aggregation.
    else if (['findById', 'keysetPaginate'].includes(this.operation.value)) this.operation.value = 'paginate';
    this.changed();
    this.run();
  }

  /** Tries the example for an operator of a field. A field that rows show only if it is named is named. */
  tryOperator(field, operator) {
    this.try({ text: operatorExample(field, operator, this.answer.valuesOf, this.catalog.maxRows), fields: field.eager === false ? [...this.resource.key, field.name] : [] });
  }

  /** Restores the state of a shared URL. Without a statement the first example runs. */
  restore({ operation, id, fields, statement }) {
    if (pathOf(this.resource, operation ?? '')) this.operation.value = operation === 'get' ? 'list' : operation;
    const parts = (id ?? '').split(',').map((part) => decode(part));
    this.parts.forEach((part, index) => { part.value = parts[index] ?? ''; });
    this.fields.value = namesIn(fields ?? '');
    this.identity.hidden = this.operation.value !== 'findById';
    this.editor.text = statement ?? firstExample(this.resource, this.catalog.maxRows);
    this.check();
  }

  /** Runs the first example of a resource that was opened without a statement. */
  begin() {
    if (this.operation.value !== 'findById') this.runRows();
  }

  /** Runs a statement that this tab ran before, as after a reload or a sign-in. One from somebody else waits for a person. */
  resume() {
    if (hasRun({ resource: this.resource.name, ...this.state() })) this.refresh();
  }

  /** Runs the statement again, after a write changed rows. A text that is no JSON stays as it is. */
  refresh() {
    if (this.path() && parse(this.editor.text).faults.length === 0) this.runRows();
  }

  state() {
    const byId = this.operation.value === 'findById';
    const names = this.fields.value;
    return {
      operation: this.operation.value,
      id: byId ? this.parts.map((part) => encodeURIComponent(part.value)).join(',') : undefined,
      fields: names.length > 0 ? names.join(',') : undefined,
      statement: this.editor.text,
    };
  }

  changed() {
    this.identity.hidden = this.operation.value !== 'findById';
    for (const part of this.parts) part.removeAttribute('aria-invalid');
    this.fields.mark(false);
    // The faults of the old id and of the old fields do not apply to the new ones.
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
      const place = fault.field === this.fields.input ? 'fields' : fault.field ? 'id' : fault.start === undefined ? fault.path : `${line}:${column}`;
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

  /** The path of a run with the fields that it names; undefined while a part of the key is missing. */
  path() {
    const fields = fieldsParameter(this.fields.value);
    if (this.operation.value !== 'findById') return `${pathOf(this.resource, this.operation.value)}${fields}`;
    return this.parts.every((part) => part.value !== '') ? `${pathOfRow(this.resource, this.parts.map((part) => part.value))}${fields}` : undefined;
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
    await Promise.all([this.runRows(), sides.includes('sql') && this.explain()]);
  }

  /** Sends the statement for its rows. In the history it takes the place of `replaced`, another page of the same rows. */
  runRows(replaced) {
    const state = { resource: this.resource.name, ...this.state() };
    return this.request('rows', this.path(), (answer) => remember({ ...state, outcome: this.showRows(answer, state), at: Date.now() }, replaced));
  }

  /** Shows rows with the pages beside them. Rows of a resource can be changed, and load their related rows; groups cannot. */
  showRows(answer, { operation, statement: text }) {
    const { root } = parse(text);
    const isAggregated = member(member(root, 'query') ?? root, 'aggregation')?.kind === 'object';
    const load = (resource, key, relation) => this.loadRelated(resource, key, relation);
    const scope = isAggregated ? undefined : { resource: this.resource, catalog: this.catalog, load, edit: this.onEdit };
    return this.answer.rows(answer, { scope, pages: this.pages(operation, text, answer.text) });
  }

  /** The pages beside an answer, as functions that show them: `{previous, next, first}`; null for an operation without pages. */
  pages(operation, text, answer) {
    const found = pagesBeside(operation, text, answer);
    if (!found) return null;
    const before = operation === 'keysetPaginate' ? this.trail.before(text) : found.previous;
    const goes = (page, go) => (page === undefined ? undefined : () => { go(); this.turn(page); });
    return { first: found.first, next: goes(found.next, () => this.trail.forward(text, found.next)), previous: goes(before, () => this.trail.back()) };
  }

  /** Shows another page. The focus stays where it is, and so does the button below the pointer, although the statement may grow. */
  turn(text) {
    const replaced = { resource: this.resource.name, ...this.state() };
    const { top } = this.answer.node.getBoundingClientRect();
    this.editor.text = text;
    window.scrollBy(0, this.answer.node.getBoundingClientRect().top - top);
    this.changed();
    this.runRows(replaced);
  }

  /** Loads the rows of a relation of one row. */
  async loadRelated(resource, key, relation) {
    const { many } = resource.relations.find(({ name }) => name === relation);
    const body = JSON.stringify({ query: { relations: { [relation]: many ? { limit: Math.min(RELATED_LIMIT, this.catalog.maxRows) } : true } } });
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
    const fields = fieldsParameter(this.fields.value);
    const operation = this.operation.value === 'keysetPaginate' ? `${fields === '' ? '?' : '&'}operation=keyset-paginate` : '';
    await this.request('sql', `${pathOf(this.resource, 'explain')}${fields}${operation}`, (answer) => this.answer.sql(answer, note));
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
    if (path === '/fields') {
      this.fields.mark(true);
      return { code, path, message, field: this.fields.input };
    }
    const pointer = pointerInText(path, base);
    return pointer === null ? { code, path, message } : { code, path, message, ...locate(root, pointer) };
  }

  /** Aborts all requests, when another resource is shown. */
  close() {
    clearTimeout(this.pause);
    this.fields.close();
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
