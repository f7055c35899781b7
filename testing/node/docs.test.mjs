// `/docs` in a real Chromium: the reference, the editor by keyboard, and running statements; light and dark, wide and narrow.

import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { focusOn, openBrowser, openPage } from './browser.mjs';
import { startServer } from './server.mjs';
import { MANIFEST, SCRIPT } from './shop.mjs';

const AXE = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const HOSTILE = '<img src=x onerror=alert(1)>';

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
async function visit(state, work, { origin = server.origin, prepare } = {}) {
  const { page, troubles, close } = await openPage(chromium.browser, origin);
  try {
    await page.setViewport({ width: 1280, height: 900 });
    await prepare?.(page);
    await page.goto(`${origin}/docs#${new URLSearchParams(state)}`);
    await page.waitForSelector('#content h1');
    await work(page);
    assert.deepEqual(troubles, []);
  } finally {
    await close();
  }
}

const customers = (statement, more = {}) => ({ resource: 'shop.customer', ...more, statement: JSON.stringify(statement, null, 2) });
const textsOf = (page, selector) => page.$$eval(selector, (found) => found.map((one) => one.textContent));
const textOf = (page, selector) => page.$eval(selector, (one) => one.textContent);
const statement = (page) => page.$eval('#statement', (area) => area.value);
const waitForText = (page, selector, text) =>
  page.waitForFunction((selector, text) => document.querySelector(selector)?.textContent.includes(text), {}, selector, text);
const rowCount = (page) => page.$$eval('#panel-Table > .rows > .scroll > table > tbody > tr', (rows) => rows.length);

async function chord(page, key) {
  await page.keyboard.down('Control');
  await page.keyboard.press(key);
  await page.keyboard.up('Control');
}

async function run(page) {
  await page.focus('#statement');
  await chord(page, 'Enter');
}

/** Moves on with Tab, as without a mouse. */
async function tabTo(page, selector) {
  for (let step = 0; step < 60; step += 1) {
    if (await page.evaluate((selector) => document.activeElement?.matches(selector), selector)) return;
    await page.keyboard.press('Tab');
  }
  assert.fail(`Tab never reaches ${selector}`);
}

/** Replaces the answers of some paths: by a text with status 200, or by a whole response. */
const intercept = (answers) => async (page) => {
  await page.setRequestInterception(true);
  page.on('request', async (request) => {
    const path = new URL(request.url()).pathname;
    if (!Object.hasOwn(answers, path)) return request.continue();
    const answer = await answers[path](request);
    return request.respond({ status: 200, contentType: 'application/json', ...(typeof answer === 'string' ? { body: answer } : answer) });
  });
};

const described = async () => (await fetch(`${server.origin}/docs/resources.json`)).json();

