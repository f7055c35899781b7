// The form of writes of one resource: create, change, delete and restore. A dry run comes first, and the same request then writes.

import { pathOf, pathOfRow, pathOfWrite } from './catalog.js';
import { announce, counted, element } from './dom.js';
import { explained } from './explain.js';
import { FieldInput } from './inputs.js';
import { compact, member, parse, pretty } from './json.js';
import { colouredJson } from './paint.js';
import { FORMS, bodyOf, fieldOf, jsonOf, numberOf } from './payload.js';
import { segments } from './pointer.js';
import { Programs, TOKEN_NOTE } from './programs.js';
import { curl, problemOf, send } from './request.js';
import { mutation, typescriptOfWrite } from './snippets.js';
import { record } from './table.js';

const DRY_RUN_NOTE = 'A dry run changes nothing; remove dryRun to write.';
const NO_ID = 'The id is missing.';
const BROKEN = 'The server cannot be reached, or the connection broke off before the answer was whole.';
const BLANK = 'A dry run shows the row as it would be. Nothing is written before you choose “Write it”.';

export class Writes {
  /** `onWritten` is called after rows changed. */
  constructor({ resource, catalog, session, onWritten }) {
    Object.assign(this, { resource, catalog, session, onWritten, request: null, tried: null, before: null, fields: [] });
    const { write } = resource;
    this.forms = Object.keys(FORMS).filter((form) => write.operations.some(({ name }) => name === form));
    this.build();
    this.choose();
  }

  build() {
    const { write } = this.resource;
    this.form = element('select', { id: 'write-operation', onchange: () => this.choose() }, this.forms.map((form) => element('option', { value: form }, FORMS[form].label)));
    this.parts = write.key.map((name) => line(`write-key-${name}`, { 'aria-required': 'true', 'aria-describedby': 'write-faults', oninput: () => this.keyChanged() }));
    const keys = write.key.map((name, index) => element('span', { class: 'part' }, element('label', { for: `write-key-${name}` }, name), this.parts[index]));
    this.load = element('button', { type: 'button', onclick: () => this.loadRow() }, 'Load the row');
    this.identity = element('span', { class: 'identity' }, keys, this.load);
    this.faults = element('div', { id: 'write-faults' });
    this.entries = element('div', { class: 'entries' });
    this.tryIt = element('button', { type: 'submit', class: 'primary' }, 'Dry run');
    this.writeIt = element('button', { type: 'button', class: 'primary', id: 'write-it', hidden: true, onclick: () => this.write() }, 'Write it');
    const more = this.catalog.explain && pathOf(this.resource, 'explain') ? ['SQL'] : [];
    this.programs = new Programs(element('div', {}, this.entries, this.faults), (name) => this.program(name), { first: 'Form', more, prefix: 'write-' });
    this.status = element('p', { class: 'status', role: 'status' });
    this.shown = element('div', { class: 'outcome', tabindex: '-1', role: 'region', 'aria-label': 'Outcome of the write' });
    this.node = element(
      'section',
      { class: 'writes', 'aria-labelledby': 'writes-title' },
      element('h2', { id: 'writes-title' }, 'Write'),
      element(
        'form',
        { novalidate: true, onsubmit: (event) => { event.preventDefault(); this.dryRun(); } },
        element('div', { class: 'controls' }, element('span', { class: 'part' }, element('label', { for: 'write-operation' }, 'Operation'), this.form), this.identity),
        element('div', { class: 'work' }, this.programs.node, element('div', { class: 'answer' }, element('div', { class: 'status-line' }, this.tryIt, this.writeIt, this.status), this.shown)),
      ),
    );
  }

  /** Shows the inputs of the chosen operation. */
  choose() {
    const { write } = this.resource;
    const { operation } = FORMS[this.form.value];
    this.isById = this.form.value !== 'create';
    const taken = write.fields.filter((field) => field.operations.includes(operation));
    this.fields = taken.map((field) => new FieldInput(field, operation, () => this.changed()));
    this.version = operation === 'update' && write.version !== undefined ? line('write-version', { inputmode: 'numeric', 'aria-describedby': 'write-version-rules write-version-fault', oninput: () => this.changed() }) : null;
    this.expect = operation === 'update' || operation === 'delete' ? element('textarea', { id: 'write-expect', rows: '2', spellcheck: 'false', placeholder: '{"status": {"eq": "new"}}', 'aria-describedby': 'write-expect-rules write-expect-fault', oninput: () => this.changed() }) : null;
    this.identity.hidden = !this.isById;
    this.load.hidden = operation === 'restore' || pathOf(this.resource, 'findById') === undefined;
    this.entries.replaceChildren(
      ...[
        ...this.fields.map(({ node }) => node),
        this.version && entry(this.version, write.version, `The write fails if the row has another ${write.version} by now.`),
        this.expect && entry(this.expect, 'expect', 'A condition that the row must meet, as in "where". It may stay empty.'),
        !this.expect && this.fields.length === 0 && element('p', { class: 'hint' }, operation === 'create' ? 'A new row takes no value of yours.' : 'The key of a deleted row brings it back.'),
      ].filter(Boolean),
    );
    this.programs.select('Form');
    this.keyChanged();
  }

