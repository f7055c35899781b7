// The page at /graphql: a query, its variables, and the answer of this server, with the rights of the account that signed in.

import { AccountMenu, loadAccount } from '/docs/account.js';
import { load } from '/docs/catalog.js';
import { announce, copyButton, counted, element } from '/docs/dom.js';
import { Editor } from '/docs/editor.js';
import { parse, pretty } from '/docs/json.js';
import { exampleList } from '/docs/lists.js';
import { Menu } from '/docs/menu.js';
import { GRAPHQL_LANGUAGE, colouredJson } from '/docs/paint.js';
import { GRAPHQL_RAN } from '/docs/remembered.js';
import { Session } from '/docs/session.js';
import { graphql } from '/docs/snippets.js';
import { withheldLine } from '/docs/withheld.js';
import { example, isReachable, writeExample } from './queries.js';

const find = (id) => document.getElementById(id);
const page = { catalog: null, resource: null, request: null, notice: '' };
const session = new Session(document.documentElement.dataset.signIn, '/graphql', lost);
const account = new AccountMenu(session, { onToken: useToken, onSignOut: signOut });
const editor = new Editor({ language: GRAPHQL_LANGUAGE, id: 'query', describedBy: 'query-hint', onInput: () => {}, onRun: runInSight });
const examples = new Menu('Examples', () => examplesOf(page.resource), { id: 'examples' });

/** Milliseconds without typing before the URL follows. */
const URL_DELAY = 250;
/** The characters of an answer that are shown at once. */
const MAX_SHOWN = 200_000;
/** The query without a resource to ask for. */
const NO_RESOURCE = '{\n  __typename\n}\n';
const narrow = matchMedia('(max-width: 52rem)');
let urlTimer;
/** Counts the requests for the resources: only the answer to the last one is shown. */
let lastLoad = 0;

/** Loads and lists the resources of the account. Returns whether they are listed. */
async function reload() {
  lastLoad += 1;
  const own = lastLoad;
  try {
    const token = await session.token();
    const [catalog, signedIn] = await Promise.all([load(token), loadAccount(session)]);
    if (own !== lastLoad) return false;
    page.catalog = catalog;
    account.show(signedIn);
    list();
    notify(page.notice);
    return true;
  } catch (error) {
    if (own !== lastLoad) return false;
    page.catalog = null;
    account.show(null);
    find('contexts').replaceChildren();
    notify(`The resources cannot be loaded: ${error.message}`);
    return false;
  } finally {
    page.notice = '';
  }
}

/** Shows a notice above the editor, or what an account without resources can do. */
function notify(text) {
  const isEmpty = page.catalog?.resources.length === 0;
  const withheld = isEmpty && withheldLine(page.catalog, session);
  const none = isEmpty && page.catalog.withheld === 0 && element('p', { class: 'notice' }, 'The manifest declares no resources.');
  if (withheld) withheld.className = 'notice';
  find('notice').replaceChildren(...[text !== '' && element('p', { class: 'notice', role: 'alert' }, text), withheld, none].filter(Boolean));
}

/** The resources that GraphQL has something for. */
const reachable = (resources) => resources.filter(isReachable);

/** Lists the resources that match the search. A click writes an example. */
function list() {
  const words = find('search').value.trim();
  const found = reachable(page.catalog.search(words));
  const button = (resource) => element('button', { type: 'button', onclick: () => choose(resource) }, resource.resource);
  const groups = page.catalog.contexts(found).map(([context, resources]) =>
    element('section', {}, element('h2', {}, context), element('ul', {}, resources.map((resource) => element('li', {}, button(resource))))),
  );
  const withheld = words === '' && page.catalog.resources.length > 0 ? withheldLine(page.catalog, session) : null;
  find('contexts').replaceChildren(...groups, ...[withheld].filter(Boolean));
  if (found.length === 0) find('contexts').append(element('p', { class: 'hint' }, words === '' ? 'None.' : 'Nothing of that name.'));
  find('search-state').textContent = words === '' ? '' : `${counted(found.length, 'resource')} found`;
}

function choose(resource) {
  page.resource = resource;
  // On a narrow screen the list covers the editor.
  if (narrow.matches) find('side').open = false;
  const { query, variables = '', isQuery } = example(resource, page.catalog);
  // A mutation waits for a person, even a dry run.
  if (!isQuery) {
    offer({ query, variables });
    return;
  }
  write(query, variables);
  runInSight();
}

