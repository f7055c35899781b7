// The page: the token, the list of resources, and the resource that the URL names.

import { load } from './catalog.js';
import { announce, counted, element } from './dom.js';
import { linkTo, read, write } from './fragment.js';
import { Playground } from './playground.js';
import { nothing, overview, reference } from './reference.js';

const find = (id) => document.getElementById(id);
const content = find('content');
const page = { token: '', catalog: null, playground: null, shown: null };

/** Milliseconds without typing before the URL follows. */
const URL_DELAY = 250;
/** The characters of a header value. */
const PRINTABLE_ASCII = /^[\x20-\x7e]*$/;
let urlTimer;
/** Counts the requests for the resources: only the answer to the last one is shown. */
let lastRequest = 0;

/** Loads and shows the resources. Returns whether they are shown. */
async function reload() {
  lastRequest += 1;
  const request = lastRequest;
  try {
    const catalog = await load(page.token);
    // A newer request, perhaps with another token, has replaced this one.
    if (request !== lastRequest) return false;
    page.catalog = catalog;
  } catch (error) {
    if (request !== lastRequest) return false;
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

/** Lists the resources that match the search. */
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

/** Shows the resource that the URL names. */
function show() {
  const state = read(location.hash);
  page.playground?.close();
  page.playground = null;
  page.shown = state.resource ?? null;
  for (const link of find('contexts').querySelectorAll('a')) {
    if (link.getAttribute('href') === linkTo(state.resource ?? '')) link.setAttribute('aria-current', 'page');
    else link.removeAttribute('aria-current');
  }
  const resource = page.catalog.resource(state.resource ?? '');
  document.title = resource ? `${resource.name} · Peristyle` : 'Peristyle';
  if (resource) {
    page.playground = new Playground({ resource, catalog: page.catalog, token: page.token, state, onState: (changed) => saveInUrl(resource.name, changed) });
    content.replaceChildren(...resourceView(resource));
  } else if (page.catalog.resources.length === 0) {
    content.replaceChildren(nothing());
  } else {
    const unknown = state.resource && element('p', { class: 'notice', role: 'alert' }, `${state.resource} is not among the resources you may see.`);
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
      element('p', { class: 'jumps' }, [['Playground', 'playground-title'], ['Fields', 'fields-title'], ['Relations', 'relations-title'], ['Paths', 'paths-title']].map(([name, id]) => jump(name, id))),
    ),
    page.playground.node,
    reference(resource, page.token),
  ];
}

/** The fragment of the URL holds the statement, so that a jump inside the page is a button. */
function jump(name, id) {
  const go = () => {
    const target = find(id);
    target.tabIndex = -1;
    target.focus({ preventScroll: true });
    target.scrollIntoView({ block: 'start' });
  };
  return element('button', { type: 'button', class: 'link', onclick: go }, name);
}

/** Writes the statement to the URL, without a history entry for each letter. */
function saveInUrl(resource, state) {
  clearTimeout(urlTimer);
  urlTimer = setTimeout(() => {
    if (page.shown === resource) history.replaceState(null, '', write({ resource, ...state }));
  }, URL_DELAY);
}

/** On a narrow screen the list starts closed. */
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
    clearTimeout(urlTimer);
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
    const isPrintable = PRINTABLE_ASCII.test(token);
    showTokenFault(isPrintable ? '' : 'A token has only ASCII characters: letters without accents, digits and signs. This text has others.');
    if (isPrintable) useToken(token);
    else find('token-input').focus();
  });
  find('token').addEventListener('keydown', (event) => {
    if (event.key !== 'Escape' || !find('token').open) return;
    find('token').open = false;
    find('token').querySelector('summary').focus();
  });
  find('token-clear').addEventListener('click', () => {
    showTokenFault('');
    useToken('');
  });
}

/** Shows what is wrong with a token; an empty text clears it. */
function showTokenFault(text) {
  find('token-fault').textContent = text;
  find('token-input').setAttribute('aria-invalid', String(text !== ''));
}

async function useToken(token) {
  // The statement stays, whatever the new token may see.
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