  /** Forgets the row that was loaded: the form is about another one. */
  keyChanged() {
    this.before = null;
    this.changed();
  }

  /** Forgets the dry run: the form says something else now. */
  changed() {
    this.end();
    this.tried = null;
    this.offer(false);
    this.status.className = 'status';
    this.status.textContent = '';
    this.shown.replaceChildren(element('p', { class: 'blank' }, BLANK));
    this.showFaults([]);
    this.programs.refresh();
  }

  /** What the form says: `{path, members, faults}`. Only a form without faults can be sent. */
  read() {
    const faults = [];
    const payload = [];
    for (const input of this.fields) {
      const value = input.value();
      if (value?.fault) faults.push({ path: `/payload/${pointerPart(input.field.name)}`, message: value.fault });
      else if (value) payload.push([input.field.name, value.json]);
    }
    if (this.version && this.version.value.trim() !== '') payload.push([this.resource.write.version, numberOf(this.version.value)]);
    const expect = this.expect && this.expect.value.trim() !== '' ? jsonOf(this.expect.value) : undefined;
    if (expect?.fault) faults.push({ path: '/expect', message: expect.fault });
    const values = this.isById ? this.parts.map((part) => part.value.trim()) : [];
    if (values.includes('')) faults.push({ path: '/id', message: NO_ID });
    const { operation } = FORMS[this.form.value];
    const members = { payload: operation === 'create' || operation === 'update' ? payload : undefined, expect: expect?.json };
    return { path: pathOfWrite(this.resource, this.form.value, values), values, members, faults };
  }

  /** The request as a program for a tab. */
  program(name) {
    const { path, values, members, faults } = this.read();
    if (name === 'SQL') return this.explain({ values, members, faults });
    if (faults.length > 0) return { message: faults[0].path === '/id' ? NO_ID : 'The form has a fault.' };
    const { isSignedIn } = this.session;
    const note = isSignedIn ? `${DRY_RUN_NOTE} ${TOKEN_NOTE}` : DRY_RUN_NOTE;
    const text = bodyOf(members, true);
    if (name === 'curl') return { text: curl(location.origin, path, text, isSignedIn), note };
    const about = { origin: location.origin, path, resource: this.resource, form: this.form.value, signedIn: isSignedIn };
    if (name === 'TypeScript') return { text: typescriptOfWrite({ ...about, text }, this.catalog), note };
    const written = mutation({ ...about, ...this.ofGraphql(values, members) }, this.catalog);
    if (!written) return { message: 'GraphQL has no name for this write.' };
    const state = new URLSearchParams(written.variables === '' ? { query: written.query } : written);
    return { text: written.query, more: written.variables, note: DRY_RUN_NOTE, link: `/graphql#${state}` };
  }

  /** The statements of the write, and the rule behind each condition. It changes nothing. */
  async explain({ values, members, faults }) {
    if (faults.length > 0) return { message: faults[0].path === '/id' ? NO_ID : 'The form has a fault.' };
    const id = this.isById ? `&id=${values.map((value) => encodeURIComponent(value)).join(',')}` : '';
    const path = `${pathOf(this.resource, 'explain')}?operation=${FORMS[this.form.value].operation}${id}`;
    try {
      const { ok, text } = await send(path, bodyOf(members, false), { session: this.session });
      if (ok) return { node: explained(text) };
      const { errors = [], detail = 'The server gave no reason.' } = problemOf(text);
      return { message: errors.length > 0 ? errors.map(({ path, message }) => `${path}: ${message}`).join(' · ') : detail };
    } catch {
      return { message: BROKEN };
    }
  }