describe('the resources', () => {
  // contract E8.2
  test('those that the caller may see are listed, in their contexts, and no others', () =>
    visit({}, async (page) => {
      assert.deepEqual(await textsOf(page, '#contexts a'), ['customer', 'order', 'country', 'orderLine', 'item']);
      assert.deepEqual(await textsOf(page, '#contexts h2'), ['shop']);
      assert.ok(!(await page.content()).includes('secretPlan'));
      await page.type('#search', 'placedon');
      await page.waitForFunction(() => document.querySelectorAll('#contexts a').length === 1);
      assert.deepEqual(await textsOf(page, '#contexts a'), ['order'], 'found by a field');
      await page.type('#search', 'zzz');
      await waitForText(page, '#contexts', 'Nothing of that name');
    }));

  // contract E8.2
  test('a resource behind a permission is as unknown as one that does not exist', () =>
    visit({ resource: 'vault.secretPlan' }, async (page) => {
      assert.match(await textOf(page, '.notice'), /not among the resources you may see/);
    }));

  // contract E8.3
  test('each field shows its type, its operators, whether it is a key, and its values', () =>
    visit({ resource: 'shop.customer' }, async (page) => {
      const operators = (name) => textsOf(page, `[data-field="${name}"] .chips code`);
      assert.deepEqual(await operators('isVip'), ['eq', 'ne', 'in', 'notIn', 'isNull']);
      assert.deepEqual(await operators('tags'), ['isNull', 'contains', 'overlap']);
      assert.ok((await operators('name')).includes('iLike'));
      assert.deepEqual(await operators('email'), [], 'masked');
      assert.match(await textOf(page, '[data-field="email"]'), /masked/);
      assert.match(await textOf(page, '[data-field="id"]'), /key.*bigint.*never null/);
      assert.match(await textOf(page, '[data-field="tags"]'), /text\[\]/);
      assert.deepEqual(await textsOf(page, '[data-field="status"] .values code'), ['"lead"', '"active"', '"<b>gone</b>"']);
      assert.equal(await page.$('[data-field="apiKey"]'), null, 'hidden');
      assert.ok((await textsOf(page, '.path')).includes('POST /api/shop/customers/paginate'));
      assert.match(await textOf(page, '.reference .code pre'), /^curl 'http.*\/api\/shop\/customers\/paginate'/);
    }));

  test('a relation leads to its resource, by keyboard, and back', () =>
    visit({ resource: 'shop.customer' }, async (page) => {
      await page.focus('[aria-labelledby=relations-title] a');
      await page.keyboard.press('Enter');
      await waitForText(page, 'h1', 'order');
      assert.equal(await textOf(page, '#contexts [aria-current=page]'), 'order');
      assert.match(await page.title(), /shop\.order/);
      await page.goBack();
      await waitForText(page, 'h1', 'customer');
    }));

  test('a server without resources says how to get some', async () => {
    const empty = await startServer({});
    try {
      await visit({}, async (page) => {
        await waitForText(page, 'h1', 'No resources');
        assert.match(await textOf(page, '.empty'), /peristyle introspect/);
      }, { origin: empty.origin });
    } finally {
      await empty.close();
    }
  });
});

describe('when the server is in trouble', () => {
  test('the page says so and tries again when asked to', async () => {
    let calls = 0;
    const answers = {
      '/docs/resources.json': async () => {
        calls += 1;
        return calls === 1 ? { status: 503, body: JSON.stringify({ detail: 'try again shortly' }) } : JSON.stringify(await described());
      },
    };
    await visit({}, async (page) => {
      assert.match(await textOf(page, 'main'), /cannot be loaded.*try again shortly/);
      await page.click('main button');
      await page.waitForSelector('.cards');
    }, { prepare: intercept(answers) });
  });

  test('a refusal without faults is told in its own words, and the statement stays', () => {
    const problem = JSON.stringify({ title: 'Too busy', detail: 'every database connection is busy' });
    const answers = { '/api/shop/items/paginate': async () => ({ status: 503, contentType: 'application/problem+json', body: problem }) };
    return visit({ resource: 'shop.item', statement: '{"limit": 7}' }, async (page) => {
      await run(page);
      await waitForText(page, '.status', '503 · Too busy');
      assert.match(await textOf(page, '#panel-Table'), /every database connection is busy/);
      assert.equal(await statement(page), '{"limit": 7}');
      assert.equal(await page.$('.faults'), null);
    }, { prepare: intercept(answers) });
  });
});

