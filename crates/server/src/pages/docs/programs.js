// The tabs beside the statement, and beside the form of a write: the same request as curl, TypeScript and GraphQL, to copy; and more.

import { copyButton, element } from './dom.js';
import { colouredJson } from './paint.js';

const NAMES = ['curl', 'TypeScript', 'GraphQL'];
export const TOKEN_NOTE = 'TOKEN is an environment variable with an access token.';

export class Programs {
  /**
   * `editor` is the panel of the first tab, which `first` names; `write(name)` gives a program as `{text, more, note, link}`, a message,
   * or a `node`, at once or later. `more` are the names of further tabs. `prefix` keeps the ids of two groups of tabs apart.
   */
  constructor(editor, write, { first = 'Statement', more = [], prefix = '' } = {}) {
    Object.assign(this, { write, first, names: [first, ...NAMES, ...more], last: 0 });
    this.tabs = this.names.map((name) =>
      element('button', { type: 'button', role: 'tab', id: `${prefix}program-${name}`, 'aria-controls': `${prefix}source-${name}`, onclick: () => this.select(name) }, name),
    );
    this.panels = this.names.map((name) => element('div', { role: 'tabpanel', id: `${prefix}source-${name}`, 'aria-labelledby': `${prefix}program-${name}` }));
    this.panels[0].append(editor);
    this.list = element('div', { role: 'tablist', 'aria-label': first, onkeydown: (event) => this.key(event) }, this.tabs);
    this.node = element('div', { class: 'programs' }, element('div', { class: 'bar' }, this.list), this.panels);
    this.select(first);
  }

  get selected() {
    return this.tabs.find((tab) => tab.getAttribute('aria-selected') === 'true').textContent;
  }

  select(name) {
    for (const [index, tab] of this.tabs.entries()) {
      const chosen = tab.textContent === name;
      tab.setAttribute('aria-selected', String(chosen));
      tab.tabIndex = chosen ? 0 : -1;
      this.panels[index].hidden = !chosen;
    }
    this.refresh();
  }

  /** Writes the program of the selected tab again, after the statement has changed. */
  async refresh() {
    const name = this.selected;
    if (name === this.first) return;
    this.last += 1;
    const { last } = this;
    const panel = this.panels[this.names.indexOf(name)];
    const show = (program) => panel.replaceChildren(...(program.message ? [element('p', { class: 'blank' }, program.message)] : program.node ? [program.node] : parts(name, program)));
    const program = this.write(name);
    if (!(program instanceof Promise)) {
      show(program);
      return;
    }
    show({ message: 'Loading…' });
    const loaded = await program;
    // A newer program replaces one that is on its way.
    if (this.last === last) show(loaded);
  }

  key(event) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const next = this.tabs[(this.names.indexOf(this.selected) + step + this.names.length) % this.names.length];
    this.select(next.textContent);
    next.focus();
    event.preventDefault();
  }
}

function parts(name, { text, more, note, link }) {
  return [
    code(text, coloured(text), name),
    more && element('h3', {}, 'Variables'),
    more && code(more, colouredJson(more), 'Variables'),
    (note || link) && element('p', { class: 'hint' }, note, note && ' ', link && element('a', { href: link }, 'Open in the GraphQL editor')),
  ].filter(Boolean);
}

const TOKEN = /'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`[^`]*`|\b\d+(?:\.\d+)?\b|[A-Za-z_$][\w$]*|[^]/g;
const WORDS = new Set(['await', 'const', 'curl', 'false', 'if', 'mutation', 'new', 'null', 'query', 'throw', 'true', 'type', 'unknown', 'string', 'number', 'boolean']);

/** A program in coloured pieces. A word is no keyword right before a colon. */
function coloured(text) {
  return [...text.matchAll(TOKEN)].map(({ 0: piece, index }) => {
    const isKey = text[index + piece.length] === ':';
    const kind = /^['"`]/.test(piece) && piece.length > 1 ? (isKey ? 'key' : 'string') : /^\d/.test(piece) ? 'number' : WORDS.has(piece) && !isKey ? 'keyword' : '';
    return kind === '' ? piece : element('span', { class: kind }, piece);
  });
}

function code(text, shown, name) {
  return element('div', { class: 'code' }, element('pre', { tabindex: '0', 'aria-label': name }, shown), copyButton(() => text, name));
}
