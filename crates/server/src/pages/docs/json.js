// Parses JSON to a tree with offsets. It never gives up: an unfinished text gives a tree with gaps, and a list of
// faults.
//
// A node is {kind, start, end} with
//   object: members [{key, colon, value, comma}], closed     array: items [{value, comma}], closed
//   string: value, closed                                    number, literal: the text between start and end
// `colon` and `comma` are offsets, -1 where there is none; `value` is null where it is missing.

const MAX_DEPTH = 500;
/** The length of a line of `pretty`. */
const MAX_WIDTH = 68;
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const WORD = /[^\s{}[\],:"]+/y;
const SPACE = /[ \t\n\r]*/y;
const PLAIN = /[^"\\\u0000-\u001f]*/y;

/** The tree of a text: `{root, faults: [{start, end, message}]}`; an empty text has no root and no faults. */
export function parse(text) {
  const reader = new Reader(text);
  reader.space();
  if (reader.at === text.length) return { root: null, faults: [] };
  const root = reader.value(0);
  reader.space();
  if (reader.at < text.length) reader.fault(reader.at, text.length, 'nothing may follow the end of the statement');
  return { root, faults: reader.faults };
}

class Reader {
  constructor(text) {
    this.text = text;
    this.at = 0;
    this.faults = [];
  }

  fault(start, end, message) {
    this.faults.push({ start, end: Math.max(end, start), message });
  }

  match(pattern) {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text);
    return found ? found[0] : '';
  }

  space() {
    this.at += this.match(SPACE).length;
  }

  value(depth) {
    const start = this.at;
    const first = this.text[start];
    if (depth > MAX_DEPTH) {
      this.fault(start, start + 1, `nested more than ${MAX_DEPTH} levels deep`);
      this.at = this.text.length;
      return { kind: 'literal', start, end: this.at };
    }
    if (first === '{') return this.object(depth);
    if (first === '[') return this.array(depth);
    if (first === '"') return this.string();
    const word = this.match(WORD);
    if (word === '') return null;
    this.at += word.length;
    if (word === 'true' || word === 'false' || word === 'null') return { kind: 'literal', start, end: this.at };
    NUMBER.lastIndex = start;
    const number = NUMBER.exec(this.text);
    if (!number || number[0].length !== word.length) {
      this.fault(start, this.at, /^[-+.\d]/.test(word) ? `${word} is not a number` : `${word} is not a value; put a string in double quotes`);
    }
    return { kind: /^[-\d]/.test(word) ? 'number' : 'literal', start, end: this.at };
  }

  string() {
    const { text } = this;
    const start = this.at;
    let plain = true;
    this.at += 1;
    for (;;) {
      this.at += this.match(PLAIN).length;
      const next = text[this.at];
      if (next === '"') {
        this.at += 1;
        const inner = text.slice(start + 1, this.at - 1);
        return { kind: 'string', start, end: this.at, closed: true, value: plain ? inner : decode(inner) };
      }
      if (next === '\\') {
        plain = false;
        this.escape();
        continue;
      }
      // A string ends with its line, so that a missing quote does not swallow the rest.
      if (next === undefined || next === '\n' || next === '\r') break;
      this.fault(this.at, this.at + 1, 'write a control character as an escape, such as \\t');
      this.at += 1;
    }
    this.fault(start, this.at, 'the closing quote is missing');
    const inner = text.slice(start + 1, this.at);
    return { kind: 'string', start, end: this.at, closed: false, value: plain ? inner : decode(inner) };
  }

  escape() {
    const start = this.at;
    const letter = this.text[start + 1];
    if (letter === 'u' && /^[0-9a-fA-F]{4}$/.test(this.text.slice(start + 2, start + 6))) {
      this.at += 6;
    } else {
      if (letter === undefined || !'"\\/bfnrt'.includes(letter)) this.fault(start, start + 2, 'no such escape');
      this.at += letter === undefined || letter === '\n' ? 1 : 2;
    }
  }

  object(depth) {
    const node = { kind: 'object', start: this.at, end: 0, members: [], closed: false };
    this.at += 1;
    for (;;) {
      this.space();
      const start = this.at;
      const next = this.text[start];
      const last = node.members.at(-1);
      if (this.ends(node, next, '}', last)) return node;
      if (next === ',' || next === ':') {
        this.fault(start, start + 1, `a key in double quotes is expected before ${next === ',' ? 'a comma' : 'a colon'}`);
        this.at += 1;
        continue;
      }
      if (last && last.comma < 0) this.fault(start, start + 1, 'a comma is missing before this');
      const key = next === '"' ? this.string() : this.bareKey();
      if (!key) continue;
      const member = { key, colon: -1, value: null, comma: -1 };
      node.members.push(member);
      this.space();
      if (this.text[this.at] === ':') {
        member.colon = this.at;
        this.at += 1;
        this.space();
        member.value = this.value(depth + 1);
        if (!member.value) this.fault(member.colon, member.colon + 1, 'a value is missing after the colon');
      } else {
        this.fault(key.start, key.end, 'a colon and a value are missing after this key');
      }
      member.comma = this.comma();
    }
  }

  bareKey() {
    const start = this.at;
    const word = this.match(WORD);
    if (word === '') {
      this.fault(start, start + 1, 'a key in double quotes is expected');
      this.at += 1;
      return null;
    }
    this.at += word.length;
    this.fault(start, this.at, 'put a key in double quotes');
    return { kind: 'string', start, end: this.at, closed: true, bare: true, value: word };
  }

  array(depth) {
    const node = { kind: 'array', start: this.at, end: 0, items: [], closed: false };
    this.at += 1;
    for (;;) {
      this.space();
      const start = this.at;
      const next = this.text[start];
      const last = node.items.at(-1);
      if (this.ends(node, next, ']', last)) return node;
      if (last && last.comma < 0) this.fault(start, start + 1, 'a comma is missing before this');
      const value = this.value(depth + 1);
      if (!value) {
        this.fault(start, start + 1, 'a value is expected');
        this.at += 1;
        continue;
      }
      node.items.push({ value, comma: this.comma() });
    }
  }

  /** Whether an object or array ends here, by its own bracket, by a bracket of another kind or by the end of the text. */
  ends(node, next, bracket, last) {
    if (next === undefined) {
      this.fault(node.start, node.start + 1, `the closing ${bracket} is missing`);
    } else if (next === bracket) {
      if (last && last.comma >= 0) this.fault(last.comma, last.comma + 1, `remove the comma before ${bracket}`);
      this.at += 1;
      node.closed = true;
    } else if (next === '}' || next === ']') {
      this.fault(this.at, this.at + 1, `${bracket} is expected here, not ${next}`);
    } else {
      return false;
    }
    node.end = this.at;
    return true;
  }

  comma() {
    this.space();
    if (this.text[this.at] !== ',') return -1;
    this.at += 1;
    return this.at - 1;
  }
}

function decode(inner) {
  try {
    return JSON.parse(`"${inner}"`);
  } catch {
    return inner;
  }
}

/** The value of a member, or undefined. */
export function member(node, name) {
  return node?.kind === 'object' ? node.members.find((candidate) => candidate.key.value === name)?.value ?? undefined : undefined;
}

/** The text of a tree on one line. Numbers keep their digits, which JavaScript's own would not. */
export function compact(node, text) {
  if (!node) return 'null';
  if (node.kind === 'object') {
    return `{${node.members.map(({ key, value }) => `${JSON.stringify(key.value)}: ${compact(value, text)}`).join(', ')}}`;
  }
  if (node.kind === 'array') return `[${node.items.map(({ value }) => compact(value, text)).join(', ')}]`;
  return text.slice(node.start, node.end);
}

/** The text of a tree with two spaces a level; what fits a line after `used` characters stays on one. */
export function pretty(node, text, indent = '', used = 0) {
  const isContainer = node?.kind === 'object' || node?.kind === 'array';
  const isShort = !isContainer || node.end - node.start <= 2 * MAX_WIDTH;
  const line = isShort ? compact(node, text) : '';
  // The outermost braces are always opened: that is where one goes on writing.
  const fits = indent === '' && used === 0 ? line.length <= 2 : indent.length + used + line.length <= MAX_WIDTH;
  if (!isContainer || (isShort && fits)) return line;
  const deeper = `${indent}  `;
  if (node.kind === 'array') {
    const items = node.items.map(({ value }) => `${deeper}${pretty(value, text, deeper)}`);
    return `[\n${items.join(',\n')}\n${indent}]`;
  }
  const members = node.members.map(({ key, value }) => {
    const name = `${JSON.stringify(key.value)}: `;
    return `${deeper}${name}${pretty(value, text, deeper, name.length)}`;
  });
  return `{\n${members.join(',\n')}\n${indent}}`;
}
