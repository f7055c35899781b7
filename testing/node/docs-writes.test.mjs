// The form of writes at `/docs` in a real Chromium: a dry run first, faults beside their fields, and each operation.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { bodyOf, fieldOf, rulesOf, shownOf, valueOf } from '../../crates/server/src/pages/docs/payload.js';
import { parse } from '../../crates/server/src/pages/docs/json.js';
import { openBrowser, openPage } from './browser.mjs';
import { openFolder } from './compiler.mjs';
import { startDemo } from './demo.mjs';
import { startServer } from './server.mjs';

const AXE = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

const MANIFEST = `
[resource.shop.customer.fields]
id = { type = "bigint", key = true }
name = { type = "text", null = false }
[resource.shop.customer.relations]
orders = { many = "shop.order", on = { id = "customerId" } }

[resource.shop.order]
soft-delete = "deletedAt"
[resource.shop.order.write]
create = true
update = true
delete = true
restore = true
version = "version"
check = { where = { status = { ne = "lost" } } }
[resource.shop.order.fields]
id = { type = "bigint", key = true }
customerId = { type = "bigint", null = false, write = true }
number = { type = "text", null = false, write = "create", max-length = 8, pattern = "[A-Z]{2}-[0-9]+" }
status = { type = "enum", values = ["new", "paid", "lost"], null = false, write = true }
total = { type = "decimal", write = true, min = 0 }
isGift = { type = "bool", write = true }
dueOn = { type = "date", write = true }
calledAt = { type = "timestamp", write = true }
note = { type = "text", write = true }
tags = { type = "text[]", write = true, max-items = 2 }
extra = { type = "json", write = true }
token = { type = "text", hidden = true, write = "create", max-length = 10 }
deletedAt = "timestamp"
version = { type = "int", null = false }
[resource.shop.order.relations]
customer = { one = "shop.customer", on = { customerId = "id" } }

[resource.shop.line]
[resource.shop.line.write]
update = true
delete = true
[resource.shop.line.fields]
orderId = { type = "int", key = true }
sku = { type = "text", key = true }
quantity = { type = "int", null = false, write = true, max = 9 }

[resource.shop.wish]
plural = "wishes"
permission = "shop.wish.get"
[resource.shop.wish.write]
create = true
[resource.shop.wish.fields]
id = { type = "int", key = true }
text = { type = "text", null = false, write = true }
`;

const SCRIPT = `
CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
INSERT INTO customers VALUES (1, 'Ana'), (9007199254740993, 'Big');
CREATE TABLE orders (id INTEGER PRIMARY KEY, customer_id INTEGER NOT NULL REFERENCES customers, number TEXT NOT NULL UNIQUE, status TEXT NOT NULL DEFAULT 'new',
  total TEXT, is_gift INTEGER, due_on TEXT, called_at TEXT, note TEXT, tags TEXT, extra TEXT, token TEXT, deleted_at TEXT, version INTEGER NOT NULL DEFAULT 1);
INSERT INTO orders (id, customer_id, number, total, note, extra) VALUES (1, 1, 'AB-1', '10.00', '<b>hello</b>', '{"<i>":1}'), (2, 1, 'AB-2', '20.00', NULL, NULL), (3, 1, 'AB-3', NULL, NULL, NULL);
CREATE TABLE lines (order_id INTEGER, sku TEXT, quantity INTEGER NOT NULL, PRIMARY KEY (order_id, sku));
INSERT INTO lines VALUES (1, 'a,b/c', 3);
CREATE TABLE wishes (id INTEGER PRIMARY KEY, text TEXT NOT NULL);
`;

let server;
let chromium;
before(async () => {
  server = await startServer({ manifest: MANIFEST, script: SCRIPT });
  chromium = await openBrowser();
});
after(async () => {
  await chromium?.close();
  await server?.close();
});

