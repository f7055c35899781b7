// The answer in the playground: tabs for the table, the JSON and the SQL, and a status line.

import { copyButton, counted, element } from './dom.js';
import { explained } from './explain.js';
import { valuesIn } from './examples.js';
import { member, parse, pretty } from './json.js';
import { colouredJson } from './paint.js';
import { record, rowsTable } from './table.js';

/** Bytes of an answer that is shown without a click: the browser holds it as a tree. */
const MAX_SHOWN_BYTES = 8 * 1024 * 1024;
/** Characters of JSON that are drawn at once. */
const MAX_DRAWN = 200_000;
/** The examples use values of this many rows. */
const MAX_SAMPLED = 50;
/** The tabs of each request: one for the rows, one for the SQL. */
const SIDES = { rows: ['Table', 'JSON'], sql: ['SQL'] };

export class Answer {
  /** `onSql` is called when the SQL tab is opened; `canExplain` says whether there is one. */
  constructor({ canExplain, onSql }) {
    this.onSql = onSql;
    this.outcomes = { rows: { kind: '', line: '' }, sql: { kind: '', line: '' } };
    this.status = element('p', { class: 'status', role: 'status' });
    this.cancel = element('button', { type: 'button', class: 'small', hidden: true, onclick: () => this.outcomes[this.side].cancel?.() }, 'Cancel');
    this.tools = element('span', { class: 'tools' });
    const turn = (name, words) => element('button', { type: 'button', class: 'small', disabled: true, onclick: () => this.pages?.[name]?.() }, words);
    this.pageButtons = { previous: turn('previous', 'Previous page'), next: turn('next', 'Next page') };
    this.pager = element('span', { class: 'pager', role: 'group', 'aria-label': 'Pages', hidden: true }, Object.values(this.pageButtons));
    const names = canExplain ? ['Table', 'JSON', 'SQL'] : ['Table', 'JSON'];
    this.tabs = names.map((name) =>
      element('button', { type: 'button', role: 'tab', id: `tab-${name}`, 'aria-controls': `panel-${name}`, onclick: () => this.select(name) }, name),
    );
    this.panels = names.map((name) => element('div', { role: 'tabpanel', id: `panel-${name}`, 'aria-labelledby': `tab-${name}`, tabindex: '0' }));
    const list = element('div', { role: 'tablist', 'aria-label': 'Answer', onkeydown: (event) => this.key(event) }, this.tabs);
    this.node = element('div', { class: 'answer' }, element('div', { class: 'bar' }, list, this.tools), element('div', { class: 'status-line' }, this.status, this.cancel, this.pager), this.panels);
    this.select('Table', 'quietly');
    this.blank('rows', 'Run the statement to see rows here.');
  }

  /** Brings the answer into sight, if the window shows nothing of its rows. */
  reveal() {
    const { top } = this.node.getBoundingClientRect();
    if (top > window.innerHeight * 0.7 || top < 0) this.node.scrollIntoView({ block: 'start' });
  }

  get selected() {
    return this.tabs.find((tab) => tab.getAttribute('aria-selected') === 'true').textContent;
  }

  get side() {
    return this.selected === 'SQL' ? 'sql' : 'rows';
  }

  panel(name) {
    return this.panels.find((panel) => panel.id === `panel-${name}`);
  }

  select(name, how) {
    for (const [index, tab] of this.tabs.entries()) {
      const chosen = tab.textContent === name;
      tab.setAttribute('aria-selected', String(chosen));
      tab.tabIndex = chosen ? 0 : -1;
      this.panels[index].hidden = !chosen;
    }
    // These tools are for the rows; the SQL has its own buttons.
    this.tools.hidden = name === 'SQL';
    this.pager.hidden = this.tools.hidden || !this.hasPages;
    this.showStatus();
    if (name === 'SQL' && how !== 'quietly') this.onSql();
  }