/** The examples of a resource: its statements as queries, and a dry run of a write. */
function examplesOf(resource) {
  if (!resource) return element('p', { class: 'hint' }, 'Choose a resource from the list at the side.');
  const onChoose = ({ text, fields, operation = 'list' }) => {
    examples.close();
    const { query, variables } = graphql({ resource, operation, text, fields }, page.catalog);
    write(query, variables);
    runInSight();
  };
  const isListed = resource.operations.some(({ name, graphql: field }) => name === 'list' && field);
  const statements = isListed ? exampleList(resource, page.catalog, { onChoose }) : [];
  return [element('p', { class: 'hint' }, resource.name), ...statements, mutationExample(resource)].filter(Boolean);
}

function mutationExample(resource) {
  const mutation = writeExample(resource, page.catalog);
  if (!mutation) return null;
  const open = () => {
    examples.close();
    offer(mutation);
  };
  const button = element('button', { type: 'button', onclick: open }, element('code', {}, 'mutation'), element('span', { class: 'hint' }, 'a dry run that you can change'));
  return element('section', {}, element('h3', {}, 'Write'), element('ul', {}, element('li', {}, button)));
}

/** Writes a document that a person reads before it runs. */
function offer({ query, variables }) {
  page.request?.abort();
  page.request = null;
  write(query, variables);
  show('', 'Not run yet', '');
  find('cancel').hidden = true;
  editor.area.focus();
}

function write(query, variables) {
  editor.text = query;
  find('variables').value = variables;
  find('variables-part').open = variables !== '';
  saveInUrl();
}

/** Writes the query to the fragment of the URL, without a history entry for each letter. */
function saveInUrl() {
  clearTimeout(urlTimer);
  urlTimer = setTimeout(() => {
    const state = new URLSearchParams({ query: editor.text });
    if (find('variables').value.trim() !== '') state.set('variables', find('variables').value);
    history.replaceState(null, '', `#${state}`);
  }, URL_DELAY);
}

/** The body of a request. The variables go into it as they are written, so that no digit is lost; undefined if they are no object. */
function body() {
  const variables = find('variables').value.trim();
  const { root, faults } = parse(variables);
  const isObject = variables === '' || (faults.length === 0 && root.kind === 'object');
  find('variables-fault').textContent = isObject ? '' : `The variables must be a JSON object${faults.length > 0 ? `: ${faults[0].message}` : ''}.`;
  find('variables').setAttribute('aria-invalid', String(!isObject));
  if (!isObject) return undefined;
  const query = JSON.stringify(editor.text);
  return variables === '' ? `{"query": ${query}}` : `{"query": ${query}, "variables": ${variables}}`;
}

/** Runs the document, and brings the answer into sight if the window shows nothing of it. */
function runInSight() {
  const answer = document.querySelector('.half.answer');
  if (answer.getBoundingClientRect().top > window.innerHeight * 0.7) answer.scrollIntoView({ block: 'start' });
  run();
}

/** Sends the query and shows the answer. A new run replaces one that still waits. */
async function run() {
  const sent = body();
  page.request?.abort();
  page.request = null;
  if (sent === undefined) {
    show('bad', 'Not sent', '');
    find('variables-part').open = true;
    find('variables').focus();
    return;
  }
  const controller = new AbortController();
  page.request = controller;
  find('cancel').hidden = false;
  setStatus('', 'Running…');
  const started = performance.now();
  try {
    const answer = await send(sent, controller.signal);
    const text = await answer.text();
    if (page.request !== controller) return;
    showAnswer(answer.status, text, Math.round(performance.now() - started));
    remember();
  } catch (error) {
    if (page.request !== controller) return;
    show('bad', error.name === 'AbortError' ? 'Cancelled' : 'The server cannot be reached, or the connection broke off.', '');
  } finally {
    if (page.request === controller) {
      page.request = null;
      find('cancel').hidden = true;
    }
  }
}

/** Sends a body. A token that was refused is renewed once. */
async function send(text, signal) {
  const post = async () => fetch('/graphql', { method: 'POST', headers: { 'Content-Type': 'application/json', Accept: 'application/graphql-response+json, application/json', ...(await session.headers()) }, body: text, signal, credentials: 'same-origin' });
  const answer = await post();
  return answer.status === 401 && (await session.renew()) ? post() : answer;
}

const written = () => JSON.stringify([editor.text, find('variables').value]);

/** Remembers the document that ran, so that it runs again after a reload. A document with a mutation never runs by itself. */
function remember() {
  const isQuery = !/\bmutation\b/.test(editor.text);
  try {
    if (isQuery) sessionStorage.setItem(GRAPHQL_RAN, written());
    else sessionStorage.removeItem(GRAPHQL_RAN);
  } catch {
    // The storage is full or forbidden: the document waits for Run.
  }
}