/** Opens a resource, runs a test, and checks that nothing else went wrong. */
async function visit(resource, work, { origin = server.origin, others = [] } = {}) {
  const { page, troubles, close } = await openPage(chromium.browser, origin, ...others);
  try {
    await page.setViewport({ width: 1280, height: 900 });
    await page.goto(`${origin}/docs#${new URLSearchParams({ resource })}`);
    await page.waitForSelector('#content h1');
    await settled(page);
    await work(page);
    // The browser logs refused requests, which these tests expect.
    assert.deepEqual(troubles.filter((trouble) => !/status of (409|412|422)/.test(trouble)), []);
  } finally {
    await close();
  }
}

/** The rows of the example arrive above the form. A click would miss a button that they move. */
const settled = (page) => page.waitForFunction(() => !document.querySelector('[aria-busy=true]'), { polling: 50 });
const textOf = (page, selector) => page.$eval(selector, (node) => node.textContent);
const says = (page, selector, words) =>
  page.waitForFunction((place, text) => document.querySelector(place)?.textContent.includes(text), { polling: 50 }, selector, words).catch(async (error) => {
    throw new Error(`${selector} never said ${words}: ${await page.$eval('.writes', (node) => node.innerText)}`, { cause: error });
  });
const choose = (page, form) => page.select('#write-operation', form);
/** Sets an input as a person would. */
const fill = (page, name, value) =>
  page.$eval(`#write-${name}`, (input, given) => {
    if (input.type === 'checkbox') input.checked = given;
    else input.value = given;
    input.dispatchEvent(new Event('input', { bubbles: true }));
  }, value);
const dryRun = (page) => page.click('.writes button[type=submit]');
const status = (page, words) => says(page, '.writes .status', words);
const write = async (page, words) => {
  await page.click('#write-it');
  await status(page, words);
};
const row = (page) => page.$$eval('.outcome .record tr', (lines) => Object.fromEntries(lines.map((line) => [line.children[0].textContent, (line.children[1].firstChild?.textContent ?? '').trim()])));
const order = async (id) => {
  const answer = await fetch(`${server.origin}/api/shop/orders/find/${id}`, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: '{}' });
  return answer.ok ? answer.json() : null;
};
const orders = async () => (await (await fetch(`${server.origin}/api/shop/orders/list`, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: '{}' })).json()).length;

describe('from the form to a body', () => {
  test('each type has its JSON, digits stay, and JSON that is none is not sent', () => {
    const of = (type, typed, more) => valueOf({ type, array: false, ...more }, typed);
    assert.deepEqual(of('bigint', ' 9007199254740993 '), { json: '9007199254740993' });
    assert.deepEqual(of('int', 'seven'), { json: '"seven"' });
    assert.deepEqual(of('int', '007'), { json: '"007"' });
    assert.deepEqual(of('decimal', '0.10'), { json: '"0.10"' });
    assert.deepEqual(of('bool', 'true'), { json: 'true' });
    assert.deepEqual(of('text', ' a "b" '), { json: '" a \\"b\\" "' });
    assert.deepEqual(of('timestamp', '2024-05-01T10:00'), { json: '"2024-05-01T10:00:00Z"' });
    assert.deepEqual(of('time', '17:30'), { json: '"17:30:00"' });
    assert.deepEqual(of('json', '{"a": 1.50}'), { json: '{"a": 1.50}' });
    assert.deepEqual(of('text', '["a"]', { array: true }), { json: '["a"]' });
    assert.match(of('json', '{a}').fault, /double quotes/);
    assert.match(of('int', '', { array: true }).fault, /JSON value/);
    assert.equal(bodyOf({ payload: [['a', '1'], ['__proto__', 'null']], expect: '{}' }, true), '{"payload": {"a": 1, "__proto__": null}, "expect": {}, "dryRun": true}');
    assert.equal(bodyOf({}, false), '{}');
  });

  test('a value of a row is shown as its input takes it', () => {
    const shown = (type, json) => shownOf({ type, array: false }, parse(json).root, json);
    assert.deepEqual([shown('text', '"a"'), shown('bigint', '9007199254740993'), shown('int', 'null'), shown('json', '{"a":1}')], ['a', '9007199254740993', '', '{"a": 1}']);
    assert.equal(shown('timestamp', '"2024-05-01T10:00:00.123456Z"'), '2024-05-01T10:00:00.123');
  });

  test('a pointer leads to its field, and rules read as words', () => {
    assert.deepEqual(['/payload/a~1b', '/payload/tags/0', '/payload', '/expect/a', ''].map(fieldOf), ['a/b', 'tags', undefined, undefined, undefined]);
    assert.equal(rulesOf({ required: true, nullable: false, maxLength: 3, type: 'text' }, 'create'), 'required, at most 3 characters');
    assert.equal(rulesOf({ nullable: true, minLength: 1, maxItems: 1, maxLength: 2, type: 'text' }, 'update'),
      'at least 1 character, at most 2 characters, at most 1 item');
    assert.equal(rulesOf({ nullable: true, pattern: '^(?:[A-Z]+)$', type: 'text' }, 'update'), 'matches [A-Z]+');
    assert.equal(rulesOf({ required: true, nullable: false, min: 0, type: 'int' }, 'update'), 'never null, at least 0');
  });
});

