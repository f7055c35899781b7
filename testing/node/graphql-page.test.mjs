// The page at `/graphql` in a real Chromium: examples, runs, errors; light and dark, wide and narrow.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { after, before, test } from 'node:test';

import { buildSchema, parse, validate } from 'graphql';

import { openBrowser, openMenu, openPage } from './browser.mjs';
import { startServer } from './server.mjs';
import { MANIFEST, SCRIPT } from './shop.mjs';

const AXE = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const source = (path) => new URL(`../../crates/server/src/pages/${path}`, import.meta.url);
const { Catalog } = await import(source('docs/catalog.js'));
const { example, isReachable } = await import(source('graphql/queries.js'));

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

/** Opens the page in a state, runs a test, and checks that nothing else went wrong. */
async function visit(state, work, { width = 1280, scheme = 'light', origin = server.origin } = {}) {
  const { page, troubles, close } = await openPage(chromium.browser, origin);
  try {
    await page.setViewport({ width, height: 900 });
    await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }]);
    const answer = await page.goto(`${origin}/graphql#${new URLSearchParams(state)}`);
    assert.equal(answer.status(), 200);
    await page.waitForSelector('#contexts button');
    await work(page);
    assert.deepEqual(troubles, []);
  } finally {
    await close();
  }
}

const textOf = (page, selector) => page.$eval(selector, (one) => one.textContent);
const valueOf = (page, selector) => page.$eval(selector, (one) => one.value);
const waitForText = (page, selector, text) =>
  page.waitForFunction((selector, text) => document.querySelector(selector)?.textContent.includes(text), {}, selector, text);

async function run(page) {
  await page.focus('#query');
  await page.keyboard.down('Control');
  await page.keyboard.press('Enter');
  await page.keyboard.up('Control');
}

test('the example of every resource is valid and returns rows with a relation', async () => {
  const catalog = new Catalog(await (await fetch(`${server.origin}/docs/resources.json`)).json());
  const schema = buildSchema(await (await fetch(`${server.origin}/graphql/schema.graphql`)).text());
  assert.ok(catalog.resources.length > 3);
  for (const resource of catalog.resources) {
    const { query, isQuery } = example(resource, catalog);
    assert.ok(isQuery && !query.includes('lastOrderOn'), 'without the fields that are shown only if they are named');
    assert.deepEqual(validate(schema, parse(query)), [], query);
    const answer = await fetch(`${server.origin}/graphql`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ query }) });
    const { data, errors } = await answer.json();
    assert.equal(errors, undefined, query);
    const [rows] = Object.values(data);
    assert.ok(rows.length > 0, query);
    if (resource.name === 'shop.customer') assert.deepEqual(rows[0].orders.map(({ total }) => total), ['19.99', '5.00']);
  }
});

test('the page opens with an example and its answer', async () => {
  await visit({}, async (page) => {
    await waitForText(page, '#status', '200');
    assert.match(await valueOf(page, '#query'), /shopGetCustomers\(query: \{ limit: 10(, relations: \{ orders: \{ limit: 3 \} \})? \}\)/);
    const answer = await textOf(page, '#answer');
    assert.ok(answer.includes('"Ana García"') && answer.includes('"19.99"'), answer);
    assert.ok(answer.includes('9007199254740993'), 'all digits of a large number');
    assert.ok(answer.includes('<script>alert(1)</script>'), 'markup is text');
    assert.equal(await page.$eval('a[href="/graphql/schema.graphql"]', (link) => link.textContent), 'Schema');
  });
});

test('a click on a resource writes its example and runs it', async () => {
  await visit({}, async (page) => {
    await waitForText(page, '#status', '200');
    await page.type('#search', 'country');
    await waitForText(page, '#search-state', 'found');
    await page.evaluate(() => [...document.querySelectorAll('#contexts button')].find((button) => button.textContent === 'country').click());
    await waitForText(page, '#answer', 'Germany');
    assert.match(await valueOf(page, '#query'), /shopGetCountries/);
    await page.waitForFunction(() => decodeURIComponent(location.hash).includes('shopGetCountries'));
  });
});

test('a query of a link is shown, and runs with its variables when the person asks for it', async () => {
  const query = 'query ($q: QueryStatementInput) { shopGetCustomers(query: $q) { id name } }';
  await visit({ query, variables: '{"q": {"where": {"id": {"eq": 9007199254740993}}}}' }, async (page) => {
    assert.equal(await textOf(page, '#status'), 'Not run yet');
    assert.equal(await valueOf(page, '#query'), query);
    await run(page);
    await waitForText(page, '#answer', 'Çelik');
  });
});

test('errors are listed with their places, and a click goes there', async () => {
  const query = '{\n  shopGetCustomers(query: { limit: -1, order: [{ field: "nme" }] }) { id }\n}';
  await visit({ query }, async (page) => {
    await run(page);
    await waitForText(page, '#faults', '/query/limit');
    assert.match(await textOf(page, '#faults'), /2:3.*\/query\/limit/);
    assert.match(await textOf(page, '#status'), /1 error/);
    await page.click('#faults .fault-button');
    assert.equal(await page.$eval('#query', (area) => area.selectionStart), 4);
    // An unknown field.
    await page.$eval('#query', (area) => { area.value = '{ nothing }'; });
    await run(page);
    await waitForText(page, '#faults', 'GRAPHQL_VALIDATION_FAILED');
  });
});

