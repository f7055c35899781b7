// The page at /graphql: a query, its variables, and the answer of this server.

import { load } from '/docs/catalog.js';
import { announce, copyButton, counted, element } from '/docs/dom.js';
import { parse, pretty } from '/docs/json.js';
import { example } from './queries.js';

const find = (id) => document.getElementById(id);
const page = { token: '', catalog: null, request: null };

/** Milliseconds without typing before the URL follows. */
const URL_DELAY = 250;
/** The characters of an answer that are shown at once. */
const MAX_SHOWN = 200_000;
/** The characters of a header value. */
const PRINTABLE_ASCII = /^[\x20-\x7e]*$/;
/** The query without a resource to ask for. */
const NO_RESOURCE = '{\n  __typename\n}\n';
let urlTimer;
/** Counts the requests for the resources: only the answer to the last one is shown. */
let lastLoad = 0;

/** Loads and lists the resources. Returns whether they are listed. */
async function reload() {
  lastLoad += 1;
  const own = lastLoad;
  let fault;
  const catalog = await load(page.token).catch((error) => { fault = error.message; return null; });
  if (own !== lastLoad) return false;
  page.catalog = catalog;
  if (catalog) list();
  else find('contexts').replaceChildren(element('p', { class: 'hint' }, `The resources cannot be loaded: ${fault}`));
  return catalog !== null;
}

/** Lists the resources that match the search. A click writes an example. */
function list() {
  const words = find('search').value.trim();
  const found = page.catalog.search(words);
  const button = (resource) => element('button', { type: 'button', onclick: () => choose(resource) }, resource.resource);
  const groups = page.catalog.contexts(found).map(([context, resources]) =>
    element('section', {}, element('h2', {}, context), element('ul', {}, resources.map((resource) => element('li', {}, button(resource))))),
  );
  find('contexts').replaceChildren(...groups);
  if (found.length === 0) find('contexts').append(element('p', { class: 'hint' }, words === '' ? 'None.' : 'Nothing of that name.'));
  find('search-state').textContent = words === '' ? '' : `${counted(found.length, 'resource')} found`;
}

function choose(resource) {
  write(example(resource, page.catalog), '');
  find('query').focus();
  run();
}

function write(query, variables) {
  find('query').value = query;
  find('variables').value = variables;
  find('variables-part').open = variables !== '';
  saveInUrl();
}

/** Writes the query to the fragment of the URL, without a history entry for each letter. */
function saveInUrl() {
  clearTimeout(urlTimer);
  urlTimer = setTimeout(() => {
    const state = new URLSearchParams({ query: find('query').value });
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
  const query = JSON.stringify(find('query').value);
  return variables === '' ? `{"query": ${query}}` : `{"query": ${query}, "variables": ${variables}}`;
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
    const headers = { 'Content-Type': 'application/json', Accept: 'application/graphql-response+json, application/json' };
    if (page.token) headers.Authorization = `Bearer ${page.token}`;
    const answer = await fetch('/graphql', { method: 'POST', headers, body: sent, signal: controller.signal, credentials: 'same-origin' });
    const text = await answer.text();
    if (page.request === controller) showAnswer(answer.status, text, Math.round(performance.now() - started));
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
  find('answer').textContent = text.slice(0, MAX_SHOWN);
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

/** Lists errors with their faults. A click moves the cursor to the place in the query. */
function showFaults(errors) {
  const items = errors.flatMap((error) => {
    const places = error.locations ?? [];
    const faults = error.extensions?.errors?.map(({ path, message }) => `${path}: ${message}`) ?? [error.message];
    return faults.map((message) => {
      const place = places[0] && element('span', { class: 'place' }, `${places[0].line}:${places[0].column}`);
      return element('li', {}, element('button', { type: 'button', class: 'fault-button', onclick: () => goTo(places[0]) }, place, ' ', message, ' ', element('code', {}, error.extensions?.code ?? '')));
    });
  });
  find('faults').replaceChildren(...(items.length > 0 ? [element('ul', { class: 'faults', 'aria-label': 'Errors' }, items)] : []));
}

function goTo(place) {
  const lines = find('query').value.split('\n');
  const offset = place ? lines.slice(0, place.line - 1).reduce((sum, line) => sum + line.length + 1, 0) + place.column - 1 : 0;
  find('query').focus();
  find('query').setSelectionRange(offset, offset);
}

function listen() {
  find('request').addEventListener('submit', (event) => {
    event.preventDefault();
    run();
  });
  find('request').addEventListener('input', saveInUrl);
  find('request').addEventListener('keydown', (event) => {
    if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    run();
  });
  find('cancel').addEventListener('click', () => page.request?.abort());
  find('tools').append(copyButton(() => find('answer').fullText ?? '', 'the answer', 'Copy answer'));
  find('search').addEventListener('input', () => page.catalog && list());
  document.querySelector('.skip').addEventListener('click', (event) => {
    event.preventDefault();
    find('content').focus();
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
  page.token = token;
  find('token-input').value = '';
  find('token-state').textContent = token === '' ? 'No token' : 'Token in use';
  find('token').open = false;
  find('token').querySelector('summary').focus();
  if (await reload()) announce(`${counted(page.catalog.resources.length, 'resource')} to query`);
}

async function open() {
  listen();
  find('side').open = !matchMedia('(max-width: 52rem)').matches;
  const state = new URLSearchParams(location.hash.slice(1));
  // A query from a link is shown and not run: the person reads it first.
  if (state.has('query')) write(state.get('query'), state.get('variables') ?? '');
  const isListed = await reload();
  if (state.has('query') || find('query').value !== '') return;
  const first = isListed && page.catalog.resources[0];
  write(first ? example(first, page.catalog) : NO_RESOURCE, '');
  run();
}

open();
