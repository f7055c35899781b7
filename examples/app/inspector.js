// The Query Statement behind what is shown, as it was sent: the fastest way to learn the language.

import { onStatement } from './api.js';
import { counted, element } from './dom.js';

/** A panel that follows every statement until it is closed: `{node, close}`. */
export function inspector() {
  const address = element('code');
  const told = element('span', { class: 'told' });
  const text = element('pre', { tabindex: '0', 'aria-label': 'Query Statement' });
  const node = element(
    'details',
    { class: 'inspector', open: matchMedia('(min-width: 80rem)').matches },
    element('summary', {}, 'Query Statement'),
    element('p', { class: 'sent' }, element('span', { class: 'method' }, 'POST'), ' ', address),
    text,
    element('p', { class: 'hint' }, told, ' ', element('a', { href: '/docs' }, 'All resources and a playground')),
  );
  const close = onStatement(({ address: sent, body, rows, milliseconds }) => {
    address.textContent = sent;
    text.textContent = pretty(body);
    told.textContent = milliseconds === undefined ? 'Sent …' : `${counted(rows, 'row')} in ${milliseconds} ms.`;
  });
  return { node, close };
}

/** JSON in which what fits on a line stands on one. */
export function pretty(value, indent = '') {
  const line = JSON.stringify(value)?.replace(/([:,])(?=["{[\dtfn-])/g, '$1 ') ?? 'null';
  if (typeof value !== 'object' || value === null || indent.length + line.length <= 44) return JSON.stringify(value, null, 1).replace(/\n\s*/g, ' ');
  const inner = `${indent}  `;
  const isList = Array.isArray(value);
  const parts = Object.entries(value).map(([key, part]) => inner + (isList ? '' : `${JSON.stringify(key)}: `) + pretty(part, inner));
  return `${isList ? '[' : '{'}\n${parts.join(',\n')}\n${indent}${isList ? ']' : '}'}`;
}
