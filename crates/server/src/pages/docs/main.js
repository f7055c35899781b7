// The page: who asks, which resource is shown, and what the address says about it.

import { load } from './catalog.js';
import { announce, counted, element } from './dom.js';
import { linkTo, read, write } from './fragment.js';
import { Playground } from './playground.js';
import { nothing, overview, reference } from './reference.js';

const find = (id) => document.getElementById(id);
const content = find('content');
const page = { token: '', catalog: null, playground: null, shown: null };

/** How long the address waits for the end of a burst of typing. */
const SETTLE = 250;
/** What a header can carry; the browser refuses other texts in words of its own. */
const PLAIN = /^[\x20-\x7e]*$/;
let settling;
/** How often the resources were asked for: only the answer to the last question is shown. */
let asked = 0;

/** Asks for the resources and shows them; says whether they are shown. */
async function reload() {
  asked += 1;
  const question = asked;
  try {
    const catalog = await load(page.token);
    // With another token other rights are in force, and this answer came too late.
    if (question !== asked) return false;
    page.catalog = catalog;
  } catch (error) {
    if (question !== asked) return false;
    page.catalog = null;
    page.playground?.close();
    find('contexts').replaceChildren();
    content.replaceChildren(element('h1', {}, 'The resources cannot be loaded'), element('p', { class: 'lead' }, error.message), element('button', { type: 'button', onclick: reload }, 'Try again'));
    announce(error.message);
    return false;
  }
  list();
  show();
  return true;
}

/** The resources at the side, those that the search leaves. */
function list() {
  const words = find('search').value.trim();
  const found = page.catalog.search(words);
  const groups = page.catalog.contexts(found).map(([context, resources]) =>
    element('section', {}, element('h2', {}, context), element('ul', {}, resources.map((resource) => element('li', {}, sideLink(resource))))),
  );
  find('contexts').replaceChildren(...groups);
  if (found.length === 0) find('contexts').append(element('p', { class: 'hint' }, words === '' ? 'None.' : 'Nothing of that name.'));
  find('search-state').textContent = words === '' ? '' : `${counted(found.length, 'resource')} found`;
}

function sideLink(resource) {
  const current = read(location.hash).resource === resource.name;
  return element('a', { href: linkTo(resource.name), 'aria-current': current ? 'page' : undefined }, resource.resource);
}

/** Shows what the address asks for. */
function show() {
  const said = read(location.hash);
  page.playground?.close();
  page.playground = null;
  page.shown = said.resource ?? null;
  for (const link of find('contexts').querySelectorAll('a')) {
    if (link.getAttribute('href') === linkTo(said.resource ?? '')) link.setAttribute('aria-current', 'page');
    else link.removeAttribute('aria-current');
  }
  const resource = page.catalog.resource(said.resource ?? '');
  document.title = resource ? `${resource.name} · Peristyle` : 'Peristyle';
  if (resource) {
    page.playground = new Playground({ resource, catalog: page.catalog, token: page.token, state: said, onState: (state) => remember(resource.name, state) });
    content.replaceChildren(...resourceView(resource));
  } else if (page.catalog.resources.length === 0) {
    content.replaceChildren(nothing());
  } else {
    const unknown = said.resource && element('p', { class: 'notice', role: 'alert' }, `${said.resource} is not among the resources you may see.`);
    content.replaceChildren(...[unknown, overview(page.catalog)].filter(Boolean));
  }
}

function resourceView(resource) {
  return [
    element(
      'header',
      { class: 'title' },
      element('p', { class: 'context' }, resource.context),
      element('h1', {}, resource.resource),
      element('p', { class: 'jumps' }, [['Playground', 'playground-title'], ['Fields', 'fields-title'], ['Relations', 'relations-title'], ['Addresses', 'addresses-title']].map(([name, id]) => jump(name, id))),
    ),
    page.playground.node,
    reference(resource, page.token),
  ];
}

/** The fragment belongs to the statement, so a jump inside the page is a button. */
function jump(name, id) {
  const go = () => {
    const target = find(id);
    target.tabIndex = -1;
    target.focus({ preventScroll: true });
    target.scrollIntoView({ block: 'start' });
  };
  return element('button', { type: 'button', class: 'link', onclick: go }, name);
}

/** Keeps the statement in the address without a step of history for each letter. */
function remember(resource, state) {
  clearTimeout(settling);
  settling = setTimeout(() => {
    if (page.shown === resource) history.replaceState(null, '', write({ resource, ...state }));
  }, SETTLE);
}

/** On a narrow screen the list is closed until it is wanted. */
function foldSide(isNarrow) {
  find('side').open = !isNarrow;
}

function listen() {
  const narrow = matchMedia('(max-width: 52rem)');
  foldSide(narrow.matches);
  narrow.addEventListener('change', (event) => foldSide(event.matches));
  find('search').addEventListener('input', () => page.catalog && list());
  find('contexts').addEventListener('click', (event) => {
    if (event.target.closest('a')) foldSide(narrow.matches);
  });
  addEventListener('hashchange', () => {
    clearTimeout(settling);
    if (location.hash === '#content') return;
    if (!page.catalog) return;
    show();
    content.focus({ preventScroll: true });
    scrollTo(0, 0);
  });
  document.querySelector('.skip').addEventListener('click', (event) => {
    event.preventDefault();
    content.focus();
  });
  find('token-form').addEventListener('submit', (event) => {
    event.preventDefault();
    const token = find('token-input').value.trim().replace(/^Bearer\s+/i, '');
    const isPlain = PLAIN.test(token);
    complain(isPlain ? '' : 'A token has only ASCII characters: letters without accents, digits and signs. This text has others.');
    if (isPlain) useToken(token);
    else find('token-input').focus();
  });
  find('token').addEventListener('keydown', (event) => {
    if (event.key !== 'Escape' || !find('token').open) return;
    find('token').open = false;
    find('token').querySelector('summary').focus();
  });
  find('token-clear').addEventListener('click', () => {
    complain('');
    useToken('');
  });
}

/** Says what is wrong with a token; nothing, if the text is empty. */
function complain(text) {
  find('token-fault').textContent = text;
  find('token-input').setAttribute('aria-invalid', String(text !== ''));
}

async function useToken(token) {
  // What was written stays, whatever the new rights show around it.
  if (page.playground) history.replaceState(null, '', write({ resource: page.shown, ...page.playground.state() }));
  page.token = token;
  if (page.playground) page.playground.token = token;
  find('token-input').value = '';
  find('token-state').textContent = token === '' ? 'No token' : 'Token in use';
  find('token').open = false;
  find('token').querySelector('summary').focus();
  const isShown = await reload();
  if (isShown) announce(`${counted(page.catalog.resources.length, 'resource')} to see`);
}

listen();
reload();
