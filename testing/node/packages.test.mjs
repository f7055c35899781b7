// Completions, manual pages, and the npm package and the wheel with the built binary. scripts/release-test tests all packages of a release.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';

const program = process.env.PERISTYLE_BINARY;
const python = process.env.PERISTYLE_TEST_PYTHON;
const PACKAGE = fileURLToPath(new URL('../../packaging/package.py', import.meta.url));

let folder;
before(async () => {
  assert.ok(program, 'PERISTYLE_BINARY is not set: name the binary, such as target/debug/peristyle');
  folder = await mkdtemp(join(tmpdir(), 'peristyle-packages-'));
});
after(() => rm(folder, { recursive: true, force: true }));

const run = (command, words, options) => execFileSync(command, words, { encoding: 'utf8', ...options });

/** What bash offers after these words. */
function offered(...words) {
  const script = `eval "$(cat)"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _peristyle peristyle "\${@: -1}" "\${@: -2:1}"; printf '%s\\n' "\${COMPREPLY[@]}"`;
  return run('bash', ['--norc', '-c', script, 'bash', ...words], { input: run(program, ['completions', 'bash']) }).trim().split('\n');
}

describe('completions', () => {
  // contract B3.60
  test('bash completes commands, their commands and their flags', () => {
    assert.deepEqual(offered('peristyle', 'intro'), ['introspect']);
    assert.deepEqual(offered('peristyle', 'account', 'ad'), ['add']);
    assert.deepEqual(offered('peristyle', 'demo', '--hub'), ['--hub-port']);
  });
});

describe('manual pages', () => {
  // contract B3.60
  test('groff renders each of them without a warning', async () => {
    const pages = join(folder, 'man');
    run(program, ['man', '--out', pages]);
    const names = await readdir(pages);
    assert.ok(names.includes('peristyle.1') && names.includes('peristyle-account-add.1'), `${names}`);
    const faults = run('sh', ['-c', 'for page in "$0"/*.1; do groff -man -Tutf8 -ww -z "$page" 2>&1; done', pages]);
    assert.equal(faults, '');
    const text = run('groff', ['-man', '-Tascii', '-P-cbou', join(pages, 'peristyle-demo.1')]);
    assert.match(text, /peristyle demo --hub-port 5000 --app-port 5001\n/);
    assert.match(text, /--verbose\n/);
  });
});

describe('packages', () => {
  const version = () => run(program, ['--version']);
  const made = async (end) => join(folder, 'packages', (await readdir(join(folder, 'packages'))).find((name) => name.endsWith(end)));
  before(() => {
    // Without symbols the debug binary is small enough to copy a few times.
    run('strip', ['-o', join(folder, 'peristyle'), program]);
    const words = ['-B', PACKAGE, '--binary', join(folder, 'peristyle'), '--out', join(folder, 'packages'), '--only', 'npm', '--only', 'wheel', '--uncompressed'];
    run('python3', words, { env: { ...process.env, SOURCE_DATE_EPOCH: '1700000000' } });
  });

  test('npm installs the program from its package, offline and without scripts', async () => {
    const place = join(folder, 'npm');
    run('npm', ['install', '--offline', '--ignore-scripts', '--no-audit', '--no-fund', '--prefix', place, await made('.tgz')], { env: { ...process.env, npm_config_cache: join(folder, 'cache') } });
    assert.equal(run(join(place, 'node_modules', '.bin', 'peristyle'), ['--version']), version());
  });

  test('pip installs the program from its wheel, and checks its hashes', async () => {
    assert.ok(python, 'PERISTYLE_TEST_PYTHON is not set: name a Python with pip');
    const place = join(folder, 'python');
    run(python, ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--no-index', '--no-deps', '--target', place, await made('.whl')]);
    assert.equal(run(join(place, 'bin', 'peristyle'), ['--version']), version());
  });

  test('the checksums name each file', async () => {
    const sums = run('sha256sum', ['--check', 'SHA256SUMS'], { cwd: join(folder, 'packages') });
    assert.equal(sums.trim().split('\n').length, 3);
  });
});