  key(event) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const index = this.tabs.findIndex((tab) => tab.getAttribute('aria-selected') === 'true');
    const next = this.tabs[(index + step + this.tabs.length) % this.tabs.length];
    this.select(next.textContent);
    next.focus();
    event.preventDefault();
  }

  blank(side, text) {
    if (side === 'rows') this.tools.replaceChildren();
    for (const name of SIDES[side]) this.panel(name).replaceChildren(element('p', { class: 'blank' }, text));
  }

  /** Sets the outcome of a request: `{kind, line, cancel}`; only a running request has `cancel`. */
  setOutcome(side, outcome) {
    this.outcomes[side] = outcome;
    for (const name of SIDES[side]) {
      if (outcome.cancel) this.panel(name).setAttribute('aria-busy', 'true');
      else this.panel(name).removeAttribute('aria-busy');
    }
    if (side === this.side) this.showStatus();
  }

  /** Shows the status of the selected tab. */
  showStatus() {
    const { kind, line, cancel } = this.outcomes[this.side];
    this.status.className = `status ${kind}`.trim();
    // A screen reader would read the same text again.
    if (this.status.textContent !== line) this.status.textContent = line;
    const losesFocus = !cancel && document.activeElement === this.cancel;
    this.cancel.hidden = !cancel;
    // A hidden button must not keep the focus.
    if (losesFocus) this.panel(this.selected).focus({ preventScroll: true });
  }

  /** Offers the pages beside the rows, `{previous, next}`. The focus goes on to what is left. */
  showPages(pages) {
    const focused = Object.values(this.pageButtons).find((button) => button === document.activeElement);
    this.pages = pages;
    for (const [name, button] of Object.entries(this.pageButtons)) button.disabled = !pages?.[name];
    this.pager.hidden = this.tools.hidden || !this.hasPages;
    if (!focused || (!focused.disabled && !this.pager.hidden)) return;
    const other = Object.values(this.pageButtons).find((button) => !button.disabled);
    (other ?? this.panel(this.selected)).focus({ preventScroll: true });
  }

  get hasPages() {
    return Object.values(this.pageButtons).some((button) => !button.disabled);
  }

  /** While a request runs. */
  busy(side, cancel) {
    // A page that is on its way is not turned again.
    if (side === 'rows') this.pages = null;
    this.setOutcome(side, { kind: '', line: side === 'sql' ? 'Asking for the SQL…' : 'Running…', cancel });
  }

  progress(side, bytes) {
    this.setOutcome(side, { ...this.outcomes[side], line: `Receiving… ${size(bytes)}` });
  }

  /** Shows why a request failed. The other side stays. */
  failed(side, line, detail) {
    this.setOutcome(side, { kind: 'bad', line });
    this.blank(side, detail);
    if (side === 'rows') this.showPages(null);
  }

  /** Shows a successful answer; `scope` is that of `rowsTable`, `pages` are those beside it. Returns a line about it. */
  rows({ status, text, bytes, milliseconds }, { scope, pages }) {
    const done = (what) => this.setOutcome('rows', { kind: 'good', line: [status, what, `${milliseconds} ms`, size(bytes)].filter((part) => part !== '').join(' · ') });
    this.valuesOf = undefined;
    this.showPages(pages);
    const save = element('button', { type: 'button', class: 'small', onclick: () => download(text) }, 'Download');
    this.tools.replaceChildren(copyButton(() => text, 'the answer'), save);
    if (bytes <= MAX_SHOWN_BYTES) {
      const what = this.draw(text, scope, pages);
      done(what);
      return what;
    }
    done('');
    const show = () => {
      done(this.draw(text, scope, pages));
      this.panel('Table').focus({ preventScroll: true });
    };
    const anyway = element('button', { type: 'button', onclick: show }, 'Show it anyway');
    const notice = element('p', {}, 'Nothing was cut, but drawing it may take a while. A limit keeps answers short: "limit": 100. ');
    this.panel('Table').replaceChildren(element('div', { class: 'blank' }, element('p', {}, `The answer has ${size(bytes)}.`), notice, anyway));
    this.panel('JSON').replaceChildren(element('p', { class: 'blank' }, 'See the table’s tab, or download it.'));
    return size(bytes);
  }

  /** Draws an answer. Returns the number of rows as a text. */
  draw(text, scope, pages) {
    const { root, faults } = parse(text);
    if (!root || faults.length > 0) {
      this.panel('Table').replaceChildren(element('p', { class: 'blank' }, 'The answer cannot be shown as a table.'));
      this.panel('JSON').replaceChildren(json(text));
      return '';
    }
    this.panel('JSON').replaceChildren(json(pretty(root, text)));
    const listed = root.kind === 'array' ? root : member(root, 'rows');
    if (listed?.kind !== 'array' || (root.kind === 'object' && !member(root, 'total') && !member(root, 'next'))) {
      this.panel('Table').replaceChildren(element('div', { class: 'scroll', role: 'region', 'aria-label': 'Row', tabindex: '0' }, record(root, text, { scope })));
      this.valuesOf = valuesIn([root], text);
      return '1 row';
    }
    const rows = listed.items.map(({ value }) => value);
    if (scope) this.valuesOf = valuesIn(rows.slice(0, MAX_SAMPLED), text);
    this.panel('Table').replaceChildren(rows.length > 0 ? rowsTable(rows, text, { scope }) : element('p', { class: 'blank' }, 'No rows match.'));
    const total = member(root, 'total');
    const of = total ? ` of ${Number(text.slice(total.start, total.end)).toLocaleString('en')}` : '';
    const end = member(root, 'next') && !pages?.next ? ' · no more pages' : '';
    const first = rows.length > 0 ? pages?.first ?? 1 : 1;
    const last = (first + rows.length - 1).toLocaleString('en');
    return first > 1 ? `rows ${first.toLocaleString('en')} to ${last}${of}` : `${counted(rows.length, 'row')}${of}${end}`;
  }

  /** Shows the SQL of an answer of `…/explain`, below a note if there is one. */
  sql({ status, milliseconds, text }, note) {
    this.panel('SQL').replaceChildren(...[note && element('p', { class: 'hint' }, note), explained(text)].filter(Boolean));
    this.setOutcome('sql', { kind: 'good', line: `${status} · SQL · ${milliseconds} ms` });
  }
}

function json(text) {
  const shown = element('pre', { class: 'json', tabindex: '0', 'aria-label': 'Answer as JSON' }, colouredJson(text.slice(0, MAX_DRAWN)));
  if (text.length <= MAX_DRAWN) return shown;
  const show = () => {
    shown.textContent = text;
    more.remove();
    shown.closest('[role=tabpanel]').focus({ preventScroll: true });
  };
  const all = element('button', { type: 'button', onclick: show }, 'Show all of it');
  const more = element('p', { class: 'more' }, `The first ${MAX_DRAWN.toLocaleString('en')} of ${counted(text.length, 'character')} are shown. `, all);
  return element('div', {}, shown, more);
}

function size(bytes) {
  if (bytes < 1024) return `${bytes} B`;
  return bytes < 1024 * 1024 ? `${(bytes / 1024).toFixed(1)} KiB` : `${(bytes / 1024 / 1024).toFixed(1)} MiB`;
}

function download(text) {
  const url = URL.createObjectURL(new Blob([text], { type: 'application/json' }));
  const link = element('a', { href: url, download: 'answer.json' });
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
