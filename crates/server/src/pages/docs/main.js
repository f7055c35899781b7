// The page: the account, the list of resources, and the resource that the URL names.

import { AccountMenu, loadAccount, nameOf } from './account.js';
import { load } from './catalog.js';
import { announce, counted, element } from './dom.js';
import { linkTo, read, write } from './fragment.js';
import { Playground } from './playground.js';
import { overview, reference } from './reference.js';
import { Session } from './session.js';
import { nothing, signInLink, withheldLine } from './withheld.js';
import { Writes } from './writes.js';

const find = (id) => document.getElementById(id);
const content = find('content');
const page = { catalog: null, account: null, playground: null, writes: null, shown: null, notice: '', isLeft: false };
const session = new Session(document.documentElement.dataset.signIn, '/docs', lost);
const menu = new AccountMenu(session, { onToken: useToken, onSignOut: signOut });

/** Milliseconds without typing before the URL follows. */
const URL_DELAY = 250;
let urlTimer;
/** Counts the requests for the resources: only the answer to the last one is shown. */
let lastRequest = 0;

/** Loads and shows the account and its resources. Returns whether they are shown. */
async function reload() {
  lastRequest += 1;
  const request = lastRequest;
  try {
    const token = await session.token();
    const [catalog, account] = await Promise.all([load(token), loadAccount(session)]);
    // A newer request, perhaps with another token, has replaced this one.
    if (request !== lastRequest) return false;
    Object.assign(page, { catalog, account });
  } catch (error) {
    if (request !== lastRequest) return false;
    failed(error);
    return false;
  }
  menu.show(page.account);
  list();
  show();
  return true;
}

function failed(error) {
  page.catalog = null;
  closeParts();
  menu.show(null);
  find('contexts').replaceChildren();
  const isRefused = error.status === 401 && session.isSignedIn;
  const forget = isRefused && element('button', { type: 'button', onclick: () => useToken('') }, 'Go on without the token');
  content.replaceChildren(...[element('h1', {}, 'The resources cannot be loaded'), element('p', { class: 'lead' }, error.message), element('p', { class: 'buttons' }, element('button', { type: 'button', onclick: reload }, 'Try again'), forget)]);
  announce(error.message);
}

/** Lists the resources that match the search. */
function list() {
  const words = find('search').value.trim();
  const found = page.catalog.search(words);
  const groups = page.catalog.contexts(found).map(([context, resources]) =>
    element('section', {}, element('h2', {}, context), element('ul', {}, resources.map((resource) => element('li', {}, sideLink(resource))))),
  );
  const withheld = words === '' && page.catalog.resources.length > 0 ? withheldLine(page.catalog, session) : null;
  find('contexts').replaceChildren(...groups, ...[withheld].filter(Boolean));
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
  closeParts();
  page.shown = state.resource ?? null;
  for (const link of find('contexts').querySelectorAll('a')) {
    if (link.getAttribute('href') === linkTo(state.resource ?? '')) link.setAttribute('aria-current', 'page');
    else link.removeAttribute('aria-current');
  }
  const resource = page.catalog.resource(state.resource ?? '');
  document.title = resource ? `${resource.name} · Peristyle` : 'Peristyle';
  const notice = page.notice !== '' && element('p', { class: 'notice', role: 'alert' }, page.notice);
  page.notice = '';
  content.replaceChildren(...[notice, ...viewOf(resource, state)].filter(Boolean));
  if (state.statement === undefined) page.playground?.begin();
  else page.playground?.resume();
}

/** Ends the requests of the resource that was shown. */
function closeParts() {
  page.playground?.close();
  page.writes?.close();
  Object.assign(page, { playground: null, writes: null });
}

function viewOf(resource, state) {
  if (resource) {
    const { catalog } = page;
    // A caller may have the right to write rows, and not to read them.
    if (resource.operations.length > 0) page.playground = new Playground({ resource, catalog, session, state, onState: (changed) => saveInUrl(resource.name, changed), onOpen: open, onEdit: edit });
    if (resource.write) page.writes = new Writes({ resource, catalog, session, onWritten: () => page.playground?.refresh() });
    return resourceView(resource);
  }
  if (page.catalog.resources.length === 0) return [nothing(page.catalog, { session, name: nameOf(page.account) })];
  return [state.resource && unknownResource(state.resource), overview(page.catalog, session)];
}

function unknownResource(name) {
  const link = signInLink(session);
  const words = page.isLeft ? ['Signed out. ', link, ` to see ${name} again.`] : [`${name} is not among the resources you may see.`, link && ' ', link];
  return element('p', { class: 'notice', role: 'alert' }, words);
}

function resourceView(resource) {
  const onOperator = (field, operator) => page.playground.tryOperator(field, operator);
  const { playground, writes } = page;
  const ofReference = [['Fields', 'fields-title'], ['Relations', 'relations-title'], ['Paths', 'paths-title']];
  const jumps = [...(writes ? [['Write', 'writes-title']] : []), ...(playground ? ofReference : [])];
  return [
    element(
      'header',
      { class: 'title' },
      element('p', { class: 'context' }, resource.context),
      element('h1', {}, resource.resource),
      element('p', { class: 'jumps' }, jumps.map(([name, id]) => jump(name, id))),
    ),
    playground?.node ?? element('p', { class: 'lead' }, 'You may write rows of this resource, and not read them.'),
    writes?.node,
    playground && reference(resource, page.catalog, { isSignedIn: session.isSignedIn, onOperator }),
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

/** Opens a statement of the history, and runs it. */
function open(entry) {
  clearTimeout(urlTimer);
  const fragment = write(entry);
  if (location.hash !== fragment) history.pushState(null, '', fragment);
  list();
  show();
  page.playground?.run();
}

/** Opens the form of a write for a row, which may be one of another resource. */
function edit(resource, form, key) {
  if (resource.name !== page.shown) {
    history.pushState(null, '', linkTo(resource.name));
    list();
    show();
  }
  page.writes.open(form, key);
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
}

/** Keeps the statement in the URL, whatever the next account may see. */
function keepStatement() {
  clearTimeout(urlTimer);
  if (page.playground) history.replaceState(null, '', write({ resource: page.shown, ...page.playground.state() }));
}

async function useToken(token) {
  keepStatement();
  session.use(token);
  menu.show(null);
  menu.changed('');
  if (await reload()) announce(`${counted(page.catalog.resources.length, 'resource')} to see`);
}

async function signOut() {
  keepStatement();
  try {
    await session.signOut();
  } catch (error) {
    page.notice = `The session at the hub could not be ended: ${error.message}. Sign out at the hub.`;
  }
  menu.show(null);
  page.isLeft = session.canSignIn;
  if (await reload()) menu.changed('Signed out');
  page.isLeft = false;
}

/** The session has ended at the hub. */
function lost() {
  keepStatement();
  page.notice = 'You were signed out.';
  reload();
}

async function start() {
  const outcome = await session.open();
  if (outcome === 'leaving') return;
  session.restorePlace();
  page.notice = outcome;
  await reload();
}

listen();
start();
