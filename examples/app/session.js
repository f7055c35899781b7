// Sign-in, sign-out, and a fresh access token. The satellite talks to the hub; no secret and no verifier reach the browser.

import { Problem } from './problem.js';
import * as tokens from './tokens.js';

/** Redirects to the hub; the browser comes back to this page. */
export function signIn(returnTo = location.pathname + location.search) {
  location.assign(`/auth/login?${new URLSearchParams({ return_to: returnTo })}`);
}

/** Why the sign-in failed, in our own words: anybody can write a link to the callback, so its text is not shown. */
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

/** Exchanges the parameters of the callback for tokens; returns the page to go to. */
export async function finish(parameters) {
  const { error: refused, code, state, iss } = Object.fromEntries(parameters);
  if (refused !== undefined) throw refusal(refused);
  const answer = await post('/auth/callback', { code, state, iss }).catch((error) => {
    // A login can be finished once: the browser's Back button leads to used sign-in pages.
    throw error.status === 400 ? refusal('stale') : error;
  });
  tokens.write(answer, Date.now());
  return answer.return_to ?? '/';
}

/** Whether this browser has tokens. */
export function isSignedIn() {
  return tokens.read() !== null;
}

/** A valid access token; null if nobody is signed in. */
export async function accessToken() {
  const held = tokens.read();
  if (!held) return null;
  return Date.now() < held.renewAt ? held.access : renewed(held.access);
}

/**
 * A new access token instead of an expired one; null if the sign-in is over.
 * One tab renews at a time, and waiting tabs take its result: a refresh token must not be used twice.
 */
export function renewed(stale) {
  return alone(async () => {
    const held = tokens.read();
    if (!held || held.access !== stale) return held?.access ?? null;
    try {
      const answer = await post('/auth/refresh', { refresh_token: held.refresh });
      tokens.write(answer, held.since);
      // Tabs are separate processes, and a lock may reach another tab before the stored tokens do. If that happens anyway,
      // the hub answers a repeat within its grace with the same pair.
      await new Promise((resolve) => { setTimeout(resolve, SETTLE); });
      return answer.access_token;
    } catch (error) {
      // The hub refuses: signed out elsewhere, or expired. Any other error may be temporary, and the tokens stay.
      if (!(error instanceof Problem) || error.status !== 400) throw error;
      tokens.clear();
      return null;
    }
  });
}

/** Ends the sign-in here and at the hub, and visits the hub to remove its cookie. */
export async function signOut() {
  // Not while a tab renews: it would store a token that is revoked.
  const next = await alone(async () => {
    const held = tokens.read();
    tokens.clear();
    // Whatever the server answers, this browser has removed its tokens. Without tokens, any string gets the same answer, and
    // the hub asks whether to sign out.
    return post('/auth/logout', { refresh_token: held?.refresh ?? 'none' }).catch(() => null);
  });
  location.assign(next?.logout_url ?? '/');
}

/** How long a renewal keeps the lock, in milliseconds, so that every tab sees the stored tokens. */
const SETTLE = 250;

let queue = Promise.resolve();

/** Runs one task at a time in all tabs of this browser; without locks (plain http) only in this tab. */
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