function showAnswer(status, text, milliseconds) {
  const { root, faults } = parse(text);
  let errors = [];
  try {
    errors = JSON.parse(text).errors ?? [];
  } catch {
    // An answer that is no JSON is shown as it is.
  }
  const outcome = errors.length > 0 ? counted(errors.length, 'error') : `${text.length.toLocaleString('en')} characters`;
  show(errors.length > 0 || status >= 400 ? 'bad' : 'good', `${status} · ${outcome} · ${milliseconds} ms`, faults.length === 0 && root ? pretty(root, text) : text);
  showFaults(errors);
}

function show(kind, line, text) {
  setStatus(kind, line);
  find('answer').replaceChildren(...colouredJson(text.slice(0, MAX_SHOWN)));
  find('more').hidden = text.length <= MAX_SHOWN;
  find('more').textContent = text.length <= MAX_SHOWN ? '' : `The first ${MAX_SHOWN.toLocaleString('en')} of ${counted(text.length, 'character')} are shown. Set a smaller limit to see all.`;
  find('answer').fullText = text;
  showFaults([]);
  announce(line);
}

function setStatus(kind, line) {
  find('status').className = `status ${kind}`;
  find('status').textContent = line;
}

/** Lists errors with their faults, and marks their places. A click moves the cursor there. */
function showFaults(errors) {
  const faults = errors.flatMap((error) => {
    const [place] = error.locations ?? [];
    const messages = error.extensions?.errors?.map(({ path, message }) => `${path}: ${message}`) ?? [error.message];
    return messages.map((message) => ({ message, place, code: error.extensions?.code ?? '', start: place ? offsetOf(place) : 0 }));
  });
  const item = ({ message, place, code, start }) =>
    element('li', {}, element('button', { type: 'button', class: 'fault-button', onclick: () => editor.focusAt(start) }, place && element('span', { class: 'place' }, `${place.line}:${place.column}`), ' ', message, ' ', element('code', {}, code)));
  find('faults').replaceChildren(...(faults.length > 0 ? [element('ul', { class: 'faults', 'aria-label': 'Errors' }, faults.map(item))] : []));
  editor.mark(faults.filter(({ place }) => place).map(({ start, message }) => ({ start, end: start + wordAt(start).length, message })));
}

function offsetOf({ line, column }) {
  return editor.text.split('\n').slice(0, line - 1).reduce((sum, text) => sum + text.length + 1, 0) + column - 1;
}

const wordAt = (offset) => /^\w+|^./.exec(editor.text.slice(offset))?.[0] ?? '';

function listen() {
  find('editor').append(editor.node);
  find('request').addEventListener('submit', (event) => {
    event.preventDefault();
    runInSight();
  });
  find('request').addEventListener('input', saveInUrl);
  find('request').addEventListener('keydown', (event) => {
    // The editor runs a document by itself.
    if (event.defaultPrevented || event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    runInSight();
  });
  find('cancel').addEventListener('click', () => page.request?.abort());
  find('tools').append(copyButton(() => find('answer').fullText ?? '', 'the answer', 'Copy answer'));
  find('search').addEventListener('input', () => page.catalog && list());
  document.querySelector('.skip').addEventListener('click', (event) => {
    event.preventDefault();
    find('content').focus();
  });
  find('actions').prepend(examples.node);
}

async function useToken(token) {
  session.use(token);
  account.changed('');
  if (await reload()) announce(`${counted(page.catalog.resources.length, 'resource')} to query`);
}

async function signOut() {
  try {
    await session.signOut();
  } catch (error) {
    page.notice = `The session at the hub could not be ended: ${error.message}. Sign out at the hub.`;
  }
  show('', 'Not run yet', '');
  if (await reload()) account.changed('Signed out');
}

/** The session has ended at the hub. */
function lost() {
  page.notice = 'You were signed out.';
  reload();
}

async function open() {
  listen();
  find('side').open = !narrow.matches;
  const outcome = await session.open();
  if (outcome === 'leaving') return;
  session.restorePlace();
  page.notice = outcome;
  const state = new URLSearchParams(location.hash.slice(1));
  // A query from a link is shown and not run: the person reads it first. One that ran in this tab runs again.
  if (state.has('query')) write(state.get('query'), state.get('variables') ?? '');
  const isListed = await reload();
  if (state.has('query')) {
    if (sessionStorage.getItem(GRAPHQL_RAN) === written()) run();
    return;
  }
  if (editor.text !== '') return;
  const first = isListed && reachable(page.catalog.resources).find((resource) => example(resource, page.catalog).isQuery);
  page.resource = first || null;
  write(first ? example(first, page.catalog).query : NO_RESOURCE, '');
  run();
}

open();