describe('a write', () => {
  // contract E8.13
  test('shows the dry run, then writes once, and the rows of the playground follow', () =>
    visit('shop.order', async (page) => {
      assert.deepEqual(await page.$$eval('#write-operation option', (options) => options.map((option) => option.textContent)), ['create', 'change', 'delete', 'restore']);
      assert.deepEqual(await page.$$eval('.entry', (nodes) => nodes.map((node) => node.dataset.write)), ['customerId', 'number', 'status', 'total', 'isGift', 'dueOn', 'calledAt', 'note', 'tags', 'extra', 'token']);
      assert.equal(await page.$('#write-version'), null);
      await says(page, '.playground .status', 'rows');
      const before = await orders();
      await fill(page, 'customerId', '9007199254740993');
      await fill(page, 'number', 'XY-7');
      await fill(page, 'total', '0.10');
      await fill(page, 'isGift', true);
      await fill(page, 'dueOn', '2024-02-29');
      await fill(page, 'calledAt', '2024-02-29T10:30');
      await fill(page, 'tags', '["<b>x</b>"]');
      await fill(page, 'extra', '{"a-b": 1.0}');
      await page.select('#write-note-choice', 'null');
      await dryRun(page);
      await status(page, 'Dry run · 201');
      assert.equal(await orders(), before, 'nothing is written yet');
      const shown = await row(page);
      assert.deepEqual([shown.customerId, shown.number, shown.status, shown.dueOn, shown.version], ['9007199254740993', 'XY-7', 'new', '2024-02-29', '1']);
      assert.equal(await page.$('.outcome b'), null, 'markup stays text');
      await write(page, 'Created · 201');
      assert.equal(await orders(), before + 1);
      assert.equal(await page.$('#write-it:not([hidden])'), null, 'the same request is not written twice');
      await page.waitForFunction((count) => document.querySelectorAll('#panel-Table > .rows > .scroll > table > tbody > tr').length === count, {}, before + 1);
      const id = (await row(page)).id;
      const { note, tags, extra, total, calledAt } = await order(id);
      assert.deepEqual({ note, tags, extra, total, calledAt }, { note: null, tags: ['<b>x</b>'], extra: { 'a-b': 1 }, total: '0.10', calledAt: '2024-02-29T10:30:00Z' });
      await choose(page, 'updateById');
      assert.equal(await page.$eval('#write-key-id', (input) => input.value), id, 'the next write probably means this row');
    }));

  // contract E8.13
  test('shows every fault beside its field, and an edit takes the outcome back', () =>
    visit('shop.order', async (page) => {
      await fill(page, 'customerId', 'seven');
      await fill(page, 'number', 'nonsense-number');
      await fill(page, 'total', '-1');
      await fill(page, 'tags', '["a", "b", "c"]');
      await dryRun(page);
      await status(page, '400');
      for (const [name, words] of [['customerId', 'whole number'], ['number', '8 characters'], ['total', 'at least 0'], ['tags', '2 items']]) {
        assert.match(await textOf(page, `#write-${name}-fault`), new RegExp(words), name);
        assert.equal(await page.$eval(`#write-${name}`, (input) => input.getAttribute('aria-invalid')), 'true', name);
      }
      assert.equal(await page.evaluate(() => document.activeElement.id), 'write-customerId');
      await fill(page, 'customerId', '77');
      assert.equal(await textOf(page, '#write-customerId-fault'), '');
      await fill(page, 'number', 'AB-1');
      await fill(page, 'total', '1');
      await fill(page, 'tags', '["a"');
      await dryRun(page);
      await status(page, 'Not sent');
      assert.match(await textOf(page, '#write-tags-fault'), /closing ]/);
      // An emptied value is left out.
      await fill(page, 'tags', '');
      assert.equal(await page.$eval('#write-tags-choice', (select) => select.value), 'absent');
      await dryRun(page);
      await status(page, '4');
      assert.match(await textOf(page, '#write-number-fault'), /exists already/);
      assert.match(await textOf(page, '#write-customerId-fault'), /leads to no row/);
      assert.equal(await page.$('#write-it:not([hidden])'), null);
      // What is missing is reported at its field too.
      await page.select('#write-number-choice', 'absent');
      await dryRun(page);
      await status(page, '400');
      assert.notEqual(await textOf(page, '#write-number-fault'), '');
    }));

  // contract E8.13
  test('changes a row by its version, and says when it is stale or refused', () =>
    visit('shop.order', async (page) => {
      await choose(page, 'updateById');
      await dryRun(page);
      await status(page, 'Not sent');
      assert.match(await textOf(page, '#write-faults'), /id is missing/);
      await fill(page, 'key-id', '1');
      await page.click('.identity:not([hidden]) button');
      await status(page, 'Loaded');
      assert.equal(await page.$eval('#write-note', (input) => input.value), '<b>hello</b>');
      assert.equal(await page.$eval('#write-version', (input) => input.value), '1');
      assert.equal(await page.$('#write-number'), null, 'written once');
      // Nothing is changed yet.
      await dryRun(page);
      await status(page, '400');
      assert.match(await textOf(page, '#write-faults'), /nothing to change/);
      await page.select('#write-status', 'paid');
      await page.$eval('#write-status', (select) => select.dispatchEvent(new Event('input', { bubbles: true })));
      await dryRun(page);
      await status(page, 'Dry run · 200');
      assert.deepEqual([(await order(1)).status, (await row(page)).status], ['new', 'paid']);
      assert.deepEqual(await page.$$eval('.outcome .changed', (lines) => lines.map((line) => line.textContent)), ['statuspaid was "new"', 'version2 was 1'], 'what changes is marked');
      await write(page, 'Changed · 200');
      const changed = await order(1);
      assert.deepEqual([changed.status, changed.version, changed.note], ['paid', 2, '<b>hello</b>']);
      assert.equal(await page.$eval('#write-version', (input) => input.value), '2', 'the next change expects the new version');
      await fill(page, 'version', '1');
      await dryRun(page);
      await status(page, '412');
      assert.match(await textOf(page, '.outcome'), /has changed.*Nothing was written/);
      await fill(page, 'version', '');
      await fill(page, 'expect', '{"status": {"eq": "new"}}');
      await dryRun(page);
      await status(page, '412');
      await fill(page, 'expect', '{"status": {"eg": "new"}}');
      await dryRun(page);
      await status(page, '400');
      assert.match(await textOf(page, '#write-expect-fault'), /eg/);
      await fill(page, 'expect', '');
      await page.select('#write-status', 'lost');
      await page.$eval('#write-status', (select) => select.dispatchEvent(new Event('input', { bubbles: true })));
      await dryRun(page);
      await status(page, '403');
      assert.equal((await order(1)).status, 'paid');
    }));

  // contract E8.15
  test('opens for a row of the table, also for a related row of another resource', async () => {
    const press = (page, words) => page.$$eval('#panel-Table button', (all, words) => all.find((button) => button.getAttribute('aria-label') === words).click(), words);
    await visit('shop.order', async (page) => {
      await says(page, '.playground .status', 'rows');
      await page.click('#panel-Table .open');
      await press(page, 'Edit row 1');
      await status(page, 'Loaded');
      assert.deepEqual(await page.$eval('#write-operation', (select) => [select.value, document.activeElement === select]), ['updateById', true]);
      const id = await page.$eval('#write-key-id', (input) => input.value);
      assert.equal(await page.$eval('#write-note', (input) => input.value), (await order(id)).note ?? '');
      await press(page, 'Delete row 1');
      await status(page, 'Loaded');
      assert.equal(await page.$eval('#write-operation', (select) => select.value), 'deleteById');
      await dryRun(page);
      await status(page, 'Dry run · 200');
      assert.notEqual(await order(id), null, 'only a dry run');
    });
    await visit('shop.customer', async (page) => {
      await says(page, '.playground .status', 'rows');
      assert.equal(await page.$('#panel-Table .related .buttons'), null, 'customers cannot be changed');
      await page.click('#panel-Table .open');
      await page.waitForSelector('.related .rows .open');
      await page.click('.related .rows .open');
      await press(page, 'Edit row 1 of orders of row 1');
      await status(page, 'Loaded');
      assert.equal(await textOf(page, 'h1'), 'order');
      await page.goBack();
      await says(page, 'h1', 'customer');
    });
    await visit('shop.order', async (page) => {
      await says(page, '.playground .status', 'rows');
      await page.select('#operation', 'find');
      await page.click('.playground button[type=submit]');
      await says(page, '#panel-Table', 'Change it');
      await press(page, 'Edit the row');
      await status(page, 'Loaded');
    });
  });

  // contract E8.15, W3.11
  test('shows the statements of a write with the rule behind each condition, and changes nothing', () =>
    visit('shop.order', async (page) => {
      await choose(page, 'updateById');
      await page.click('#write-program-SQL');
      await says(page, '#write-source-SQL', 'id is missing');
      await page.click('#write-program-Form');
      await fill(page, 'key-id', '3');
      await page.click('#write-program-SQL');
      await says(page, '#write-source-SQL', 'nothing to change');
      await page.click('#write-program-Form');
      await fill(page, 'note', 'explained');
      await fill(page, 'expect', '{"status": {"eq": "new"}}');
      await page.click('#write-program-SQL');
      await says(page, '#write-source-SQL', 'UPDATE');
      const sources = await page.$$eval('#write-source-SQL .source', (all) => all.map((one) => one.textContent));
      assert.ok(sources.includes('the manifest’s check') && sources.includes('your expect'), `${sources}: ${await textOf(page, '#write-source-SQL')}`);
      const levels = await page.$$eval('#write-source-SQL h3', (all) => all.map((one) => one.textContent));
      assert.deepEqual(levels, ['Find the rows', 'Hold them against expect', 'Change them', 'Read the answer']);
      assert.equal((await order(3)).note, null);
    }));

  // contract E8.13
  test('deletes a row and restores it', () =>
    visit('shop.order', async (page) => {
      await choose(page, 'deleteById');
      await fill(page, 'key-id', '2');
      await page.click('.identity:not([hidden]) button');
      await status(page, 'Loaded');
      assert.equal(await page.$eval('#write-expect', (area) => area.value), '{"version": {"eq": 1}}');
      await dryRun(page);
      await status(page, 'Dry run · 200 · the row that would be deleted');
      assert.notEqual(await order(2), null);
      await write(page, 'Deleted · 200');
      assert.equal(await order(2), null);
      await choose(page, 'restoreById');
      assert.equal(await page.$eval('#write-key-id', (input) => input.value), '2');
      await dryRun(page);
      await status(page, 'Dry run · 200');
      assert.equal(await order(2), null);
      await write(page, 'Restored · 200');
      assert.equal((await order(2)).version, 3);
    }));

  test('names a row by a key of several parts, and a resource for writing only has a form alone', async () => {
    await visit('shop.line', async (page) => {
      assert.deepEqual(await page.$$eval('#write-operation option', (options) => options.map((option) => option.textContent)), ['change', 'delete']);
      await fill(page, 'key-orderId', '1');
      await fill(page, 'key-sku', 'a,b/c');
      await fill(page, 'quantity', '4');
      await dryRun(page);
      await status(page, 'Dry run · 200');
      assert.equal((await row(page)).quantity, '4');
    });
    await visit('shop.wish', async (page) => {
      assert.equal(await page.$('.playground'), null);
      await fill(page, 'text', 'a bench');
      await dryRun(page);
      await status(page, 'Dry run · 201');
      assert.deepEqual(Object.keys(await row(page)), ['id'], 'the key alone');
      await write(page, 'Created · 201');
    });
    await visit('shop.customer', async (page) => assert.equal(await page.$('.writes'), null));
  });

  test('an answer that never came says that the write may have happened', () =>
    visit('shop.order', async (page) => {
      await fill(page, 'customerId', '1');
      await fill(page, 'number', 'LO-1');
      await dryRun(page);
      await status(page, 'Dry run · 201');
      await page.evaluate(() => { window.fetch = () => Promise.reject(new TypeError('broken')); });
      await write(page, 'No whole answer');
      assert.match(await textOf(page, '.outcome'), /may have happened/);
    }));

  // contract E8.12, contract E8.13
  test('as curl, TypeScript and GraphQL it says the same, and each runs', () =>
    visit('shop.order', async (page) => {
      await choose(page, 'updateById');
      const program = async (name) => {
        await page.click(`#write-program-${name}`);
        return textOf(page, `#write-source-${name} pre`);
      };
      await page.click('#write-program-curl');
      assert.match(await textOf(page, '#write-source-curl'), /id is missing/);
      await page.click('#write-program-Form');
      await fill(page, 'key-id', '3');
      await fill(page, 'total', '7.50');
      await fill(page, 'note', "it's");
      const curl = JSON.parse(execFileSync('sh', ['-c', await program('curl')], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }));
      assert.deepEqual([curl.id, curl.total, curl.note, curl.version], [3, '7.50', "it's", 2]);
      const folder = await openFolder();
      try {
        await folder.write('program.ts', await program('TypeScript'));
        assert.deepEqual(await folder.emit('program.ts'), []);
        assert.match(execFileSync(process.execPath, ['program.js'], { cwd: folder.path, encoding: 'utf8' }), /total: '7.50'/);
      } finally {
        await folder.close();
      }
      const query = await program('GraphQL');
      assert.match(query, /shopUpdateOrderById\(payload: {id: 3, total: "7.50", note: "it's"}, dryRun: true\)/);
      const answer = await (await fetch(`${server.origin}/graphql`, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ query }) })).json();
      assert.equal(answer.data.shopUpdateOrderById.total, '7.50', JSON.stringify(answer));
      // A key that is no name of GraphQL needs variables.
      await page.click('#write-program-Form');
      await fill(page, 'extra', '{"a-b": 1}');
      const mutation = await program('GraphQL');
      const variables = JSON.parse(await page.$eval('#write-source-GraphQL pre[aria-label=Variables]', (node) => node.textContent));
      const second = await (await fetch(`${server.origin}/graphql`, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ query: mutation, variables }) })).json();
      assert.deepEqual(second.data?.shopUpdateOrderById.extra, { 'a-b': 1 }, JSON.stringify(second));
      assert.equal((await order(3)).total, null, 'each was a dry run');
    }));
});