  /** GraphQL takes the key of an update in the payload, and other keys as `id`. */
  ofGraphql(values, members) {
    const { key } = this.resource.write;
    if (this.form.value !== 'updateById') return { text: bodyOf(members, true), id: !this.isById ? undefined : values.length === 1 ? values[0] : values.map((value) => encodeURIComponent(value)).join(',') };
    const isNumber = (name) => ['int', 'bigint'].includes(this.resource.fields.find((field) => field.name === name)?.type);
    const id = key.map((name, index) => [name, isNumber(name) ? numberOf(values[index]) : JSON.stringify(values[index])]);
    return { text: bodyOf({ ...members, payload: [...id, ...members.payload] }, true) };
  }

  /** Opens a form for the row with a key, and loads the row. */
  async open(form, key) {
    this.form.value = form;
    this.choose();
    this.parts.forEach((part, index) => { part.value = key[index]; });
    this.node.scrollIntoView({ block: 'start' });
    this.form.focus({ preventScroll: true });
    if (!this.load.hidden) await this.loadRow();
  }

  /** Reads the row with the key, and shows its values in the inputs. */
  async loadRow() {
    const values = this.parts.map((part) => part.value.trim());
    if (values.includes('')) {
      this.showFaults([{ path: '/id', message: NO_ID }]);
      return;
    }
    this.changed();
    await this.send(pathOfRow(this.resource, values), '{}', 'Loading the row…', ({ text }) => {
      const { root } = parse(text);
      const isMasked = ({ field }) => this.resource.fields.some(({ name, mask }) => name === field.name && mask);
      for (const input of this.fields) {
        if (!isMasked(input)) input.show(member(root, input.field.name), text);
      }
      this.showVersion(root, text);
      this.before = valuesOf(root, text);
      this.outcome('', 'Loaded · change what you want to change', root, text);
    });
  }

  /** The version of the row that a person has seen is the one that a change or a delete expects. */
  showVersion(root, text) {
    const name = this.resource.write.version;
    const node = name && member(root, name);
    if (!node) return;
    const number = text.slice(node.start, node.end);
    if (this.version) this.version.value = number;
    else if (this.expect) this.expect.value = `{${JSON.stringify(name)}: {"eq": ${number}}}`;
    this.programs.refresh();
  }

  async dryRun() {
    const { path, members, faults } = this.read();
    this.changed();
    if (faults.length > 0) {
      this.outcome('bad', 'Not sent');
      this.showFaults(faults);
      return;
    }
    await this.send(path, bodyOf(members, true), 'Trying…', ({ status, text, milliseconds }) => {
      this.tried = { path, body: bodyOf(members, false) };
      const { root } = parse(text);
      const what = this.form.value === 'deleteById' ? 'the row that would be deleted' : 'the row as it would be';
      this.outcome('good', `Dry run · ${status} · ${what} · ${milliseconds} ms`, root, text, this.before);
      this.offer(true);
      announce(`The dry run succeeded: ${what}`);
    });
  }

  /** Shows or hides the button that writes. The other button is then the lesser one. */
  offer(isTried) {
    this.writeIt.hidden = !isTried;
    this.tryIt.className = isTried ? '' : 'primary';
  }

  /** Sends the request that the dry run tried. */
  async write() {
    const { tried } = this;
    if (!tried) return;
    // The same request is not written twice.
    this.tried = null;
    const form = this.form.value;
    const hadFocus = document.activeElement === this.writeIt;
    this.offer(false);
    if (hadFocus) this.shown.focus({ preventScroll: true });
    const broken = `${BROKEN} The write may have happened: read the row before you try again.`;
    await this.send(tried.path, tried.body, 'Writing…', ({ status, text, milliseconds }) => {
      const { root } = parse(text);
      const done = { create: 'Created', updateById: 'Changed', deleteById: 'Deleted', restoreById: 'Restored' }[form];
      this.takeKey(root, text);
      this.showVersion(root, text);
      const { before } = this;
      this.before = form === 'updateById' ? valuesOf(root, text) : null;
      this.outcome('good', `${done} · ${status} · ${milliseconds} ms`, root, text, before);
      announce(done);
      this.onWritten();
    }, broken);
  }

  /** The next write probably means the row of this one. */
  takeKey(root, text) {
    this.resource.write.key.forEach((name, index) => {
      const node = member(root, name);
      if (node) this.parts[index].value = node.kind === 'string' ? node.value : text.slice(node.start, node.end);
    });
  }

