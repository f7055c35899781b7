// Shows the Query Statement of the current view: the fastest way to learn the language.

import { onStatement } from './api.js';
import { counted, element } from './dom.js';
import { isSignedIn } from './session.js';

/** A panel that shows every statement until it is closed: `{node, close}`. */
export function inspector() {
  const address = element('code');
  const told = element('span', { class: 'told' });
  // The page at /docs has its own sign-in; the session at the hub makes it the same account.
  const docs = isSignedIn() ? '/auth/login?return_to=/docs' : '/docs';
  const text = element('pre', { tabindex: '0', 'aria-label': 'Query Statement' });
  const node = element(
    'details',
    { class: 'inspector', open: matchMedia('(min-width: 80rem)').matches },
    element('summary', {}, 'Query Statement'),
    element('p', { class: 'sent' }, element('span', { class: 'method' }, 'POST'), ' ', address),
    text,
    element('p', { class: 'hint' }, told, ' ', element('a', { href: docs }, 'All resources and a playground')),
  );
  const close = onStatement(({ address: sent, body, rows, milliseconds, isRefused }) => {
    address.textContent = sent;
    text.textContent = pretty(body);
    told.textContent = isRefused ? 'Not answered.' : milliseconds === undefined ? 'Sent …' : `${counted(rows, 'row')} in ${milliseconds} ms.`;
  });
  return { node, close };
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