describe('the playground', () => {
  // contract E8.5
  test('a statement is written, run and left by keyboard alone', () =>
    visit({ resource: 'shop.customer' }, async (page) => {
      await tabTo(page, '#statement');
      assert.equal(await statement(page), '{\n  "limit": 20\n}', 'the sample has a limit');
      await chord(page, 'A');
      await page.keyboard.type('{"wh');
      await page.waitForSelector('.suggestions:not([hidden])');
      assert.deepEqual(await textsOf(page, '.suggestions .label'), ['where']);
      await page.keyboard.press('Enter');
      assert.equal(await statement(page), '{"where": {}}');
      const active = () => page.$eval('#statement', (area) => document.getElementById(area.getAttribute('aria-activedescendant'))?.querySelector('.label').textContent);
      assert.equal(await active(), 'id', 'the next word is suggested at once');
      await page.keyboard.press('ArrowDown');
      assert.equal(await active(), 'name');
      await page.keyboard.press('ArrowUp');
      await page.keyboard.press('ArrowUp');
      assert.equal(await active(), 'not', 'round the end');
      await page.keyboard.press('Escape');
      assert.equal(await page.$('.suggestions:not([hidden])'), null);
      await page.keyboard.type('"sta');
      await page.keyboard.press('Tab');
      await page.keyboard.type('"e');
      await page.keyboard.press('Enter');
      assert.deepEqual(await textsOf(page, '.suggestions .label'), ['lead', 'active', '<b>gone</b>']);
      await page.keyboard.press('ArrowDown');
      await page.keyboard.press('Enter');
      assert.equal(await statement(page), '{"where": {"status": {"eq": "active"}}}');
      await chord(page, 'Enter');
      await waitForText(page, '.status', '2 rows of 2');
      assert.equal(await rowCount(page), 2);
      await page.keyboard.press('Tab');
      assert.notEqual(await page.evaluate(() => document.activeElement.id), 'statement', 'Tab leaves the editor');
      await page.waitForFunction(() => new URLSearchParams(location.hash.slice(1)).get('statement')?.includes('"active"'), {});
    }));

  test('Ctrl+Space suggests, and what was accepted can be undone', () =>
    visit(customers({ limit: 1 }), async (page) => {
      await page.focus('#statement');
      await page.$eval('#statement', (area) => area.setSelectionRange(1, 1));
      await chord(page, 'Space');
      await page.waitForSelector('.suggestions:not([hidden])');
      const labels = await textsOf(page, '.suggestions .label');
      assert.deepEqual(labels.slice(0, 5), ['where', 'relations', 'order', 'aggregation', 'offset']);
      await page.keyboard.press('Enter');
      assert.match(await statement(page), /^\{"where": \{\},/);
      await page.keyboard.press('Escape');
      await chord(page, 'Z');
      assert.equal(await statement(page), '{\n  "limit": 1\n}');
    }));

  test('a new line keeps its indentation and opens brackets; quotes and brackets come in pairs', () =>
    visit({ resource: 'shop.item' }, async (page) => {
      await page.focus('#statement');
      await chord(page, 'A');
      await page.keyboard.type('{');
      await page.keyboard.press('Enter');
      await page.keyboard.type('"limit": 3');
      assert.equal(await statement(page), '{\n  "limit": 3\n}');
      await page.keyboard.type(', "order": []');
      assert.equal(await statement(page), '{\n  "limit": 3, "order": []\n}', 'a closing half is stepped over');
      await page.keyboard.press('ArrowLeft');
      await page.keyboard.press('Backspace');
      assert.equal(await statement(page), '{\n  "limit": 3, "order": \n}');
    }));

  test('rows are shown as a table and as JSON, no digit lost, relations inside', () =>
    visit(customers({ relations: { orders: true, country: true }, order: [{ field: 'id' }], limit: 20 }), async (page) => {
      await run(page);
      await waitForText(page, '.status', '4 rows of 4');
      assert.match(await textOf(page, '.status'), /^200 · 4 rows of 4 · \d+ ms/);
      const heads = await textsOf(page, '#panel-Table > .rows > .scroll > table > thead th');
      assert.deepEqual(heads.slice(0, 3), ['id', 'name', 'email']);
      assert.match(await textOf(page, '#panel-Table'), /9007199254740993/);
      await page.click('#panel-Table details summary');
      await waitForText(page, '#panel-Table details .rows', '19.99');
      await page.$$eval('#panel-Table details:not([open]) summary', (all) => all.forEach((summary) => summary.click()));
      await page.waitForFunction(() => document.querySelectorAll('#panel-Table details > :not(summary)').length === document.querySelectorAll('#panel-Table details').length);
      await clean(page, 'opened relations');
      await page.focus('#tab-Table');
      await page.keyboard.press('ArrowRight');
      assert.equal(await page.$eval('#panel-JSON', (panel) => panel.hidden), false);
      const json = await textOf(page, '#panel-JSON .json');
      assert.match(json, /9007199254740993/);
      assert.equal(JSON.parse(json).rows.length, 4);
      assert.equal(await page.$('#tab-SQL'), null, 'no SQL without the permission');
    }));

  test('a long answer is whole, and drawn as far as it is wanted', () =>
    visit({ resource: 'shop.item', operation: 'list', statement: '{}' }, async (page) => {
      await run(page);
      await waitForText(page, '.status', '250 rows');
      assert.equal(await rowCount(page), 100);
      assert.match(await textOf(page, '.more'), /100 rows of 250/);
      await page.click('.more button');
      await page.click('.more button');
      assert.equal(await rowCount(page), 250);
      assert.equal(await page.$eval('.more', (more) => more.hidden), true);
      await focusOn(page, '#panel-Table .scroll');
    }));

  test('an answer too large to draw at once is kept whole and drawn when asked for', () => {
    const row = JSON.stringify({ id: 1, label: 'x'.repeat(1000) });
    const answers = { '/api/shop/items/list': async () => `[${Array(9000).fill(row).join(',')}]` };
    return visit({ resource: 'shop.item', operation: 'list', statement: '{}' }, async (page) => {
      await run(page);
      await waitForText(page, '#panel-Table', 'Nothing was cut');
      assert.match(await textOf(page, '.status'), /8\.\d MiB/);
      await page.click('#panel-Table button');
      await waitForText(page, '.status', '9,000 rows');
      assert.equal(await rowCount(page), 100);
    }, { prepare: intercept(answers) });
  });

  test('each operation is asked at its address, a composite key part by part', () =>
    visit({ resource: 'shop.orderLine', operation: 'findById', statement: '' }, async (page) => {
      await page.type('#key-orderId', '10');
      await page.type('#key-sku', 'a,b/c');
      await page.keyboard.press('Enter');
      await waitForText(page, '.status', '1 row');
      assert.match(await textOf(page, '#panel-Table'), /quantity\s*7/);
      await page.$eval('#key-orderId', (input) => { input.value = 'x'; });
      await page.click('.playground button[type=submit]');
      await page.waitForSelector('.faults');
      assert.equal(await page.$eval('#key-orderId', (input) => input.getAttribute('aria-invalid')), 'true');
      await page.select('#operation', 'list');
      await page.click('.playground button[type=submit]');
      await waitForText(page, '.status', '1 row');
      await page.select('#operation', 'find');
      await page.click('.playground button[type=submit]');
      await waitForText(page, '#panel-Table', 'quantity');
    }));

  test('Run asks at once, whatever key the resource has', () =>
    visit({ resource: 'shop.orderLine' }, async (page) => {
      const sent = page.waitForRequest((request) => request.url().endsWith('/api/shop/order-lines/paginate'), { timeout: 5000 });
      await page.click('.playground button[type=submit]');
      await sent;
      await waitForText(page, '.status', '1 row of 1');
      assert.equal(await rowCount(page), 1);
    }));

  test('without an id neither Run nor the copied command goes to an address that is none', () =>
    visit({ resource: 'shop.orderLine', operation: 'findById', id: '10' }, async (page) => {
      const copyAsCurl = '.playground .actions button:nth-child(2)';
      await page.evaluate(() => { navigator.clipboard.writeText = async (text) => { window.copied = text; }; });
      await page.click(copyAsCurl);
      await waitForText(page, '.faults', 'The id is missing');
      await focusOn(page, '#key-sku');
      assert.equal(await textOf(page, copyAsCurl), 'Copy as curl');
      await page.keyboard.type('a');
      assert.equal(await page.$('.faults'), null);
      await page.click(copyAsCurl);
      await page.waitForFunction(() => window.copied?.includes('/10,a'));
      await page.$eval('#key-sku', (input) => { input.value = ''; });
      await page.click('.playground button[type=submit]');
      await waitForText(page, '.status', 'Not sent');
      await focusOn(page, '#key-sku');
    }));

  test('a text that may not be copied is shown, selected', () =>
    visit({ resource: 'shop.item' }, async (page) => {
      await page.evaluate(() => {
        navigator.clipboard.writeText = () => Promise.reject(new Error('no'));
        document.execCommand = () => false;
      });
      await page.click('.playground .actions button:nth-child(2)');
      await page.waitForSelector('dialog[open] textarea');
      const [selected, all] = await page.$eval('dialog textarea', (area) => [area.value.slice(area.selectionStart, area.selectionEnd), area.value]);
      assert.match(all, /^curl /);
      assert.equal(selected, all);
      await clean(page, 'copy');
      await page.keyboard.press('Escape');
      await page.waitForFunction(() => !document.querySelector('dialog'));
      await focusOn(page, '.playground .actions button');
    }));

  test('sizes are those of the bytes that came', () => {
    const answers = { '/api/shop/items/list': async () => JSON.stringify([{ id: 1, label: 'ñ'.repeat(600) }]) };
    return visit({ resource: 'shop.item', operation: 'list', statement: '{}' }, async (page) => {
      await run(page);
      await waitForText(page, '.status', '1.2 KiB');
    }, { prepare: intercept(answers) });
  });

  test('no rows and no row are told as what they are', () =>
    visit(customers({ where: { id: { eq: 404 } } }), async (page) => {
      await run(page);
      await waitForText(page, '#panel-Table', 'No rows match');
      await page.select('#operation', 'find');
      await run(page);
      await waitForText(page, '.status', '404');
    }));
});

describe('faults', () => {
  // contract E8.4
  test('each is marked at its place, listed, announced, and led to', () =>
    visit(customers({ where: { name: { contains: 'x' }, nmae: { eq: 1 } }, limit: 20 }), async (page) => {
      await run(page);
      await page.waitForSelector('.faults li:nth-child(2)');
      assert.deepEqual(await textsOf(page, '.numbers .faulty'), ['4', '6']);
      const marked = await textsOf(page, '.paper .fault');
      assert.equal(marked.slice(0, 3).join(''), '"contains": "x"');
      assert.ok(marked.includes('"nmae"'));
      assert.match(await textOf(page, '.paper .fault-note'), /does not apply to/);
      assert.match(await textOf(page, '#announcer'), /^2 faults/);
      assert.equal(await page.$eval('#statement', (area) => area.getAttribute('aria-invalid')), 'true');
      await page.focus('.faults li:nth-child(2) button');
      await page.keyboard.press('Enter');
      const [focused, cursor] = await page.$eval('#statement', (area) => [document.activeElement === area, area.selectionStart]);
      assert.ok(focused);
      assert.equal((await statement(page)).slice(cursor, cursor + 6), '"nmae"');
      await page.keyboard.press('Delete');
      await page.waitForFunction(() => document.querySelectorAll('.paper .fault-note').length <= 1, {}, 'old marks go with the first change');
    }));

  test('in a long statement the editor scrolls, its numbers with it, and a fault is brought into sight', () =>
    visit(customers({ where: { or: Array.from({ length: 60 }, (_, index) => ({ visits: { eq: index } })).concat([{ nope: { eq: 1 } }]) } }), async (page) => {
      await run(page);
      await page.waitForSelector('.faults');
      await page.click('.faults button');
      const seen = await page.evaluate(() => {
        const editor = document.querySelector('.editor').getBoundingClientRect();
        const inside = (one) => one.top >= editor.top && one.bottom <= editor.bottom;
        const [line, number] = ['.line.faulty', '.numbers .faulty'].map((name) => document.querySelector(name).getBoundingClientRect());
        return [inside(line), inside(number), Math.abs(line.top - number.top) < 2, document.querySelector('.surface').getBoundingClientRect().height <= editor.height];
      });
      assert.deepEqual(seen, [true, true, true, true]);
    }));

  test('a fault far along its line is brought into sight', () =>
    visit({ resource: 'shop.customer', statement: `{"where": {"name": {"eq": "${'x'.repeat(400)}"}, "nope": {"eq": 1}}}` }, async (page) => {
      await run(page);
      await page.waitForSelector('.faults');
      await page.click('.faults button');
      await page.waitForFunction(() => {
        const [surface, fault] = ['.surface', '.paper .fault'].map((name) => document.querySelector(name).getBoundingClientRect());
        return fault.left >= surface.left && fault.right <= surface.right;
      });
    }));

  // contract E8.4
  test('what is no JSON is marked at its line and column and not sent', () =>
    visit({ resource: 'shop.customer', statement: '{\n  "limit": 20,\n  "offset" 3\n}' }, async (page) => {
      await waitForText(page, '.faults', '3:3');
      assert.match(await textOf(page, '.faults'), /a colon and a value are missing/);
      assert.deepEqual(await textsOf(page, '.paper .fault'), ['"offset"']);
      await run(page);
      await waitForText(page, '.status', 'Not sent');
    }));

  test('a body with a constraint is taken as it is, and marked in its own places', () =>
    visit({ resource: 'shop.customer', statement: '{"query": {}, "constraint": {"where": {"nope": {"eq": 1}}}}' }, async (page) => {
      await run(page);
      await page.waitForSelector('.faults');
      assert.deepEqual(await textsOf(page, '.paper .fault'), ['"nope"']);
    }));
});

/** The resources for a caller with the permission to see SQL. */
async function explainable() {
  const all = await described();
  for (const resource of all.resources) resource.operations.push({ name: 'explain', address: resource.operations[0].address.replace('paginate', 'explain') });
  return JSON.stringify({ ...all, explain: true });
}

describe('with the permission', () => {
  test('the SQL is shown, level by level, with the origin of each predicate', async () => {
    const asked = { where: { name: { iLike: 'a%' } }, relations: { orders: true }, limit: 3 };
    const file = join(server.folder, 'statement.json');
    await writeFile(file, JSON.stringify(asked));
    // Under this strategy no caller has the permission; the command line shows the same SQL.
    const answers = {
      '/docs/resources.json': explainable,
      '/api/shop/customers/explain': async (request) => {
        assert.deepEqual(JSON.parse(request.postData()).query, asked);
        return server.run('explain', 'shop.customer', file, '--json');
      },
    };
    await visit(customers(asked), async (page) => {
      await page.click('#tab-SQL');
      await page.waitForSelector('.explained');
      assert.deepEqual(await textsOf(page, '.explained h4'), ['Merged statement', 'Rows', 'orders', 'Total']);
      assert.match(await textOf(page, '.explained'), /SELECT t0\."id"/);
      assert.match(await textOf(page, '.explained'), /1: text, 2: int8/);
      assert.deepEqual(await textsOf(page, '.source'), ['your query']);
      await clean(page, 'SQL');
    }, { prepare: intercept(answers) });
  });

  test('rows and SQL are asked for side by side, and each tab tells of its own', async () => {
    const held = [];
    const explained = { statement: {}, levels: [{ path: '', sql: 'SELECT 1', parameters: [], predicates: [] }] };
    const problem = { status: 503, contentType: 'application/problem+json', body: JSON.stringify({ title: 'Too busy', detail: 'no connection is free' }) };
    let sql = JSON.stringify(explained);
    const answers = {
      '/docs/resources.json': explainable,
      '/api/shop/items/paginate': () => new Promise((resolve) => { held.push(() => resolve('{"total": 1, "count": 1, "rows": [{"id": 1}]}')); }),
      '/api/shop/items/1': async () => '{"id": 1}',
      '/api/shop/items/explain': async () => sql,
    };
    const release = async (count) => {
      while (held.length < count) await new Promise((resolve) => { setImmediate(resolve); });
      for (const answer of held.splice(0)) answer();
    };
    await visit({ resource: 'shop.item' }, async (page) => {
      await run(page);
      await waitForText(page, '.status', 'Running');
      await page.click('#tab-SQL');
      await waitForText(page, '.status', '200 · SQL');
      assert.equal(await page.$('#panel-SQL .hint:first-child'), null);
      await release(1);
      await page.click('#tab-Table');
      await waitForText(page, '.status', '1 row of 1');
      // A refusal of the SQL leaves the rows and their status.
      sql = problem;
      await page.click('#tab-SQL');
      await waitForText(page, '.status', '503 · Too busy');
      assert.match(await textOf(page, '#panel-SQL'), /no connection is free/);
      await page.click('#tab-Table');
      assert.match(await textOf(page, '.status'), /1 row of 1/);
      assert.equal(await rowCount(page), 1);
      // Two runs on the SQL tab: the second replaces the first, and shows rows and SQL.
      sql = JSON.stringify(explained);
      await page.click('#tab-SQL');
      await run(page);
      await run(page);
      await waitForText(page, '.status', '200 · SQL');
      await release(2);
      await page.click('#tab-Table');
      await waitForText(page, '.status', '1 row of 1');
      // Cancel ends only the request of the selected tab.
      await run(page);
      await page.click('.status-line button');
      await waitForText(page, '.status', 'Cancelled');
      await focusOn(page, '#panel-Table');
      await page.click('#tab-SQL');
      await waitForText(page, '.status', '200 · SQL');
      await release(1);
      await page.click('#tab-Table');
      assert.equal(await textOf(page, '.status'), 'Cancelled');
      await page.select('#operation', 'findById');
      await page.type('#key-id', '1');
      await page.click('#tab-SQL');
      await waitForText(page, '#panel-SQL', 'the condition on the key');
    }, { prepare: intercept(answers) });
  });

  test('what was asked with an earlier token is not shown', async () => {
    let late;
    const answers = {
      '/docs/resources.json': async (request) => {
        const { authorization } = request.headers();
        if (authorization) await new Promise((resolve) => { late = resolve; });
        const all = await described();
        return JSON.stringify({ ...all, resources: authorization ? all.resources.slice(0, 1) : all.resources });
      },
    };
    await visit({}, async (page) => {
      await page.click('#token summary');
      await page.type('#token-input', 'clé');
      await page.keyboard.press('Enter');
      await waitForText(page, '#token-fault', 'only ASCII characters');
      await clean(page, 'token');
      await page.$eval('#token-input', (input) => { input.value = 's3cret'; });
      await page.keyboard.press('Enter');
      await waitForText(page, '#token-state', 'Token in use');
      await page.click('#token summary');
      await page.click('#token-clear');
      await waitForText(page, '#announcer', '5 resources');
      const answered = page.waitForResponse((answer) => answer.request().headers().authorization !== undefined);
      late();
      await answered;
      await page.evaluate(() => new Promise((resolve) => { setTimeout(resolve, 100); }));
      assert.equal((await textsOf(page, '#contexts a')).length, 5);
      assert.match(await textOf(page, '#announcer'), /5 resources/);
    }, { prepare: intercept(answers) });
  });

  // contract E8.6
  test('a token is sent with every request and kept nowhere', async () => {
    const sent = [];
    await visit({ resource: 'shop.item' }, async (page) => {
      page.on('request', (request) => {
        const path = new URL(request.url()).pathname;
        if (!path.endsWith('.svg')) sent.push([path, request.headers().authorization]);
      });
      await page.click('#token summary');
      await page.type('#token-input', 'Bearer s3cret-token');
      await page.keyboard.press('Enter');
      await waitForText(page, '#token-state', 'Token in use');
      await page.waitForFunction(() => document.querySelector('#announcer').textContent.includes('5 resources'));
      await run(page);
      await waitForText(page, '.status', '20 rows');
      assert.deepEqual(sent, [['/docs/resources.json', 'Bearer s3cret-token'], ['/api/shop/items/paginate', 'Bearer s3cret-token']]);
      assert.ok(!(await textOf(page, '.reference .code pre')).includes('s3cret'));
      const kept = await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, location.href, document.documentElement.outerHTML]));
      assert.ok(!kept.includes('s3cret'));
      await page.reload();
      await waitForText(page, '#token-state', 'No token');
    });
  });
});

