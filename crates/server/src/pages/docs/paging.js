// The pages beside the one that an answer shows. Each is a statement of its own, in the text that a person would write.

import { isBody } from './grammar.js';
import { compact, member, parse, pretty } from './json.js';

/** The pages before a keyset page that can be gone back to. */
const MAX_TRAIL = 500;

/**
 * The pages beside the answer to a text: `{previous, next, first}`. A page is a text, and undefined where there is none; `first` is the
 * number of the first row of the answer. Null for an operation without pages.
 */
export function pagesBeside(operation, text, answer) {
  const { root } = parse(answer);
  if (operation === 'paginate') return pagesByOffset(text, root, answer);
  if (operation !== 'keysetPaginate') return null;
  const next = member(root, 'next');
  return { next: next?.kind === 'object' ? withQuery(text, compact(next, answer)) : undefined };
}

function pagesByOffset(text, root, answer) {
  const count = member(root, 'rows')?.items?.length ?? 0;
  const statement = statementOf(text);
  const [total, offset, limit] = [numberAt(root, 'total', answer), numberAt(statement, 'offset', text) ?? 0, numberAt(statement, 'limit', text) ?? count];
  const at = (rows) => withQuery(text, withMember(statement, text, 'offset', rows > 0 ? String(rows) : undefined));
  return {
    first: offset + 1,
    next: count > 0 && offset + count < total ? at(offset + count) : undefined,
    previous: offset > 0 ? at(Math.max(0, offset - limit)) : undefined,
  };
}

function statementOf(text) {
  const { root } = parse(text);
  return isBody(root) ? member(root, 'query') : root;
}

function numberAt(node, name, text) {
  const found = member(node, name);
  return found?.kind === 'number' ? Number(text.slice(found.start, found.end)) : undefined;
}

/** A text with another statement: a whole body keeps its constraint. */
function withQuery(text, statement) {
  const { root } = parse(text);
  const written = isBody(root) ? withMember(root, text, 'query', statement) : statement;
  return pretty(parse(written).root, written);
}

/** The JSON of an object with another value for a member, or without the member. */
function withMember(node, text, name, json) {
  const members = (node?.members ?? []).map(({ key, value }) => [key.value, compact(value, text)]).filter(([key]) => key !== name);
  if (json !== undefined) members.push([name, json]);
  return `{${members.map(([key, value]) => `${JSON.stringify(key)}: ${value}`).join(', ')}}`;
}

/** The keyset pages that a person came through. The server names only the next one. */
export class Trail {
  #texts = [];
  #current;

  /** The page before a text; undefined if the text is none that this trail led to. */
  before(text) {
    return text === this.#current ? this.#texts.at(-1) : undefined;
  }

  forward(from, to) {
    const texts = from === this.#current ? this.#texts : [];
    this.#texts = [...texts, from].slice(-MAX_TRAIL);
    this.#current = to;
  }

  back() {
    this.#current = this.#texts.pop();
    return this.#current;
  }
}
