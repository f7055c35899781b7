// The editor of the statement: a text area with a coloured copy behind it, line numbers, marks and suggestions.

import { complete } from './complete.js';
import { element } from './dom.js';
import { parse } from './json.js';
import { lineAndColumn, placeAt } from './pointer.js';
import { paint, rectangleAt } from './paint.js';
import { Suggestions } from './suggestions.js';

const PAIRS = { '{': '}', '[': ']', '"': '"' };
const MIN_LINES = 5;
const MAX_LINES = 24;

export class Editor {
  /**
   * `scope()` gives `{resource, catalog}` for suggestions, and none without it; `onInput` is called on every change, `onRun` on Ctrl+Enter.
   * `language` colours a text that is no JSON. `id` is that of the text area, `describedBy` those of its descriptions.
   */
  constructor({ scope, onInput, onRun, language, id = 'statement', describedBy = 'statement-hint faults' }) {
    Object.assign(this, { scope, onInput, onRun, language, marks: [], lines: [], writing: false });
    this.area = element('textarea', {
      id,
      spellcheck: 'false',
      autocomplete: 'off',
      autocapitalize: 'off',
      autocorrect: 'off',
      wrap: 'off',
      'aria-describedby': describedBy,
    });
    this.suggestions = new Suggestions(this.area, (option) => this.accept(option));
    this.paper = element('div', { class: 'paper', 'aria-hidden': 'true' });
    this.numbers = element('div', { class: 'numbers', 'aria-hidden': 'true' });
    this.node = element('div', { class: 'editor' }, element('div', { class: 'gutter' }, this.numbers), element('div', { class: 'surface' }, this.paper, this.area), this.suggestions.list);
    this.listen();
  }

  listen() {
    const { area } = this;
    area.addEventListener('input', (event) => this.changed(event));
    area.addEventListener('beforeinput', (event) => this.pair(event));
    area.addEventListener('keydown', (event) => this.key(event));
    area.addEventListener('scroll', () => this.scrolled());
    area.addEventListener('blur', () => this.suggestions.close());
    area.addEventListener('click', () => this.suggestions.close());
  }

  get text() {
    return this.area.value;
  }

  /** Replaces the whole text, as when another resource is chosen. */
  set text(text) {
    this.area.value = text;
    this.suggestions.close();
    this.mark([]);
  }

  /** Shows marks `{start, end, message}` in the text. */
  mark(marks) {
    this.marks = marks;
    this.area.setAttribute('aria-invalid', String(marks.length > 0));
    this.draw();
  }

  /** Puts the cursor at an offset, in sight. */
  focusAt(offset) {
    this.area.focus();
    this.area.setSelectionRange(offset, offset);
    const { line, column } = lineAndColumn(this.text, offset);
    const height = this.lines[0]?.offsetHeight ?? 20;
    const top = (line - 1) * height;
    if (top < this.area.scrollTop || top + height * 2 > this.area.scrollTop + this.area.clientHeight) {
      this.area.scrollTop = Math.max(0, top - this.area.clientHeight / 2);
    }
    const left = rectangleAt(this.lines[line - 1], column - 1).left - this.paper.getBoundingClientRect().left;
    if (left < this.area.scrollLeft + height || left + height * 2 > this.area.scrollLeft + this.area.clientWidth) {
      this.area.scrollLeft = Math.max(0, left - this.area.clientWidth / 2);
    }
  }

  draw() {
    this.lines = paint(this.text, this.marks, this.language);
    this.paper.replaceChildren(...this.lines);
    this.numbers.replaceChildren(
      ...this.lines.map((line, index) => element('span', { class: line.classList.contains('faulty') ? 'faulty' : undefined }, String(index + 1))),
    );
    const shown = Math.max(MIN_LINES, Math.min(this.lines.length + 1, MAX_LINES));
    this.node.style.setProperty('--lines', String(shown));
    this.scrolled();
  }

  scrolled() {
    this.paper.style.transform = `translate(${-this.area.scrollLeft}px, ${-this.area.scrollTop}px)`;
    this.numbers.style.transform = `translateY(${-this.area.scrollTop}px)`;
  }

  changed(event) {
    // The marks belong to the text before.
    this.marks = [];
    this.area.setAttribute('aria-invalid', 'false');
    this.draw();
    this.onInput();
    if (this.writing) return;
    const typed = event.inputType === 'insertText' && /\S/.test(event.data ?? '');
    const shortened = event.inputType?.startsWith('delete') && this.suggestions.isOpen;
    if (typed || shortened) this.suggest('typing');
    else this.suggestions.close();
  }

