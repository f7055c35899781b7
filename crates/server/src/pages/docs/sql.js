// SQL for people: breaks the one line that the server wrote into clauses, and colours it. It only adds and removes blanks.

import { element } from './dom.js';

const WIDTH = 84;
const TOKEN = /\s+|'(?:[^']|'')*'|"(?:[^"]|"")*"|[$?]\d+|\d+(?:\.\d+)?|[A-Za-z_]\w*|::|[<>=!|&@~#*/+-]+|[^\s]/g;
/** Words that begin a line. `AND` and `OR` begin one inside a condition. */
const CLAUSES = new Set(['SELECT', 'FROM', 'WHERE', 'GROUP', 'HAVING', 'ORDER', 'LIMIT', 'OFFSET', 'UNION', 'JOIN', 'LEFT', 'RIGHT', 'INNER', 'CROSS', 'WITH', 'VALUES', 'WINDOW', 'FETCH']);
const JOINS = new Set(['LEFT', 'RIGHT', 'INNER', 'CROSS', 'OUTER', 'LATERAL']);
const WORDS = new Set(
  ('ALL AND ANY ARRAY AS ASC BETWEEN BY CASE CAST COLLATE CROSS DESC DISTINCT ELSE END ESCAPE EXISTS FALSE FETCH FILTER FIRST FROM GROUP HAVING ILIKE IN INNER IS JOIN LAST LATERAL LEFT LIKE LIMIT '
    + 'MATERIALIZED NOT NULL NULLS OFFSET ON OR ORDER ORDINALITY OUTER OVER PARTITION RECURSIVE RIGHT ROW ROWS SELECT THEN TRUE UNION UNNEST USING VALUES WHEN WHERE WINDOW WITH WITHIN').split(' '),
);

/** The SQL in lines. */
export function format(sql) {
  const tokens = (sql.match(TOKEN) ?? []).map((text, index, all) => ({ text, blank: /^\s/.test(all[index - 1] ?? '') })).filter(({ text }) => !/^\s/.test(text));
  const formatted = lines(group(tokens, 0, ')').items, '').trimStart();
  // A text with a bracket without a partner is no SQL of ours, and stays as it is.
  return bare(formatted) === bare(sql) ? formatted : sql;
}

const bare = (text) => text.replace(/\s+/g, '');

/** A list of tokens, of bracketed lists and of lists from `CASE` to `END`, up to the token that closes it. */
function group(tokens, from, closer) {
  const items = [];
  let at = from;
  for (; at < tokens.length && tokens[at].text.toUpperCase() !== closer; at += 1) {
    const { text, blank } = tokens[at];
    const end = text === '(' ? ')' : text.toUpperCase() === 'CASE' ? 'END' : null;
    if (end === null) {
      items.push(tokens[at]);
      continue;
    }
    const inner = group(tokens, at + 1, end);
    items.push({ inner: inner.items, blank, open: text, close: tokens[inner.end]?.text ?? '' });
    at = inner.end;
  }
  return { items, end: at };
}

const isWord = (item, ...words) => words.includes(item?.text?.toUpperCase());

/** The items on one line. */
function flat(items) {
  return items.map((item, index) => `${item.blank && index > 0 ? ' ' : ''}${item.inner ? enclosed(item, flat(item.inner)) : item.text}`).join('');
}

function enclosed({ open, close }, inner) {
  return open === '(' ? `(${inner}${close}` : `${open} ${inner} ${close}`.trimEnd();
}

/** The items as lines: a line for each clause. */
function lines(items, indent) {
  return clauses(items).map((clause) => `\n${indent}${clauseText(clause, indent)}`).join('');
}

/** The items, cut before each word that begins a clause. */
function clauses(items) {
  const found = [[]];
  items.forEach((item, index) => {
    if (beginsClause(items, index) && found.at(-1).length > 0) found.push([]);
    found.at(-1).push(item);
  });
  return found;
}

function beginsClause(items, index) {
  const [before, item, next] = [items[index - 1], items[index], items[index + 1]];
  if (!CLAUSES.has(item.text?.toUpperCase())) return false;
  const continues = JOINS.has(before?.text?.toUpperCase()) || isWord(before, 'DISTINCT', 'WITHIN') || isWord(next, 'ORDINALITY');
  const isCall = isWord(item, 'LEFT', 'RIGHT') && next?.inner !== undefined;
  return !continues && !isCall;
}

