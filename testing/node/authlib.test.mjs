// Authlib, in Python: it prints a URL to open, and reads the URL at which the browser ends.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { Person, REDIRECT, startHub } from './hub.mjs';

let hub;
let client;
before(async () => {
  hub = await startHub();
});
after(async () => {
  // After a failed check the client still waits for its input, and Node waits for the client.
  client?.kill();
  await hub?.close();
});

test('Authlib', async () => {
  const program = fileURLToPath(new URL('../python/authlib_client.py', import.meta.url));
  const python = process.env.PERISTYLE_TEST_PYTHON;
  assert.ok(python, 'PERISTYLE_TEST_PYTHON is not set: run ./scripts/test, which makes an environment with Authlib in it');
  const environment = { PATH: process.env.PATH, HUB: hub.origin, CLIENT_ID: hub.clientId, CLIENT_SECRET: hub.clientSecret, REDIRECT, AUTHLIB_INSECURE_TRANSPORT: '1' };
  client = spawn(python, [program], { env: environment, stdio: ['pipe', 'pipe', 'pipe'] });
  let errors = '';
  client.stderr.on('data', (piece) => { errors += piece; });
  const ended = once(client, 'exit');
  for await (const line of createInterface({ input: client.stdout })) {
    const [word, url] = line.split(' ');
    assert.equal(word, 'open');
    client.stdin.end(`${await new Person().authorize(url)}\n`);
  }
  const [code] = await ended;
  assert.equal(code, 0, errors);
});
