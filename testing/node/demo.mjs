// `peristyle demo` on free ports, in a temporary folder.

import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

/** Starts a demo: `{hub, app, people, folder, run, close}`, where `run` is a command on the hub's records. */
export async function startDemo() {
  const program = process.env.PERISTYLE_BINARY;
  if (!program) throw new Error('PERISTYLE_BINARY is not set: name the binary, such as target/debug/peristyle');
  const around = await mkdtemp(join(tmpdir(), 'peristyle-demos-'));
  const child = spawn(program, ['demo', '--hub-port', '0', '--app-port', '0', '--json'], { env: { TMPDIR: around }, stdio: ['ignore', 'pipe', 'pipe'] });
  let errors = '';
  child.stderr.on('data', (piece) => { errors += piece; });
  const ended = once(child, 'exit');
  const close = async () => {
    if (child.exitCode === null) child.kill('SIGINT');
    const [code] = await ended;
    const left = await readdir(around);
    await rm(around, { recursive: true, force: true });
    if (code !== 0 || left.length > 0) throw new Error(`the demo ended with ${code} and left ${left}: ${errors}`);
  };
  const line = await Promise.race([once(createInterface(child.stdout), 'line'), ended.then(() => null)]);
  if (!line) throw new Error(`the demo ended: ${errors}`);
  const folder = join(around, (await readdir(around))[0]);
  const run = (...words) => execFileSync(program, words, { env: { DATABASE_URL: `sqlite://${join(folder, 'hub', 'hub.db')}` }, encoding: 'utf8' });
  return { ...JSON.parse(line[0]), folder, run, close };
}

const TERMINAL = 'import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))';

/** Runs a demo on a terminal and types `keys` after it prints `words`. Returns its output, its exit code, and the files left. */
export async function onTerminal(words, keys) {
  const around = await mkdtemp(join(tmpdir(), 'peristyle-demos-'));
  const command = [process.env.PERISTYLE_BINARY, 'demo', '--hub-port', '0', '--app-port', '0'];
  const child = spawn('python3', ['-c', TERMINAL, ...command], { env: { PATH: process.env.PATH, TMPDIR: around }, stdio: ['pipe', 'pipe', 'inherit'] });
  let shown = '';
  let typed = false;
  child.stdout.on('data', (piece) => {
    shown += piece;
    if (typed || !shown.includes(words)) return;
    typed = true;
    child.stdin.write(keys);
  });
  const [code] = await once(child, 'exit');
  const left = await readdir(around);
  await rm(around, { recursive: true, force: true });
  return { shown, code, left };
}
