// Shows the Query Statement of the current view: the fastest way to learn the language.

import { onStatement } from './api.js';
import { counted, element } from './dom.js';
import { RESOURCES } from './resources.js';
import { isSignedIn } from './session.js';

/** A panel that shows every statement until it is closed: `{node, close}`. */
export function inspector() {
  const address = element('code');
  const told = element('span', { class: 'told' });
  const text = element('pre', { tabindex: '0', 'aria-label': 'Query Statement' });
  const link = element('a', { href: playground() }, 'Open it in the playground');
  const node = element(
    'div',
    { class: 'inspector' },
    element('details', { open: matchMedia('(min-width: 80rem)').matches }, element('summary', {}, 'Query Statement'), element('p', { class: 'sent' }, element('span', { class: 'method' }, 'POST'), ' ', address), text),
    element('p', { class: 'hint' }, told, ' ', link),
  );
  const close = onStatement(({ address: sent, body, rows, milliseconds, isRefused }) => {
    address.textContent = sent;
    text.textContent = pretty(body);
    told.textContent = isRefused ? 'Not answered.' : milliseconds === undefined ? 'Sent …' : `${counted(rows, 'row')} in ${milliseconds} ms.`;
    link.href = playground(sent, body);
  });
  return { node, close };
}

/**
 * The page at /docs, with a statement if one was sent. It has a sign-in of its own: `?sign-in` makes it take the account of the session at
 * the hub, which is the one of this app. The statement stands behind the #, which no server sees.
 */
export function playground(address = '', { query } = {}) {
  const page = isSignedIn() ? '/docs?sign-in' : '/docs';
  const known = Object.values(RESOURCES).find((resource) => address.startsWith(`${resource.address}/`));
  if (!known) return page;
  const [operation, id] = address.slice(known.address.length + 1).split('/');
  const state = { resource: known.resource };
  if (query) Object.assign(state, { operation: id === undefined ? operation : 'findById', ...(id !== undefined && { id }), statement: JSON.stringify(query, null, 2) });
  return `${page}#${new URLSearchParams(state)}`;
}

/** How many characters fit on a line of the panel. */
const WIDTH = 36;

/** JSON with every value on one line that fits there. */
export function pretty(value, indent = '', name = '') {
  const line = name + JSON.stringify(value, null, 1).replace(/\n\s*/g, ' ');
  const isLeaf = typeof value !== 'object' || value === null || Object.keys(value).length === 0;
  if (isLeaf || indent.length + line.length <= WIDTH) return indent + line;
  const isList = Array.isArray(value);
  const parts = Object.entries(value).map(([key, part]) => pretty(part, `${indent}  `, isList ? '' : `${JSON.stringify(key)}: `));
  return `${indent}${name}${isList ? '[' : '{'}\n${parts.join(',\n')}\n${indent}${isList ? ']' : '}'}`;
}