describe('markup in names and values', () => {
  // contract E8.6
  test('stays text, wherever it comes from', async () => {
    const answers = {
      '/docs/resources.json': async () => {
        const all = await described();
        const field = { name: HOSTILE, type: HOSTILE, array: false, nullable: true, key: true, values: [HOSTILE], operators: [HOSTILE, 'eq'], functions: [], sortable: true };
        const operations = [{ name: 'paginate', address: `/api/${HOSTILE}` }];
        const relations = [{ name: HOSTILE, many: true, target: HOSTILE }];
        all.resources.push({ name: HOSTILE, context: HOSTILE, resource: HOSTILE, key: [HOSTILE], operations, fields: [field], relations });
        return JSON.stringify(all);
      },
    };
    await visit({ resource: HOSTILE }, async (page) => {
      assert.equal(await textOf(page, 'h1'), HOSTILE);
      await page.focus('#statement');
      await chord(page, 'A');
      await page.keyboard.type('{"where": {"<');
      await page.waitForSelector('.suggestions:not([hidden])');
      await page.keyboard.press('Enter');
      assert.equal(await page.$('main img, nav img'), null);
    }, { prepare: intercept(answers) });
    await visit(customers({ where: { id: { eq: 3 } } }), async (page) => {
      await run(page);
      await waitForText(page, '.status', '1 row');
      assert.match(await textOf(page, '#panel-Table'), /<script>alert\(1\)<\/script>/);
      assert.match(await textOf(page, '#panel-Table'), /<svg onload=alert\(1\)>/);
      await page.click('#tab-JSON');
      assert.match(await textOf(page, '#panel-JSON'), /<script>/);
      assert.equal(await page.$('main script, main svg'), null);
    });
    await visit({ resource: `${HOSTILE}x` }, async (page) => {
      assert.match(await textOf(page, '.notice'), /<img src=x/);
      assert.equal(await page.$('main img'), null);
    });
  });
});

