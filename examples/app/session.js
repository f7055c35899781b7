// Signing in and out, and an access token that is always fresh. The satellite does the talking to the hub; no secret and
// no verifier ever comes here.

import { Problem } from './problem.js';
import * as tokens from './tokens.js';

/** Leaves for the hub, to come back to where we are. */
export function signIn(returnTo = location.pathname + location.search) {
  location.assign(`/auth/login?${new URLSearchParams({ return_to: returnTo })}`);
}

/** Why nobody was signed in, in our own words: anybody can write a link to the callback, and what it says is theirs. */
const REFUSALS = new Map([
  ['access_denied', ['This account may not use the app', 'The app is closed to all but those who are listed. Ask whoever runs it to list you, or sign in as somebody else.']],
  ['login_required', ['You are not signed in at the hub', 'Sign in there, and you come back here.']],
  ['temporarily_unavailable', ['The hub cannot sign you in now', 'Try again in a moment.']],
  ['server_error', ['The hub cannot sign you in now', 'Try again in a moment.']],
  ['stale', ['This sign-in is over', 'It was finished before, took too long, or is not known here. Begin again.']],
]);
const REFUSED = ['The hub did not sign you in', 'Try again. If it happens every time, tell whoever runs the app.'];

function refusal(code) {
  const [title, detail] = REFUSALS.get(code) ?? REFUSED;
  return new Problem(0, { title, detail, error: code });
}

/** What the hub sent the browser back with becomes tokens; gives where to go on. */
export async function finish(parameters) {
  const { error: refused, code, state, iss } = Object.fromEntries(parameters);
  if (refused !== undefined) throw refusal(refused);
  const answer = await post('/auth/callback', { code, state, iss }).catch((error) => {
    // A login can be finished once: the browser's Back leads to sign-in pages that were used already.
    throw error.status === 400 ? refusal('stale') : error;
  });
  tokens.write(answer, Date.now());
  return answer.return_to ?? '/';
}

/** Whether somebody is signed in, as far as this browser knows. */
export function isSignedIn() {
  return tokens.read() !== null;
}

/** A token that is good for the next request; null when nobody is signed in. */
export async function accessToken() {
  const held = tokens.read();
  if (!held) return null;
  return Date.now() < held.renewAt ? held.access : renewed(held.access);
}

/**
 * A new access token in place of one that is not good any more; null when the sign-in is over.
 * One tab renews at a time, and whoever waited for it takes what it got: a refresh token must not be used twice.
 */
export function renewed(stale) {
  return alone(async () => {
    const held = tokens.read();
    if (!held || held.access !== stale) return held?.access ?? null;
    try {
      const answer = await post('/auth/refresh', { refresh_token: held.refresh });
      tokens.write(answer, held.since);
      // Tabs live in processes of their own, and a lock may pass from one to another sooner than what is stored does. Should
      // that happen all the same, the hub answers a repeat within ten seconds with the same pair.
      await new Promise((resolve) => { setTimeout(resolve, SETTLE); });
      return answer.access_token;
    } catch (error) {
      // The hub refuses: signed out elsewhere, or too long ago. Anything else may pass, and the tokens stay.
      if (!(error instanceof Problem) || error.status !== 400) throw error;
      tokens.clear();
      return null;
    }
  });
}

/** Ends the sign-in, here and at the hub, and passes by the hub to lose its cookie too. */
export async function signOut() {
  // Not while a tab renews: it would keep a token that was given back already.
  const next = await alone(async () => {
    const held = tokens.read();
    tokens.clear();
    // Whatever the server says, this browser has forgotten its tokens. Somebody whom the hub knows and the app does not has
    // none to give back; any text gets the same answer, and the hub asks them whether to sign out.
    return post('/auth/logout', { refresh_token: held?.refresh ?? 'none' }).catch(() => null);
  });
  location.assign(next?.logout_url ?? '/');
}

/** How long a renewal keeps the lock, in milliseconds, until every tab sees what it stored. */
const SETTLE = 250;

let queue = Promise.resolve();

/** One at a time, in all tabs of this browser. Without locks (on plain http) at least in this one. */
function alone(work) {
  if (navigator.locks) return navigator.locks.request('demo-shop.renewal', work);
  const turn = queue.then(work);
  queue = turn.catch(() => {});
  return turn;
}

async function post(address, body) {
  const answer = await fetch(address, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Accept: 'application/json' },
    body: JSON.stringify(body),
  });
  if (!answer.ok) throw await Problem.of(answer);
  return answer.json();
}
