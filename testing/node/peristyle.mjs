// Starts `peristyle serve` on a SQLite file in a folder of its own, and leaves nothing behind.
// The program's path is in PERISTYLE_BINARY.

import { execFile, spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

// How long the server may take to answer for the first time, and to end.
const PATIENCE = 20_000;

/** A small shop: a key of each kind, a relation each way, an enum, a mask, a hidden field. */
export const MANIFEST = `
[resource.shop.customer.fields]
id = { type = "bigint", key = true }
name = { type = "text", null = false }
email = { type = "text", mask = "email" }
apiKey = { type = "text", hidden = true }
status = { type = "enum", values = ["lead", "active", "gone"] }
balance = "decimal"
createdAt = "timestamp"
tags = "text[]"
profile = "json"

[resource.shop.customer.relations]
orders = { many = "shop.order", on = { id = "customerId" } }

[resource.shop.order.fields]
id = { type = "int", key = true }
customerId = "bigint"
total = "decimal"

[resource.shop.order.relations]
customer = { one = "shop.customer", on = { customerId = "id" } }
`;

export const SCRIPT = `
CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT NOT NULL, email TEXT, api_key TEXT, status TEXT, balance TEXT, created_at TEXT,
  tags TEXT, profile TEXT);
INSERT INTO customers VALUES
  (1, 'Ana', 'ana@example.org', 'key-of-ana', 'active', '10.50', '2024-05-01T10:00:00.250000Z', '["new","vip"]', '{"a":1}'),
  (2, 'Bo', NULL, 'key-of-bo', 'lead', '0.00', NULL, '[]', NULL),
  (3, 'Cleo', 'cleo@example.org', 'key-of-cleo', 'gone', NULL, '1999-12-31T23:59:59.000000Z', NULL, '[1,"x",null]');
CREATE TABLE orders (id INTEGER PRIMARY KEY, customer_id INTEGER REFERENCES customers, total TEXT);
CREATE INDEX orders_of_customer ON orders (customer_id);
INSERT INTO orders VALUES (10, 1, '19.99'), (11, 1, '5.00'), (12, 3, NULL);
`;

/** A port that nobody listens on. */
export async function freePort() {
  const server = createServer();
  await new Promise((resolve, reject) => server.once('error', reject).listen(0, '127.0.0.1', resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** The program under test. */
export function binary() {
  const path = process.env.PERISTYLE_BINARY;
  if (!path) throw new Error('PERISTYLE_BINARY is not set: run ./scripts/test, or set it to the path of a built `peristyle`');
  return path;
}

/**
 * Starts a server. `manifest`, `script` (SQL for SQLite) and `environment` may be given; what is returned has `url`,
 * `folder` and `stop()`.
 */
export async function start({ manifest = MANIFEST, script = SCRIPT, environment = {} } = {}) {
  const program = binary();
  const folder = await mkdtemp(join(tmpdir(), 'peristyle-node-'));
  let child;
  try {
    const [database, resources, sql] = ['shop.db', 'peristyle.toml', 'shop.sql'].map((name) => join(folder, name));
    await writeFile(resources, manifest);
    await writeFile(sql, script);
    // Node has no SQLite of its own before version 22.
    const fill = 'import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.executescript(open(sys.argv[2]).read()); c.close()';
    await run('python3', ['-c', fill, database, sql]);
    const listen = `127.0.0.1:${await freePort()}`;
    const variables = { DATABASE_URL: `sqlite://${database}`, PERISTYLE_MANIFEST: resources, LISTEN: listen, LOG: 'warn' };
    // Only what is said here: a variable of the person who runs the tests must not change them.
    const env = { PATH: process.env.PATH, ...variables, ...environment };
    child = spawn(program, ['serve'], { cwd: folder, env, stdio: ['ignore', 'ignore', 'pipe'] });
    let log = '';
    child.stderr.on('data', (data) => (log += data));
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.once('error', (error) => (log += error));
    const url = `http://${listen}`;
    await ready(url, child, () => log);
    const stop = async () => {
      child.kill('SIGTERM');
      const timer = setTimeout(() => child.kill('SIGKILL'), PATIENCE);
      await ended;
      clearTimeout(timer);
      await rm(folder, { recursive: true, force: true });
    };
    return { url, folder, stop };
  } catch (error) {
    child?.kill('SIGKILL');
    await rm(folder, { recursive: true, force: true });
    throw error;
  }
}

async function ready(url, child, log) {
  const end = Date.now() + PATIENCE;
  while (Date.now() < end) {
    if (child.exitCode !== null) throw new Error(`peristyle ended with ${child.exitCode}: ${log()}`);
    try {
      if ((await fetch(`${url}/ready`)).ok) return;
    } catch {
      // It does not listen yet.
    }
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  throw new Error(`peristyle did not become ready: ${log()}`);
}