describe('the form', () => {
  for (const scheme of ['light', 'dark']) {
    // contract E8.5
    test(`axe finds nothing in ${scheme}, and nothing is wider than 360 pixels`, () =>
      visit('shop.order', async (page) => {
        await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }]);
        const clean = async (where) => {
          const found = await page.evaluate(`${AXE}; axe.run(document, { resultTypes: ['violations'], rules: { 'label-content-name-mismatch': { enabled: true } } }).then(({ violations }) => violations.map(({ id, nodes }) => id + ': ' + nodes.map((node) => node.html + ' ' + node.failureSummary).join('; ')))`);
          assert.deepEqual(found, [], where);
        };
        await clean('create');
        await fill(page, 'total', '-1');
        await dryRun(page);
        await status(page, '400');
        await clean('faults');
        await choose(page, 'updateById');
        await page.setViewport({ width: 360, height: 740 });
        await fill(page, 'key-id', '1');
        await page.click('.identity:not([hidden]) button');
        await status(page, 'Loaded');
        const width = await page.evaluate(() => document.documentElement.scrollWidth);
        assert.ok(width <= 360, `${width}`);
        await clean('narrow');
      }));
  }

  // contract E8.5
  test('works by keyboard alone', () =>
    visit('shop.order', async (page) => {
      await page.focus('#write-operation');
      await page.keyboard.press('Tab');
      const reach = async (selector) => {
        for (let step = 0; step < 60; step += 1) {
          if (await page.evaluate((wanted) => document.activeElement.matches(wanted), selector)) return;
          await page.keyboard.press('Tab');
        }
        assert.fail(`${selector} cannot be reached`);
      };
      await reach('#write-customerId');
      await page.keyboard.type('1');
      await reach('#write-number');
      await page.keyboard.type('KB-1');
      // Enter in an input only tries.
      await page.keyboard.press('Enter');
      await status(page, 'Dry run · 201');
      await reach('#write-it');
      await page.keyboard.press('Enter');
      await status(page, 'Created · 201');
    }));
});