  /** Opens the suggestions. While typing, only inside a word or its quotes. */
  suggest(occasion) {
    if (!this.scope) return;
    const cursor = this.area.selectionStart;
    const found = cursor === this.area.selectionEnd ? complete(this.text, cursor, this.scope()) : null;
    const isWord = found && found.to > found.from;
    const isDone = found?.options.length === 1 && found.options[0].label === found.typed;
    if (!found || (occasion === 'typing' && (!isWord || isDone))) {
      this.suggestions.close();
      return;
    }
    this.range = { from: found.from, to: found.to };
    const { line, column } = lineAndColumn(this.text, found.from);
    this.suggestions.open(found.options, rectangleAt(this.lines[line - 1], column - 1));
  }

  accept(option) {
    this.suggestions.close();
    const { from } = this.range;
    this.write(from, this.range.to, option.text, from + option.cursor);
    // The cursor is often where the next word belongs.
    if (option.cursor < option.text.length) this.suggest('accepted');
  }

  /** Replaces a range so that it can be undone. */
  write(from, to, text, cursor) {
    this.area.focus();
    this.area.setSelectionRange(from, to);
    this.writing = true;
    const done = text === '' ? document.execCommand('delete') : document.execCommand('insertText', false, text);
    if (!done) {
      this.area.setRangeText(text, from, to, 'end');
      this.area.dispatchEvent(new InputEvent('input', { inputType: 'insertReplacementText' }));
    }
    this.writing = false;
    this.area.setSelectionRange(cursor, cursor);
  }

  key(event) {
    if (event.isComposing) return;
    if (this.suggestions.key(event)) return;
    const command = event.ctrlKey || event.metaKey;
    if (command && event.key === 'Enter') {
      event.preventDefault();
      this.suggestions.close();
      this.onRun();
    } else if (command && event.code === 'Space') {
      event.preventDefault();
      this.suggest('shortcut');
    } else if (event.key === 'Enter' && !event.shiftKey && !event.altKey) {
      event.preventDefault();
      this.breakLine();
    } else if (event.key === 'Backspace' && !command) {
      this.unpair(event);
    } else if (event.key.startsWith('Arrow') || event.key === 'Home' || event.key === 'End') {
      this.suggestions.close();
    }
  }

  /** A new line keeps its indentation, and opens a pair of brackets. */
  breakLine() {
    const { selectionStart: from, selectionEnd: to } = this.area;
    const before = this.text.slice(0, from);
    const indent = /^[ \t]*/.exec(before.slice(before.lastIndexOf('\n') + 1))[0];
    const opens = /[{[]\s*$/.test(before);
    const closes = /^[ \t]*[}\]]/.test(this.text.slice(to));
    const inner = `\n${indent}${opens ? '  ' : ''}`;
    this.write(from, to, opens && closes ? `${inner}\n${indent}` : inner, from + inner.length);
  }

  /** Typing a bracket or quote adds its other half, or steps over one that is there. */
  pair(event) {
    if (this.writing || event.inputType !== 'insertText' || event.isComposing) return;
    const { selectionStart: from, selectionEnd: to } = this.area;
    const next = this.text[to] ?? '';
    const inText = this.inText(from);
    const typed = event.data;
    const steps = from === to && next === typed && (typed === '"' ? inText : ['}', ']'].includes(typed) && !inText);
    if (steps) {
      event.preventDefault();
      this.area.setSelectionRange(to + 1, to + 1);
      this.suggestions.close();
    } else if (Object.hasOwn(PAIRS, typed ?? '') && !inText && /^[\s,}\]]?$/.test(next)) {
      event.preventDefault();
      this.write(from, to, typed + PAIRS[typed], from + 1);
      if (typed === '"') this.suggest('typing');
    }
  }

  unpair(event) {
    const { selectionStart: at, selectionEnd: to } = this.area;
    const around = this.text.slice(at - 1, at + 1);
    if (at === to && ['{}', '[]', '""'].includes(around)) {
      event.preventDefault();
      this.write(at - 1, at + 1, '', at - 1);
    }
  }

  /** Whether a cursor is between quotes. */
  inText(cursor) {
    if (this.language) return (this.text.slice(this.text.lastIndexOf('\n', cursor - 1) + 1, cursor).match(/(?<!\\)"/g) ?? []).length % 2 === 1;
    const place = placeAt(parse(this.text).root, this.text, cursor);
    return place !== null && this.text[place.from] === '"' && place.from < cursor;
  }
}
