// A temporary hub with one account and one client, made with the command line as in the guide, and a person who signs in
// with the form.

import { execFileSync } from 'node:child_process';

import { startServer } from './server.mjs';

export const USERNAME = 'ana';
export const PASSWORD = 'correct horse battery staple';
export const REDIRECT = 'http://127.0.0.1:9/callback';

/** Starts a hub. Returns the result of `startServer` with the id and secret of the client. */
export async function startHub({ name = 'Web', redirect = REDIRECT, environment = {} } = {}) {
  const secrets = {};
  const server = await startServer({
    environment: { OAUTH_STRATEGY: 'local-provider', ...environment },
    prepare(program, options) {
      const run = (words, input) => execFileSync(program, words, { ...options, input, encoding: 'utf8' });
      run(['keys', 'generate']);
      run(['role', 'add', '--name', 'reader', '--permission', 'iam.account.get']);
      run(['account', 'add', '--username', USERNAME, '--email', 'ana@example.org', '--role', 'reader', '--password-stdin'], `${PASSWORD}\n`);
      const grants = ['authorization_code', 'refresh_token', 'password'].flatMap((grant) => ['--grant', grant]);
      Object.assign(secrets, JSON.parse(run(['client', 'add', '--id', 'web', '--name', name, '--redirect', redirect, ...grants, '--json'])));
    },
  });
  return { ...server, clientId: secrets.id, clientSecret: secrets.secret };
}

/** A browser without JavaScript: follows redirects within the hub, keeps cookies, fills in the form. */
export class Person {
  #cookies = new Map();

  /** Opens a URL of the hub and signs in if asked. Returns the URL outside the hub where the redirects end. */
  async authorize(address) {
    const { origin } = new URL(address);
    let next = new URL(address);
    let form;
    for (let step = 0; step < 10; step += 1) {
      if (next.origin !== origin) return next;
      const headers = { accept: 'text/html', cookie: [...this.#cookies].map(([name, value]) => `${name}=${value}`).join('; ') };
      const browser = { 'sec-fetch-site': 'same-origin', origin };
      const answer = await fetch(next, form ? { method: 'POST', body: form, headers: { ...headers, ...browser }, redirect: 'manual' } : { headers, redirect: 'manual' });
      for (const cookie of answer.headers.getSetCookie()) {
        const [pair] = cookie.split(';');
        this.#cookies.set(pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1));
      }
      if (answer.status >= 300 && answer.status < 400) {
        next = new URL(answer.headers.get('location'), next);
        form = undefined;
        continue;
      }
      const page = await answer.text();
      if (answer.status !== 200 || form) throw new Error(`${answer.status} at ${next}: ${page}`);
      ({ next, form } = filled(page, next));
    }
    throw new Error('too many redirects');
  }
}

/** The filled-in sign-in form, and its target. */
function filled(page, base) {
  const attribute = (tag, name) => unescaped(tag.match(new RegExp(`\\b${name}="([^"]*)"`))?.[1] ?? '');
  const tag = page.match(/<form\b[^>]*method="post"[^>]*>/i)?.[0];
  if (!tag) throw new Error(`no form: ${page}`);
  const form = new URLSearchParams();
  for (const [input] of page.matchAll(/<input\b[^>]*>/gi)) {
    const type = attribute(input, 'type') || 'text';
    const value = { text: USERNAME, email: USERNAME, password: PASSWORD }[type] ?? attribute(input, 'value');
    if (type !== 'submit') form.set(attribute(input, 'name'), value);
  }
  return { next: new URL(attribute(tag, 'action') || base, base), form };
}

function unescaped(text) {
  return text.replace(/&(amp|lt|gt|quot|#39|#x27);/g, (_, name) => ({ amp: '&', lt: '<', gt: '>', quot: '"' })[name] ?? "'");
}
