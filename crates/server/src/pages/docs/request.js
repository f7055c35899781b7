// One request of the page. The text goes into the body unchanged, so that no digit is lost.

import { isBody } from './grammar.js';

/** The body for a text, and the JSON Pointer of the text in it. */
export function bodyOf(text, root) {
  if (!root) return { body: '', base: '/query' };
  return isBody(root) ? { body: text, base: '' } : { body: `{"query": ${text}}`, base: '/query' };
}

/** The pointer of a fault relative to the text; null if it points outside of it. */
export function pointerInText(pointer, base) {
  if (base === '') return pointer;
  if (pointer === base || pointer === '') return '';
  return pointer.startsWith(`${base}/`) ? pointer.slice(base.length) : null;
}

/** Sends a body and reads the whole answer: `{status, ok, text, bytes, milliseconds}`. A token that was refused is renewed once. */
export async function send(path, body, { session, signal, onProgress }) {
  const started = performance.now();
  let answer = await post(path, body, await session.headers(), signal);
  if (answer.status === 401 && (await session.renew())) answer = await post(path, body, await session.headers(), signal);
  const { text, bytes } = await readAll(answer, onProgress);
  return { status: answer.status, ok: answer.ok, text, bytes, milliseconds: Math.round(performance.now() - started) };
}

function post(path, body, headers, signal) {
  return fetch(path, { method: 'POST', headers: { 'Content-Type': 'application/json', Accept: 'application/json', ...headers }, body, signal, credentials: 'same-origin' });
}

async function readAll(answer, onProgress) {
  if (!answer.body) return { text: '', bytes: 0 };
  const reader = answer.body.getReader();
  const decoder = new TextDecoder();
  const pieces = [];
  let bytes = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    bytes += value.length;
    pieces.push(decoder.decode(value, { stream: true }));
    onProgress?.(bytes);
  }
  return { text: pieces.join('') + decoder.decode(), bytes };
}

/** The problem of a refusal; an empty object if the text has none. */
export function problemOf(text) {
  try {
    return JSON.parse(text) ?? {};
  } catch {
    return {};
  }
}

/** The same request for a terminal. */
export function curl(origin, path, body, isSignedIn) {
  const quote = (word) => `'${word.replaceAll("'", "'\\''")}'`;
  const lines = [`curl ${quote(origin + path)}`, "-H 'Content-Type: application/json'"];
  // The token itself stays out of a text that people share.
  if (isSignedIn) lines.push('-H "Authorization: Bearer $TOKEN"');
  lines.push(body === '' ? "-d '{}'" : `-d ${quote(body)}`);
  return lines.join(' \\\n  ');
}