/** Checks that axe finds no violation. */
async function clean(page, where) {
  const found = await page.evaluate(`${AXE}; axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => violations.map(({ id, nodes }) => id + ': ' + nodes.map((node) => node.html + ' ' + node.failureSummary).join('; ')))`);
  assert.deepEqual(found, [], where);
}

describe('for everybody', () => {
  const ink = (page) => page.evaluate(() => getComputedStyle(document.body).backgroundColor);

  for (const scheme of ['light', 'dark']) {
    // contract E8.5
    test(`axe finds nothing in ${scheme}: overview, resource, suggestions, faults, rows`, () =>
      visit({}, async (page) => {
        await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }]);
        assert.equal(await ink(page), scheme === 'light' ? 'rgb(250, 249, 246)' : 'rgb(20, 23, 27)');
        await clean(page, 'overview');
        await page.click('#contexts a');
        await page.waitForSelector('.playground');
        await clean(page, 'resource');
        await page.focus('#statement');
        await page.$eval('#statement', (area) => area.setSelectionRange(1, 1));
        await chord(page, 'Space');
        await page.waitForSelector('.suggestions:not([hidden])');
        await clean(page, 'suggestions');
        await page.keyboard.press('Escape');
        await run(page);
        await waitForText(page, '.status', '4 rows');
        await clean(page, 'rows');
        await chord(page, 'A');
        await page.keyboard.type('{"where": {"nope": {"eq": 1');
        await run(page);
        await page.waitForSelector('.faults');
        await clean(page, 'faults');
        await page.click('#token summary');
        await clean(page, 'token');
      }));
  }

  // contract E8.5
  test('at 360 pixels nothing scrolls sideways but what is meant to, and the list folds away', () =>
    visit(customers({ relations: { orders: true }, limit: 20 }), async (page) => {
      await page.setViewport({ width: 360, height: 740 });
      const fits = async (where) => {
        const width = await page.evaluate(() => document.documentElement.scrollWidth);
        assert.ok(width <= 360, `${where} is ${width} wide`);
      };
      await page.waitForFunction(() => !document.getElementById('side').open);
      await fits('resource');
      await run(page);
      await waitForText(page, '.status', '4 rows');
      await page.$eval('#panel-Table details summary', (summary) => summary.click());
      await page.waitForSelector('#panel-Table details .rows');
      await fits('rows');
      await page.focus('#statement');
      await page.$eval('#statement', (area) => area.setSelectionRange(1, 1));
      await chord(page, 'Space');
      await page.waitForSelector('.suggestions:not([hidden])');
      await fits('suggestions');
      await page.keyboard.press('Escape');
      await page.$eval('#statement', (area) => { area.value = `{"where": {"${'long'.repeat(40)}": {"eq": 1}}}`; });
      await run(page);
      await page.waitForSelector('.faults');
      await fits('faults');
      await page.click('#token summary');
      await fits('token');
      await page.click('#token summary');
      await page.click('#side summary');
      await page.waitForFunction(() => document.getElementById('side').open);
      await fits('list');
      await clean(page, 'narrow');
      await page.click('#contexts a');
      await page.waitForFunction(() => !document.getElementById('side').open);
    }));

  test('the first stop is a way past the navigation, and every stop can be seen', () =>
    visit({ resource: 'shop.order' }, async (page) => {
      await page.keyboard.press('Tab');
      await focusOn(page, '.skip');
      await page.keyboard.press('Enter');
      await focusOn(page, '#content');
      for (let step = 0; step < 12; step += 1) {
        await page.keyboard.press('Tab');
        const seen = await page.evaluate(() => {
          const around = document.activeElement.closest('.editor') ?? document.activeElement;
          return document.activeElement === document.body || getComputedStyle(around).outlineStyle !== 'none';
        });
        assert.ok(seen, await page.evaluate(() => document.activeElement.outerHTML.slice(0, 200)));
      }
    }));
});
