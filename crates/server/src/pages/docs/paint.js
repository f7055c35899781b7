// The coloured copy of the text behind the editor, line by line, with faults underlined and described at their line.

import { element } from './dom.js';

/** A longer text is not coloured, since that would slow down typing. */
const MAX_COLOURED = 60_000;
const JSON_LANGUAGE = {
  token: /("(?:[^"\\\n]|\\.)*"?)(?=(\s*:)?)|(-?\d[\d.eE+-]*)|\b(true|false|null)\b/g,
  kindOf: ([, string, colon, number]) => (string !== undefined ? (colon ? 'key' : 'string') : number !== undefined ? 'number' : 'literal'),
};
/** Documents of GraphQL. */
export const GRAPHQL_LANGUAGE = {
  token: /(#.*)|("""|"(?:[^"\\\n]|\\.)*"?)|(\$\w+|@\w+)|(-?\b\d[\d.eE+-]*)|\b(query|mutation|subscription|fragment|on)\b(?=\s*(?:[\w({@]|$))|\b(true|false|null)\b|(\w+)(?=\s*:)/g,
  kindOf: ([, comment, string, variable, number, keyword, , key]) =>
    comment !== undefined ? 'comment' : string !== undefined ? 'string' : variable !== undefined ? 'parameter' : number !== undefined ? 'number' : keyword !== undefined ? 'keyword' : key !== undefined ? 'key' : 'literal',
};

/** The lines of a text; marks are `{start, end, message}`. `language` finds the pieces of a line, and names their colours. */
export function paint(text, marks, language = JSON_LANGUAGE) {
  let offset = 0;
  return text.split('\n').map((content) => {
    const start = offset;
    const end = start + content.length;
    offset = end + 1;
    const here = marks.filter((mark) => mark.start <= end && Math.max(mark.end, mark.start + 1) > start);
    const line = element('div', { class: here.length > 0 ? 'line faulty' : 'line' });
    for (const piece of pieces(content, text.length, language)) {
      line.append(...cut(piece, start, here));
    }
    // A mark at the end of a line has no character to underline.
    if (here.some((mark) => mark.start >= end)) line.append(element('span', { class: 'fault' }, ' '));
    const notes = marks.filter((mark) => mark.start >= start && mark.start <= end).map((mark) => mark.message);
    if (notes.length > 0) line.append(element('span', { class: 'fault-note' }, notes.join(' · ')));
    return line;
  });
}

/** A text of JSON in coloured pieces; a long one stays as it is. */
export function colouredJson(text) {
  if (text.length > MAX_COLOURED) return [text];
  return pieces(text, text.length, JSON_LANGUAGE).map(({ text: piece, kind }) => (kind === '' ? piece : element('span', { class: kind }, piece)));
}

/** A line in pieces of one colour: `{text, at, kind}`. */
function pieces(content, length, { token, kindOf }) {
  if (length > MAX_COLOURED) return [{ text: content, at: 0, kind: '' }];
  const found = [];
  let last = 0;
  for (const match of content.matchAll(token)) {
    if (match.index > last) found.push({ text: content.slice(last, match.index), at: last, kind: '' });
    found.push({ text: match[0], at: match.index, kind: kindOf(match) });
    last = match.index + match[0].length;
  }
  if (last < content.length) found.push({ text: content.slice(last), at: last, kind: '' });
  return found;
}

/** A piece as spans, cut where marks begin and end. */
function cut({ text, at, kind }, lineStart, marks) {
  const start = lineStart + at;
  const borders = new Set([0, text.length]);
  for (const mark of marks) {
    for (const border of [mark.start - start, mark.end - start]) {
      if (border > 0 && border < text.length) borders.add(border);
    }
  }
  const sorted = [...borders].sort((one, other) => one - other);
  return sorted.slice(0, -1).map((from, index) => {
    const to = sorted[index + 1];
    const isFault = marks.some((mark) => mark.start <= start + from && mark.end >= start + to);
    const content = text.slice(from, to);
    const names = [kind, isFault ? 'fault' : ''].filter((name) => name !== '').join(' ');
    return names === '' ? document.createTextNode(content) : element('span', { class: names }, content);
  });
}

/** The place of a character of a painted line on the screen. */
export function rectangleAt(line, column) {
  const range = document.createRange();
  let left = column;
  const walker = document.createTreeWalker(line, NodeFilter.SHOW_TEXT);
  range.setStart(line, 0);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    if (node.parentElement.classList.contains('fault-note')) break;
    if (left <= node.length) {
      range.setStart(node, left);
      break;
    }
    left -= node.length;
    range.setStart(node, node.length);
  }
  range.collapse(true);
  const rectangle = range.getBoundingClientRect();
  const around = line.getBoundingClientRect();
  // An empty line has no character to measure.
  return rectangle.height > 0 ? { left: rectangle.left, bottom: around.bottom, top: around.top } : { left: around.left, bottom: around.bottom, top: around.top };
}