/** One clause: on a line if it fits, otherwise an item of its list on each. */
function clauseText(clause, indent) {
  const line = flat(clause);
  if (indent.length + line.length <= WIDTH && !clause.some(hasQuery)) return line;
  const head = headLength(clause);
  const pieces = cut(clause.slice(head));
  const opening = flat(clause.slice(0, head));
  if (pieces.length === 1 || head === 0) return joined(opening, pieces.map((piece) => text(piece, indent)));
  const deeper = `${indent}  `;
  return `${opening}${pieces.map((piece) => `\n${deeper}${text(piece, deeper)}`).join('')}`;
}

function joined(opening, pieces) {
  return [opening, ...pieces].filter((piece) => piece !== '').join(' ');
}

/** The words of a clause before its list, as in `ORDER BY`. */
function headLength(clause) {
  if (isWord(clause[0], 'SELECT', 'WHERE', 'HAVING', 'FROM', 'WITH', 'VALUES')) return isWord(clause[1], 'DISTINCT', 'ALL', 'RECURSIVE') ? 2 : 1;
  return isWord(clause[0], 'ORDER', 'GROUP') && isWord(clause[1], 'BY') ? 2 : 0;
}

/** The parts of a list or of a condition. */
function cut(items) {
  const pieces = [[]];
  let betweens = 0;
  for (const item of items) {
    if (isWord(item, 'BETWEEN')) betweens += 1;
    const connects = isWord(item, 'OR') || (isWord(item, 'AND') && betweens === 0);
    if (isWord(item, 'AND') && betweens > 0) betweens -= 1;
    if (connects) pieces.push([]);
    pieces.at(-1).push(item);
    if (item.text === ',') pieces.push([]);
  }
  return pieces.filter((piece) => piece.length > 0);
}

/** Items in their line; a bracket or a `CASE` that is too long or has a query is opened. */
function text(items, indent) {
  return items
    .map((item, index) => {
      const blank = item.blank && index > 0 ? ' ' : '';
      if (!item.inner) return `${blank}${item.text}`;
      const line = enclosed(item, flat(item.inner));
      if (!item.inner.some(startsQuery) && !item.inner.some(hasQuery) && indent.length + line.length <= WIDTH) return `${blank}${line}`;
      return `${blank}${item.open}${opened(item, `${indent}  `)}\n${indent}${item.close}`;
    })
    .join('');
}

/** The inside of a bracket or of a `CASE`, each part on lines of its own. */
function opened({ open, inner }, indent) {
  if (startsQuery(inner[0])) return lines(inner, indent);
  const pieces = open === '(' ? cut(inner).map((piece) => text(piece, indent)) : branches(inner).map((piece) => branchText(piece, indent));
  return pieces.map((piece) => `\n${indent}${piece}`).join('');
}

/** The items of a `CASE`, cut before each `WHEN` and before `ELSE`. */
function branches(items) {
  const found = [[]];
  for (const item of items) {
    if (isWord(item, 'WHEN', 'ELSE') && found.at(-1).length > 0) found.push([]);
    found.at(-1).push(item);
  }
  return found;
}

/** A branch on one line if it fits, otherwise its value on a line of its own. */
function branchText(items, indent) {
  const then = items.findIndex((item) => isWord(item, 'THEN'));
  if (then < 1 || indent.length + flat(items).length <= WIDTH) return text(items, indent);
  const deeper = `${indent}  `;
  return `${text(items.slice(0, then), indent)}\n${deeper}${text(items.slice(then), deeper)}`;
}

const startsQuery = (item) => isWord(item, 'SELECT', 'WITH', 'VALUES');
const hasQuery = (item) => item.inner !== undefined && item.inner.some((inner) => startsQuery(inner) || hasQuery(inner));

/** A text of SQL in coloured pieces. */
export function coloured(sql) {
  return (sql.match(TOKEN) ?? []).map((piece) => {
    const kind = kindOf(piece);
    return kind === '' ? piece : element('span', { class: kind }, piece);
  });
}

function kindOf(piece) {
  if (piece.startsWith("'")) return 'string';
  if (piece.startsWith('"')) return 'name';
  if (/^[$?]\d/.test(piece)) return 'parameter';
  if (/^\d/.test(piece)) return 'number';
  return WORDS.has(piece.toUpperCase()) ? 'keyword' : '';
}