/** A customer of a tenant, or of any other tenant. */
function customer(demo, condition) {
  const program = 'import sqlite3, sys; print(sqlite3.connect(sys.argv[1]).execute(sys.argv[2]).fetchone()[0])';
  const query = `SELECT min(c.id) FROM customers c JOIN tenants t ON t.id = c.tenant_id WHERE c.deleted_at IS NULL AND t.name ${condition} 'Casa Iberia'`;
  return execFileSync('python3', ['-c', program, join(demo.folder, 'satellite', 'shop.db'), query], { encoding: 'utf8' }).trim();
}

// contract E8.9, contract E8.13
test('in the demo a clerk writes with the tokens of the page, for customers of one tenant', async () => {
  const demo = await startDemo();
  try {
    await visit('shop.order', async (page) => {
      await page.click('#sign-in');
      await page.waitForSelector('input[type=password]');
      await page.type('input[name=username]', 'ben');
      await page.type('input[type=password]', demo.people.find((person) => person.username === 'ben').password);
      await page.keyboard.press('Enter');
      await page.waitForSelector('.writes');
      await settled(page);
      assert.deepEqual(await page.$$eval('#write-operation option', (options) => options.map((option) => option.textContent)), ['create', 'change', 'delete']);
      const attempt = async (id) => {
        await fill(page, 'customerId', id);
        await fill(page, 'total', '12.50');
        await dryRun(page);
        await page.waitForFunction(() => document.querySelector('.writes .status').textContent.includes('·'));
        return [await textOf(page, '.writes .status'), await textOf(page, '#write-customerId-fault')];
      };
      const unknown = await attempt('999999999');
      assert.match(unknown.join(' '), /422.*leads to no row/);
      assert.deepEqual(await attempt(customer(demo, '<>')), unknown);
      assert.match((await attempt(customer(demo, '=')))[0], /Dry run · 201/);
      assert.equal((await row(page)).enteredBy, 'ben');
      await write(page, 'Created · 201');
    }, { origin: demo.app, others: [demo.hub] });
  } finally {
    await demo.close();
  }
});
