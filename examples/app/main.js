// The app: the signed-in account, its menu, and the view of each path.

import { landing, overview } from './account.js';
import { me } from './api.js';
import { chartView } from './chart.js';
import { announce, element } from './dom.js';
import { listView } from './list.js';
import { orderView } from './order.js';
import { Problem, shown } from './problem.js';
import { RESOURCES, REVENUE } from './resources.js';
import { Router } from './router.js';
import { finish, isSignedIn, signIn, signOut } from './session.js';
import { onSignInOrOut } from './tokens.js';

const find = (id) => document.getElementById(id);
const app = { account: null, told: null };
const router = new Router(find('content'), viewAt);

/** Whether the viewer holds a permission; no permission means everybody. */
function may(permission) {
  return !permission || (app.account?.dPermissions?.all ?? []).includes(permission);
}

/** The view for a path. */
function viewAt(path) {
  if (path === '/callback') return callback;
  if (path === '/') return home;
  if (path === '/revenue') return guarded('Revenue figures', REVENUE, chartView(REVENUE, tools));
  const order = /^\/orders\/(\d{1,19})$/.exec(path);
  if (order) return guarded('Orders', RESOURCES.orders, orderView(order[1], tools));
  const name = path.slice(1);
  // Every object has `constructor`, which is no view of the app.
  const resource = Object.hasOwn(RESOURCES, name) && RESOURCES[name];
  if (resource) return guarded(resource.title, resource, listView(resource, tools));
  return () => ({ title: 'Not found', node: element('section', { class: 'landing' }, element('h1', {}, 'There is nothing here'), element('p', {}, element('a', { href: '/', 'data-app': '' }, 'Back to the beginning'))) });
}

/** What views get from the app. */
const tools = {
  may,
  go: (choices, step) => {
    const query = choices.toString();
    const address = location.pathname + (query && `?${query}`);
    if (step === 'push') router.go(address);
    else router.replace(address);
  },
  /** A refusal because the sign-in is over shows the sign-in page, not an error. */
  onrefused: (error) => {
    if (!(error instanceof Problem) || error.status !== 401) return false;
    lost('You were signed out.');
    return true;
  },
};

function guarded(title, { permission }, view) {
  if (may(permission)) return view;
  if (!app.account) return () => ({ title, node: landing({ signIn, wanted: title, told: app.told }) });
  const missing = element('p', { class: 'lead' }, 'You lack the permission ', element('code', {}, permission), '.');
  return () => ({ title, node: element('section', { class: 'landing' }, element('h1', {}, title), missing) });
}

function home() {
  const node = app.account ? overview(app.account, may) : landing({ signIn, told: app.told });
  return { title: 'Demo shop', node };
}

/** The callback: the hub redirects the browser here. */
function callback(parameters) {
  const node = element('section', { class: 'landing' }, element('h1', {}, 'Signing you in …'));
  if (!parameters.has('state')) {
    queueMicrotask(() => router.replace('/'));
    return { title: 'Signing in', node };
  }
  // The code can be used once, so remove it from the history.
  history.replaceState(null, '', '/callback');
  finish(parameters).then(goOn, (error) => failed(error, node));
  return { title: 'Signing in', node };
}

/** The sign-in succeeded: go to the page that was asked for. */
async function goOn(address) {
  app.told = null;
  history.replaceState(null, '', address);
  await start();
  if (app.account) announce(`Signed in as ${nameOf(app.account)}`);
}

/** The sign-in failed. */
async function failed(error, node) {
  // A visitor who went back and used the sign-in page again is signed in already.
  if (error.code === 'stale' && isSignedIn()) return goOn('/');
  // A signed-in account stays signed in; if that is unknown now, the page with the error is enough.
  await recognize().catch(() => {});
  const way = (text, onclick, kind) => element('button', { type: 'button', class: kind, onclick }, text);
  const again = () => signIn('/');
  // The hub still has a session and would fail the same way: offer to sign out there.
  const ways = error.code === 'access_denied' ? [way('Sign in as somebody else', leave, 'primary'), way('Try again', again)] : [way('Sign in again', again, 'primary')];
  node.replaceChildren(element('h1', {}, 'That did not work'), shown(error), element('p', { class: 'ways' }, ways));
}

/** Signs out and clears the page: the browser may cache it and show it again on Back. */
function leave() {
  forget();
  return signOut();
}

/** Clears the view and the account. */
function forget() {
  app.account = null;
  router.clear();
  find('places').replaceChildren();
  find('who').replaceChildren();
}

/** Loads the signed-in account and shows its menu. */
async function recognize() {
  let account = null;
  if (isSignedIn()) {
    try {
      account = await me();
    } catch (error) {
      if (!(error instanceof Problem) || error.status !== 401) throw error;
      app.told = 'You were signed out.';
    }
  }
  app.account = account;
  frame();
}

function nameOf(account) {
  return account.username ?? account.email ?? account.code;
}

function frame() {
  const places = Object.entries(RESOURCES).filter(([, { permission }]) => may(permission)).map(([path, { title }]) => [`/${path}`, title]);
  if (may(REVENUE.permission)) places.push(['/revenue', 'Revenue']);
  find('places').replaceChildren(element('ul', {}, places.map(([href, title]) => element('li', {}, element('a', { href, 'data-app': '' }, title)))));
  const who = app.account
    ? [element('a', { href: '/', 'data-app': '', 'aria-label': `${nameOf(app.account)}: what you may see` }, nameOf(app.account)), element('button', { type: 'button', onclick: leave }, 'Sign out')]
    : [element('button', { type: 'button', onclick: () => signIn() }, 'Sign in')];
  find('who').replaceChildren(...who);
}

/** The sign-in is over. */
function lost(told) {
  app.account = null;
  app.told = told;
  frame();
  router.show({ afresh: true });
}

async function start() {
  try {
    // A sign-in in progress decides the account.
    if (location.pathname === '/callback' && new URLSearchParams(location.search).has('state')) frame();
    else await recognize();
    router.show({ afresh: true });
  } catch (error) {
    find('content').replaceChildren(element('section', { class: 'landing' }, element('h1', {}, 'Not now'), shown(error, start)));
  }
}

/** Another account may be signed in now. */
function startAnew() {
  forget();
  return start();
}

document.querySelector('.skip').addEventListener('click', (event) => {
  event.preventDefault();
  find('content').focus();
});
document.querySelector('.brand').setAttribute('data-app', '');
onSignInOrOut(() => (isSignedIn() ? startAnew() : lost('You signed out in another tab.')));
// The browser shows a cached page again: another account may be signed in now.
addEventListener('pageshow', (event) => event.persisted && startAnew());
start();