  /** Sends a request. The answer to an earlier one is no longer shown. */
  async send(path, body, line, onSuccess, broken = BROKEN) {
    this.end();
    const controller = new AbortController();
    this.request = controller;
    this.outcome('', line);
    this.tryIt.disabled = true;
    try {
      const answer = await send(path, body, { session: this.session, signal: controller.signal });
      if (this.request !== controller) return;
      if (answer.ok) onSuccess(answer);
      else this.refused(answer);
    } catch {
      if (this.request === controller) this.outcome('bad', 'No whole answer', null, broken);
    } finally {
      if (this.request === controller) this.end();
    }
  }

  refused({ status, text }) {
    const problem = problemOf(text);
    const faults = problem.errors ?? [];
    const detail = problem.detail ?? 'The server gave no reason.';
    this.outcome('bad', `${status} · ${problem.title ?? 'refused'}`, null, faults.length > 0 ? `${counted(faults.length, 'fault')}, shown in the form. Nothing was written.` : `${detail}. Nothing was written.`);
    this.showFaults(faults);
  }

  /** Shows a row, or a text in its place. `before` are the values of the row before, to mark what changed. */
  outcome(kind, line, root, text, before) {
    this.status.className = `status ${kind}`.trim();
    this.status.textContent = line;
    if (root) this.shown.replaceChildren(element('div', { class: 'scroll', role: 'region', 'aria-label': 'Row', tabindex: '0' }, record(root, text, { before: this.form.value === 'updateById' ? before : undefined })), json(root, text));
    else if (text) this.shown.replaceChildren(element('p', { class: 'blank' }, text));
  }

  /** Shows each fault beside its input; the others are listed. */
  showFaults(faults) {
    for (const input of this.fields) input.mark('');
    for (const input of [...this.parts, this.version, this.expect].filter(Boolean)) mark(input, '');
    const placed = faults.map((fault) => ({ fault, input: this.inputAt(fault.path) }));
    for (const { fault, input } of placed) input?.mark(fault.message);
    const others = placed.filter(({ input }) => !input).map(({ fault }) => fault);
    this.faults.replaceChildren(...(others.length > 0 ? [element('ul', { class: 'faults', 'aria-label': 'Faults' }, others.map(({ path, message, code }) => element('li', { class: 'fault-line' }, element('code', {}, path), ' ', message, ' ', code && element('code', {}, code))))] : []));
    if (faults.length === 0) return;
    this.programs.select('Form');
    const lacksId = faults.some(({ path }) => path === '/id');
    for (const part of lacksId ? this.parts : []) part.setAttribute('aria-invalid', 'true');
    const first = lacksId ? this.parts[0] : placed.find(({ input }) => input)?.input;
    first?.focus();
    announce(`${counted(faults.length, 'fault')}: ${faults[0].message}`);
  }

  /** The input that a JSON Pointer leads to: `{mark, focus}`, or undefined. */
  inputAt(path) {
    const name = fieldOf(path);
    const field = this.fields.find((input) => input.field.name === name);
    if (field) return { mark: (message) => field.mark(message), focus: () => field.input.focus() };
    const input = segments(path)[0] === 'expect' ? this.expect : name !== undefined && name === this.resource.write.version ? this.version : null;
    return input ? { mark: (message) => mark(input, message), focus: () => input.focus() } : undefined;
  }

  /** Ends the request silently. */
  end() {
    const { request } = this;
    this.request = null;
    this.tryIt.disabled = false;
    request?.abort();
  }

  close() {
    this.end();
  }
}

/** The values of a row by their names, as JSON. */
function valuesOf(root, text) {
  return new Map((root?.members ?? []).map(({ key, value }) => [key.value, compact(value, text)]));
}

function line(id, attributes) {
  return element('input', { type: 'text', id, autocomplete: 'off', spellcheck: 'false', ...attributes });
}

function entry(input, name, rules) {
  return element(
    'div',
    { class: 'entry', 'data-write': name },
    element('label', { for: input.id }, element('code', {}, name)),
    element('span', { class: 'given' }, input),
    element('p', { class: 'hint', id: `${input.id}-rules` }, rules),
    element('p', { class: 'fault-text', id: `${input.id}-fault` }),
  );
}

/** Shows a fault beside an input that is no field. */
function mark(input, message) {
  const place = document.getElementById(`${input.id}-fault`);
  if (place) place.textContent = message;
  if (message === '') input.removeAttribute('aria-invalid');
  else input.setAttribute('aria-invalid', 'true');
}

function json(root, text) {
  const written = pretty(root, text);
  return element('details', {}, element('summary', {}, 'JSON'), element('pre', { class: 'json', tabindex: '0', 'aria-label': 'Row as JSON' }, colouredJson(written)));
}

const pointerPart = (name) => name.replaceAll('~', '~0').replaceAll('/', '~1');
