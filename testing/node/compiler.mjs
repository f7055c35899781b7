// The TypeScript compiler in a temporary folder that finds the packages of this one.

import { execFile } from 'node:child_process';
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const COMPILER = createRequire(import.meta.url).resolve('typescript/bin/tsc');
const FLAGS = ['--strict', '--noUncheckedIndexedAccess', '--skipLibCheck', '--target', 'es2022', '--module', 'esnext', '--moduleResolution', 'bundler', '--lib', 'es2022,dom,dom.iterable'];

/** A folder for programs: `{path, write, errors, emit, close}`. */
export async function openFolder() {
  const path = await mkdtemp(join(tmpdir(), 'peristyle-compiler-'));
  await symlink(fileURLToPath(new URL('node_modules', import.meta.url)), join(path, 'node_modules'));
  await writeFile(join(path, 'package.json'), '{ "type": "module" }');
  const write = (name, text) => writeFile(join(path, name), text);
  const compile = (name, flags) => new Promise((resolve) => {
    execFile(process.execPath, [COMPILER, ...FLAGS, ...flags, name], { cwd: path, maxBuffer: 64 * 1024 * 1024 }, (error, stdout, stderr) => {
      const lines = (stdout + stderr).split('\n').filter((line) => /error TS|rror:/.test(line));
      resolve(error && lines.length === 0 ? [String(error)] : lines);
    });
  });
  return {
    path,
    write,
    /** The errors of a program, one on each line; `flags` replace those of the same name. */
    errors: (name, flags = []) => compile(name, ['--noEmit', ...flags]),
    /** Compiles a program to JavaScript, and returns its errors. */
    emit: (name) => compile(name, []),
    close: () => rm(path, { recursive: true, force: true }),
  };
}

/** Fails unless each line of a program has an error of its own; `head` lines come first. */
export function eachLineFails(errors, file, lines, head) {
  lines.forEach((line, index) => {
    const place = `${file}(${index + head + 1},`;
    if (!errors.some((error) => error.startsWith(place))) throw new Error(`compiles: ${line}\n${errors.join('\n')}`);
  });
  const foreign = errors.filter((error) => !lines.some((_, index) => error.startsWith(`${file}(${index + head + 1},`)));
  if (foreign.length > 0) throw new Error(`other errors:\n${foreign.join('\n')}`);
}
