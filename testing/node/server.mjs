// `peristyle serve` on a free port and a SQLite file in a temporary folder.

import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const MAKE = 'import sqlite3, sys; file = sqlite3.connect(sys.argv[1]); file.executescript(sys.stdin.read()); file.close()';

/**
 * Starts a server on tables made by `script`; `manifest` may be left out. `environment` adds variables, or is a function of
 * the server's origin that does; `prepare` runs before the server does, with the program and the options of a command in its
 * folder.
 */
export async function startServer({ manifest, script = '', environment: added = {}, prepare }) {
  const program = process.env.PERISTYLE_BINARY;
  if (!program) throw new Error('PERISTYLE_BINARY is not set: name the binary, such as target/debug/peristyle');
  const folder = await mkdtemp(join(tmpdir(), 'peristyle-pages-'));
  const file = join(folder, 'data.db');
  execFileSync('python3', ['-c', MAKE, file], { input: script });
  if (manifest !== undefined) await writeFile(join(folder, 'peristyle.toml'), manifest);
  const port = await freePort();
  const origin = `http://127.0.0.1:${port}`;
  const environment = { PATH: process.env.PATH, DATABASE_URL: `sqlite://${file}`, LISTEN: `127.0.0.1:${port}`, LOG: 'warn', ...(typeof added === 'function' ? added(origin) : added) };
  try {
    prepare?.(program, { cwd: folder, env: environment });
  } catch (error) {
    await rm(folder, { recursive: true, force: true });
    throw error;
  }
  const child = spawn(program, ['serve'], { cwd: folder, env: environment, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  child.stdout.on('data', (piece) => { output += piece; });
  child.stderr.on('data', (piece) => { output += piece; });
  const ended = once(child, 'exit');
  const close = async () => {
    if (child.exitCode === null) child.kill('SIGTERM');
    await ended;
    await rm(folder, { recursive: true, force: true });
  };
  try {
    await answering(origin, child, () => output);
  } catch (error) {
    await close();
    throw error;
  }
  const run = (...words) => execFileSync(program, words, { cwd: folder, env: environment, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
  return { origin, folder, run, close };
}

async function freePort() {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address();
  probe.close();
  await once(probe, 'close');
  return port;
}

/** Waits until the server answers; if the process ended, fails with its output. */
async function answering(origin, child, output) {
  const deadline = Date.now() + 20_000;
  for (;;) {
    if (child.exitCode !== null) throw new Error(`the server ended: ${output()}`);
    try {
      if ((await fetch(`${origin}/health`)).ok) return;
    } catch (error) {
      if (Date.now() > deadline) throw new Error(`the server does not answer: ${output()}`, { cause: error });
    }
    await new Promise((resolve) => { setImmediate(resolve); });
  }
}