test('variables that are no object are not sent', async () => {
  await visit({ query: '{ __typename }', variables: '[1]' }, async (page) => {
    await run(page);
    await waitForText(page, '#variables-fault', 'must be a JSON object');
    assert.equal(await textOf(page, '#status'), 'Not sent');
    await page.$eval('#variables', (area) => { area.value = ''; });
    await run(page);
    await waitForText(page, '#answer', '"Query"');
    assert.equal(await textOf(page, '#variables-fault'), '');
  });
});

// contract G2.10
test('the examples of a resource are queries that run', async () => {
  await visit({}, async (page) => {
    await waitForText(page, '#status', '200');
    await openMenu(page, '#examples');
    const labels = await page.$$eval('#examples li code', (all) => all.map((one) => one.textContent));
    assert.ok(['top 10 by orderCount', 'keyset pages', 'lastOrderOn gt', 'by status'].every((label) => labels.includes(label)), String(labels));
    for (const [index] of labels.entries()) {
      await page.$eval('#examples', (menu) => { menu.open = true; });
      await page.waitForFunction((index) => document.querySelectorAll('#examples li button').length > index, {}, index);
      await page.$$eval('#examples li button', (all, index) => all[index].click(), index);
      await page.waitForFunction(() => /^\d{3} /.test(document.querySelector('#status').textContent));
      assert.match(await textOf(page, '#status'), /^200 · [\d,]+ char/, await valueOf(page, '#query'));
    }
  });
});

// contract G2.10
test('a document that ran in this tab runs again after a reload, and a mutation never does', async () => {
  await visit({ query: '{ shopGetItems(query: {limit: 1}) { label } }' }, async (page) => {
    assert.equal(await textOf(page, '#status'), 'Not run yet');
    await run(page);
    await waitForText(page, '#answer', 'item number 1');
    await page.reload();
    await waitForText(page, '#answer', 'item number 1');
    await page.$eval('#query', (area) => { area.value = 'mutation { nothing }'; area.dispatchEvent(new Event('input', { bubbles: true })); });
    await run(page);
    await page.waitForSelector('#faults li');
    await page.waitForFunction(() => location.hash.includes('mutation'));
    await page.reload();
    await page.waitForSelector('#contexts button');
    assert.equal(await textOf(page, '#status'), 'Not run yet');
  });
});

// contract G2.10
test('a resource that may only be written has a dry run of a mutation, which waits for a person', async () => {
  const manifest = `
[resource.box.drop]
permission = "box.drop.get"
[resource.box.drop.write]
create = true
[resource.box.drop.fields]
id = { type = "int", key = true }
word = { type = "text", null = false, write = true }
size = { type = "decimal", null = false, write = true, min = 3 }
kind = { type = "enum", values = ["x", "y"], null = false, write = true }

[resource.box.shut]
permission = "box.shut.get"
[resource.box.shut.fields]
id = { type = "int", key = true }

[resource.box.lid.fields]
id = { type = "int", key = true }
`;
  const script = "CREATE TABLE drops (id INTEGER PRIMARY KEY, word TEXT NOT NULL, size TEXT NOT NULL, kind TEXT NOT NULL); CREATE TABLE shuts (id INTEGER PRIMARY KEY); CREATE TABLE lids (id INTEGER PRIMARY KEY); INSERT INTO lids VALUES (7)";
  const box = await startServer({ manifest, script });
  try {
    const catalog = new Catalog(await (await fetch(`${box.origin}/docs/resources.json`)).json());
    assert.deepEqual(catalog.resources.map((resource) => [resource.name, isReachable(resource)]), [['box.drop', true], ['box.lid', true]]);
    await visit({}, async (page) => {
      await waitForText(page, '#answer', '7');
      assert.match(await textOf(page, '#contexts .withheld'), /1 more resource needs a permission/);
      await page.evaluate(() => [...document.querySelectorAll('#contexts button')].find((button) => button.textContent === 'drop').click());
      assert.equal(await valueOf(page, '#query'), 'mutation {\n  boxCreateDrop(payload: {word: "a", size: "3", kind: "x"}, dryRun: true) { id }\n}\n');
      assert.equal(await textOf(page, '#status'), 'Not run yet');
      await run(page);
      await waitForText(page, '#answer', '"boxCreateDrop"');
      assert.match(await textOf(page, '#status'), /^200 · \d+ char/);
    }, { origin: box.origin });
  } finally {
    await box.close();
  }
});

for (const scheme of ['light', 'dark']) {
  for (const width of [1280, 360]) {
    test(`the page is accessible and fits its window, ${scheme}, ${width} pixels`, async () => {
      await visit({}, async (page) => {
        await waitForText(page, '#status', '200');
        assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), 'nothing sticks out');
        await page.evaluate(AXE);
        const { violations } = await page.evaluate(() => axe.run(document, { rules: { 'label-content-name-mismatch': { enabled: true } } }));
        assert.deepEqual(violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`), []);
      }, { width, scheme });
    });
  }
}
