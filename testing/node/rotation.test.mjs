// A key rotation on two hubs on one PostgreSQL, with two third-party verifiers: jose here, and Authlib in Python. Both cache the
// key set for a while and never load an unknown key; neither may refuse a token.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { after, before, test } from 'node:test';

import * as jose from 'jose';

import { PASSWORD, USERNAME, startHub } from './hub.mjs';
import { execute } from './postgres.mjs';
import { startServer } from './server.mjs';

/** The lifetime of the cached key set in seconds. */
const KEPT = 2;
const DEADLINE = 60_000;
const program = fileURLToPath(new URL('../python/verifier.py', import.meta.url));

const cluster = process.env.PERISTYLE_TEST_POSTGRES;
const name = `rotation_${process.pid}`;

const hubs = [];
let python;
before(async () => {
  assert.ok(cluster, 'PERISTYLE_TEST_POSTGRES is not set: run ./scripts/test, or ./scripts/services node --test …');
  assert.ok(process.env.PERISTYLE_TEST_PYTHON, 'PERISTYLE_TEST_PYTHON is not set: run ./scripts/test, which makes an environment with Authlib in it');
  await execute(cluster, `CREATE DATABASE ${name}`);
  const environment = { OAUTH_STRATEGY: 'local-provider', DATABASE_URL: cluster.replace(/\/postgres$/, `/${name}`), APP_URL: 'http://hub.test' };
  hubs.push(await startHub({ environment }));
  hubs.push(await startServer({ environment: { ...environment, OAUTH_PRIVATE_KEY_PATH: `${hubs[0].folder}/.keys/oauth-private.key` } }));
});
after(async () => {
  python?.kill();
  for (const hub of hubs.reverse()) await hub.close();
  await execute(cluster, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
});

/** Waits until a condition holds. */
async function until(what, holds) {
  const deadline = Date.now() + DEADLINE;
  while (!(await holds())) assert.ok(Date.now() < deadline, `waited in vain: ${what}`);
}

async function token(hub) {
  const body = new URLSearchParams({ grant_type: 'password', username: USERNAME, password: PASSWORD });
  const authorization = `Basic ${btoa(`${hubs[0].clientId}:${hubs[0].clientSecret}`)}`;
  const answer = await fetch(`${hub.origin}/token`, { method: 'POST', body, headers: { authorization } });
  assert.equal(answer.status, 200, await answer.clone().text());
  return (await answer.json()).access_token;
}

const kidOf = (text) => jose.decodeProtectedHeader(text).kid;
const published = async (hub) => (await (await fetch(`${hub.origin}/.well-known/jwks.json`)).json()).keys.map((key) => key.kid);

/** jose with the cached keys of each hub; until the cache expires, an unknown key is refused. */
function josef() {
  const expected = { issuer: 'http://hub.test', audience: hubs[0].clientId, typ: 'at+jwt', algorithms: ['RS256'] };
  const sets = hubs.map((hub) => jose.createRemoteJWKSet(new URL('/.well-known/jwks.json', hub.origin), { cacheMaxAge: KEPT * 1000, cooldownDuration: 600_000 }));
  return (text) => Promise.all(sets.map((set) => jose.jwtVerify(text, set, expected)));
}

/** Authlib in Python, which prints a line for each token. */
function authlib() {
  const environment = { PATH: process.env.PATH, HUBS: hubs.map((hub) => hub.origin).join(' '), KEPT: String(KEPT), ISSUER: 'http://hub.test', AUDIENCE: hubs[0].clientId };
  python = spawn(process.env.PERISTYLE_TEST_PYTHON, [program], { env: environment, stdio: ['pipe', 'pipe', 'inherit'] });
  const lines = createInterface({ input: python.stdout })[Symbol.asyncIterator]();
  return async (text) => {
    python.stdin.write(`${text}\n`);
    const { value, done } = await lines.next();
    assert.ok(!done && value === 'good', `Authlib: ${value}`);
  };
}

// contract I23.20
test('no token is refused while the key changes', { timeout: 180_000 }, async () => {
  const [byJose, byAuthlib] = [josef(), authlib()];
  const first = await token(hubs[0]);
  const old = kidOf(first);
  const seen = [first];
  const look = async () => {
    for (const hub of hubs) seen.push(await token(hub));
    // Every issued token is verified again and again, at least the oldest and the newest.
    for (const text of [...new Set([seen[0], ...seen.slice(-4)])]) {
      await byJose(text);
      await byAuthlib(text);
    }
  };
  await look();
  const announced = JSON.parse(hubs[0].run('keys', 'rotate', '--json'));
  assert.equal(announced.state, 'announced');
  const isKnown = async (hub) => (await published(hub)).includes(announced.kid);
  await until('both hubs publish the announced key', async () => {
    await look();
    return (await isKnown(hubs[0])) && (await isKnown(hubs[1]));
  });
  assert.ok(seen.every((text) => kidOf(text) === old), 'an announced key does not sign');
  assert.throws(() => hubs[0].run('keys', 'rotate', '--after', '10m'), 'it may not sign before its time');
  const known = Date.now();
  await until('the verifiers have fetched the keys again', async () => {
    await look();
    return Date.now() > known + (KEPT + 1) * 1000;
  });
  assert.equal(JSON.parse(hubs[0].run('keys', 'rotate', '--after', `${KEPT + 1}s`, '--json')).state, 'signing');
  await until('both hubs sign with the new key', async () => {
    await look();
    return seen.slice(-2).every((text) => kidOf(text) === announced.kid);
  });
  await look();
  assert.deepEqual([...new Set(seen.map(kidOf))], [old, announced.kid]);
  for (const hub of hubs) assert.deepEqual((await published(hub)).sort(), [old, announced.kid].sort(), 'the old one stays published');
  python.stdin.end();
  const [code] = python.exitCode === null ? await once(python, 'exit') : [python.exitCode];
  assert.equal(code, 0);
});
