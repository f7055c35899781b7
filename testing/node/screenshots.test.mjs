// The pictures of the documents: each page that is pictured can be reached, and the documents show what there is.

import assert from 'node:assert/strict';
import { readFile, readdir } from 'node:fs/promises';
import { basename } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { makePictures } from './screenshots.mjs';

const file = (path) => fileURLToPath(new URL(`../../${path}`, import.meta.url));

test('each pictured page can be reached, and each picture is in docs/pictures and in a document', async () => {
  const made = await makePictures(file('target/pictures'));
  const stored = (await readdir(file('docs/pictures'))).filter((name) => name.endsWith('.png'));
  assert.deepEqual(stored.sort(), made.map((path) => basename(path)).sort(), 'node screenshots.mjs makes the pictures again');
  const pages = (await readdir(file('docs/guide'))).map((name) => `docs/guide/${name}`);
  const text = (await Promise.all(['README.md', ...pages].map((path) => readFile(file(path), 'utf8')))).join('\n');
  for (const name of stored) assert.ok(text.includes(`pictures/${name}`), `no document shows ${name}`);
});
