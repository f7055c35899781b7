// The first page: a sign-in button, or for a signed-in account what it may see.

import { ask } from './api.js';
import { element } from './dom.js';
import { number } from './format.js';
import { playground } from './inspector.js';
import { RESOURCES } from './resources.js';

/** The page for a signed-out visitor; `wanted` names the page they asked for. */
export function landing({ signIn, wanted, told }) {
  const lead = wanted ? `${wanted} are for those who are signed in.` : 'A small single-page app on a Peristyle satellite. You sign in at the hub, and what you may see there decides what you see here.';
  return element(
    'section',
    { class: 'landing' },
    element('h1', {}, wanted ? `Sign in to see ${wanted.toLowerCase()}` : 'Three tenants, one shop'),
    told && element('p', { class: 'notice', role: 'alert' }, told),
    element('p', { class: 'lead' }, lead),
    element('p', { class: 'ways' }, element('button', { type: 'button', class: 'primary', onclick: () => signIn() }, 'Sign in'), element('a', { href: '/products', 'data-app': '' }, 'Look at the products first')),
    element('p', { class: 'hint' }, 'The terminal that the demo runs in shows who you can be. Each of them sees other rows.'),
  );
}

/** What an account may see: resources with row counts, masked fields, tenants, roles and permissions. */
export function overview(account, may) {
  const name = account.username ?? account.email ?? account.code;
  const permissions = account.dPermissions?.all ?? [];
  const listed = (items) => (items.length > 0 ? element('ul', { class: 'chips' }, items.map((item) => element('li', {}, item))) : element('p', { class: 'hint' }, 'None.'));
  return element(
    'div',
    { class: 'overview' },
    element('h1', {}, `Hello, ${name}`),
    element('p', { class: 'lead' }, 'This is what you may see. The same questions give somebody else other answers. ', element('a', { href: playground() }, 'Ask your own in the playground.')),
    element('section', {}, element('h2', {}, 'Resources'), resources(may)),
    element('section', {}, element('h2', {}, 'Masked fields'), fields(may)),
    element('section', {}, element('h2', {}, 'Tenants'), listed((account.tenants ?? []).map((tenant) => tenant.name ?? tenant))),
    element('section', {}, element('h2', {}, 'Roles'), listed((account.roles ?? []).map((role) => role.name ?? role))),
    element('section', {}, element('h2', {}, 'Permissions'), listed(permissions)),
  );
}

function resources(may) {
  const row = ([path, { title, address, permission }]) => {
    const held = may(permission);
    const rows = element('td', { class: 'figure' }, held ? '…' : '–');
    if (held) count(address).then((total) => { rows.textContent = total; });
    return element(
      'tr',
      {},
      element('th', { scope: 'row' }, held ? element('a', { href: `/${path}`, 'data-app': '' }, title) : title),
      rows,
      element('td', {}, permission ? element('code', {}, permission) : 'public'),
      element('td', {}, held ? 'yes' : 'no'),
    );
  };
  const head = ['Resource', 'Rows in reach', 'Needs', 'Yours'].map((label, index) => element('th', { scope: 'col', class: index === 1 ? 'figure' : undefined }, label));
  return scrolled('Resources', element('table', {}, element('thead', {}, element('tr', {}, head)), element('tbody', {}, Object.entries(RESOURCES).map(row))));
}

/** How many rows the account may see: constraints apply to aggregations too. */
async function count(address) {
  try {
    const [{ count: total }] = await ask(`${address}/list`, { aggregation: { fields: [{ fn: 'count', field: '*' }] } });
    return number(total);
  } catch {
    return '?';
  }
}

function fields(may) {
  const masked = Object.values(RESOURCES).flatMap(({ title, columns }) => columns.filter((column) => column.masked).map((column) => ({ title, ...column })));
  const row = ({ title, label, masked: permission }) =>
    element('tr', {}, element('th', { scope: 'row' }, `${label} of ${title.toLowerCase()}`), element('td', {}, element('code', {}, permission)), element('td', {}, may(permission) ? 'shown plainly' : 'masked'));
  const head = ['Field', 'Needs', 'For you'].map((label) => element('th', { scope: 'col' }, label));
  return scrolled('Masked fields', element('table', {}, element('thead', {}, element('tr', {}, head)), element('tbody', {}, masked.map(row))));
}

function scrolled(label, table) {
  return element('div', { class: 'scroll', role: 'region', 'aria-label': label, tabindex: '0' }, table);
}
