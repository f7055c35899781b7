// Requests to the satellite: each has a fresh token, and is repeated once if the token is refused.

import { Problem } from './problem.js';
import { accessToken, renewed } from './session.js';

const listeners = new Set();

/** Called for every statement and every write with its answer: `{address, body, rows, milliseconds, isRefused}`. */
export function onStatement(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Sends a statement to a resource: `ask('/api/shop/customers/paginate', {where: …})`. */
export function ask(address, query, { signal } = {}) {
  return post(address, { query }, signal);
}

/** Writes rows of a resource: `write('/api/shop/orders/update/7', {payload: {…}})`. */
export function write(address, body) {
  return post(address, body);
}

async function post(address, body, signal) {
  const tell = (answer) => listeners.forEach((listener) => listener({ address, body, ...answer }));
  tell({});
  const started = performance.now();
  const options = { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body), signal };
  const answer = await request(address, options).catch((error) => {
    if (!signal?.aborted) tell({ isRefused: true });
    throw error;
  });
  tell({ rows: answer.rows?.length ?? (Array.isArray(answer) ? answer.length : 1), milliseconds: Math.round(performance.now() - started) });
  return answer;
}

/** The signed-in account. */
export function me() {
  return request('/auth/me');
}

async function request(address, options = {}) {
  const token = await accessToken();
  let answer = await send(address, options, token);
  if (answer.status === 401 && token) {
    const next = await renewed(token);
    if (next) answer = await send(address, options, next);
  }
  if (!answer.ok) throw await Problem.of(answer);
  return answer.json();
}

function send(address, options, token) {
  const headers = { Accept: 'application/json', ...options.headers };
  if (token) headers.Authorization = `Bearer ${token}`;
  return fetch(address, { ...options, headers });
}
