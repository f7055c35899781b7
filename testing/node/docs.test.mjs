// `/docs` in a real Chromium: the reference, the editor by keyboard, and running statements; light and dark, wide and narrow.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { after, before, describe, test } from 'node:test';
import { openFolder } from './compiler.mjs';
import { focusOn, openBrowser, openMenu, openPage } from './browser.mjs';
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

const customers = (statement, more = {}) => Object.fromEntries(Object.entries({ resource: 'shop.customer', ...more, statement: JSON.stringify(statement, null, 2) }).filter(([, value]) => value !== undefined));
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
  test('each field shows its type, its operators, its origin, whether it is a key, and its values', () =>
    visit({ resource: 'shop.customer' }, async (page) => {
      assert.deepEqual(await textsOf(page, '[data-field="lastOrderOn"] .origin code'), ['orders.placedOn'], 'names are code');
      assert.equal(await page.$eval('[data-field="lastOrderOn"] .origin', (origin) => getComputedStyle(origin).display), 'block', 'below the type');
      assert.match(await textOf(page, '[data-field="lastOrderOn"] .origin'), /^max of orders.placedOn; shown only if it is named$/);
      const operators = (name) => textsOf(page, `[data-field="${name}"] .chip code`);
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
      await page.focus('[aria-labelledby=relations-title] table a');
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
      assert.deepEqual(JSON.parse(await statement(page)), { relations: { country: true, orders: { limit: 3 } }, limit: 20 }, 'the first example has a limit');
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
      const heads = await textsOf(page, '#panel-Table > .rows > .scroll > table > thead th:not(.opener)');
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

  test('without an id neither Run nor a program goes to a path that is none', () =>
    visit({ resource: 'shop.orderLine', operation: 'findById', id: '10', statement: '{}' }, async (page) => {
      await page.click('#program-curl');
      await waitForText(page, '#source-curl', 'The id is missing');
      await page.type('#key-sku', 'a');
      await waitForText(page, '#source-curl', '/10,a');
      await page.$eval('#key-sku', (input) => { input.value = ''; });
      await page.click('.playground button[type=submit]');
      await waitForText(page, '.status', 'Not sent');
      await waitForText(page, '.faults', 'The id is missing');
      await focusOn(page, '#key-sku');
      await page.keyboard.type('b');
      assert.equal(await page.$('.faults'), null);
    }));

  test('a text that may not be copied is shown, selected', () =>
    visit({ resource: 'shop.item' }, async (page) => {
      await page.evaluate(() => {
        navigator.clipboard.writeText = () => Promise.reject(new Error('no'));
        document.execCommand = () => false;
      });
      await page.click('#program-curl');
      await page.click('#source-curl button');
      await page.waitForSelector('dialog[open] textarea');
      const [selected, all] = await page.$eval('dialog textarea', (area) => [area.value.slice(area.selectionStart, area.selectionEnd), area.value]);
      assert.match(all, /^curl /);
      assert.equal(selected, all);
      await clean(page, 'copy');
      await page.keyboard.press('Escape');
      await page.waitForFunction(() => !document.querySelector('dialog'));
      await focusOn(page, '#source-curl button');
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

describe('with the permission', () => {
  // contract E5.8
  test('the SQL is shown in lines and colours, level by level, with the origin of each predicate', () =>
    visit(customers({ where: { name: { iLike: 'a%' } }, relations: { orders: true }, limit: 3 }), async (page) => {
      await page.click('#tab-SQL');
      await page.waitForSelector('.explained');
      assert.deepEqual(await textsOf(page, '.explained h3'), ['Rows', 'orders', 'Total', 'Merged statement']);
      const sql = await textOf(page, '.explained pre');
      assert.match(sql, /^SELECT/);
      assert.ok(sql.split('\n').some((line) => line.startsWith('FROM')) && sql.split('\n').some((line) => line.startsWith('WHERE')), sql);
      assert.ok((await textsOf(page, '.explained pre .keyword')).includes('SELECT'));
      assert.match(await textOf(page, '.explained'), /1: text, 2: int8/);
      assert.deepEqual(await textsOf(page, '.source'), ['your query']);
      await clean(page, 'SQL');
    }));

  // contract P2.12
  test('a constraint that a permission lifts names the permission', () => {
    const predicates = [{ source: 'policy', resource: 'shop.item', sql: 'TRUE', parameters: [], unless: 'shop.item.all' }];
    const answers = { '/api/shop/items/explain': async () => JSON.stringify({ statement: {}, levels: [{ path: '', sql: 'SELECT 1', parameters: [], predicates }] }) };
    return visit({ resource: 'shop.item', statement: '{}' }, async (page) => {
      await page.click('#tab-SQL');
      await waitForText(page, '.explained tbody', 'lifted by the permission shop.item.all');
      assert.ok(!(await textOf(page, '.explained tbody')).includes('TRUE'));
    }, { prepare: intercept(answers) });
  });

  test('rows and SQL are asked for side by side, and each tab tells of its own', async () => {
    const held = [];
    const explained = { statement: {}, levels: [{ path: '', sql: 'SELECT 1', parameters: [], predicates: [] }] };
    const problem = { status: 503, contentType: 'application/problem+json', body: JSON.stringify({ title: 'Too busy', detail: 'no connection is free' }) };
    let sql = JSON.stringify(explained);
    const answers = {
      '/api/shop/items/paginate': () => new Promise((resolve) => { held.push(() => resolve('{"total": 1, "count": 1, "rows": [{"id": 1}]}')); }),
      '/api/shop/items/1': async () => '{"id": 1}',
      '/api/shop/items/explain': async () => sql,
    };
    const release = async (count) => {
      while (held.length < count) await new Promise((resolve) => { setImmediate(resolve); });
      for (const answer of held.splice(0)) answer();
    };
    await visit({ resource: 'shop.item', statement: '{"limit": 20}' }, async (page) => {
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
});

/** A statement as the text of a shared URL. */
const text = (statement) => JSON.stringify(statement, null, 2);
const programOf = async (page, name) => {
  await page.click(`#program-${name}`);
  await page.waitForSelector(`#source-${name} pre`);
  return textOf(page, `#source-${name} pre`);
};
/** Checks a program with the compiler as a module of either kind, runs it, and returns the answer that it prints. */
async function answerOfTypescript(program) {
  const folder = await openFolder();
  try {
    await folder.write('program.ts', program.replace('console.log(answer)', 'console.log(JSON.stringify(answer))'));
    assert.deepEqual(await folder.errors('program.ts', ['--module', 'commonjs']), [], program);
    assert.deepEqual(await folder.emit('program.ts'), [], program);
    return JSON.parse(execFileSync(process.execPath, ['program.js'], { cwd: folder.path, encoding: 'utf8' }));
  } finally {
    await folder.close();
  }
}

/** Runs a command line in a shell. */
const shell = (command, environment = {}) => execFileSync('bash', ['-c', command], { encoding: 'utf8', env: { PATH: process.env.PATH, ...environment }, stdio: ['ignore', 'pipe', 'ignore'] });

describe('opening a resource', () => {
  // contract E8.11
  test('runs an example, and a shared statement waits for Run', async () => {
    await visit({ resource: 'shop.customer' }, async (page) => {
      await waitForText(page, '.status', '4 rows of 4');
      assert.equal(await page.evaluate(() => document.activeElement === document.body), true, 'the focus stays');
    });
    const sent = [];
    await visit(customers({ limit: 1 }), async (page) => {
      page.on('request', (request) => { if (request.method() === 'POST') sent.push(request.url()); });
      await waitForText(page, '#panel-Table', 'Run the statement');
      assert.deepEqual(sent, []);
    });
  });

  // contract E8.11
  test('a statement that ran in this tab runs again after a reload', () =>
    visit(customers({ limit: 2 }), async (page) => {
      await run(page);
      await waitForText(page, '.status', '2 rows');
      await page.select('#operation', 'list');
      await page.click('.playground button[type=submit]');
      await page.waitForFunction(() => /200 · 2 rows · /.test(document.querySelector('.status').textContent) && location.hash.includes('operation=list'));
      await page.reload();
      await page.waitForFunction(() => /200 · 2 rows · /.test(document.querySelector('.status')?.textContent));
      await page.select('#operation', 'find');
      await page.waitForFunction(() => location.hash.includes('operation=find'));
      await page.reload();
      await waitForText(page, '#panel-Table', 'Run the statement');
    }));

  // contract E8.11
  test('related rows open in the table, those of the answer and those that are loaded then, at every depth', () =>
    visit(customers({ relations: { country: true }, order: [{ field: 'id' }], limit: 2 }), async (page) => {
      await run(page);
      await waitForText(page, '.status', '2 rows');
      await page.focus('#panel-Table .open');
      await page.keyboard.press('Enter');
      assert.equal(await page.$eval('#panel-Table .open', (button) => button.getAttribute('aria-expanded')), 'true');
      assert.deepEqual(await page.$$eval('.related > details > summary', (all) => all.map((one) => one.firstChild.textContent)), ['orders', 'country']);
      await waitForText(page, '.related > details:nth-child(2)', 'Spain');
      await page.click('.related > details:nth-child(1) summary');
      await waitForText(page, '.related > details:nth-child(1) .rows', '19.99');
      // An order leads back to its customer.
      await page.click('.related .rows .open');
      await page.click('.related .rows .related summary');
      await waitForText(page, '.related .rows .related', 'Ana García');
      await clean(page, 'related rows');
      await page.$eval('#panel-Table .open', (button) => button.click());
      assert.equal(await page.$('.related'), null);
    }));

  test('related rows that cannot be loaded are tried again when asked to', () => {
    let calls = 0;
    const answers = {
      '/api/shop/orders/find/10': async () => {
        calls += 1;
        return calls === 1 ? { status: 503, body: JSON.stringify({ detail: 'every connection is busy' }) } : JSON.stringify({ id: 10, customer: null });
      },
    };
    return visit({ resource: 'shop.order', statement: '{"limit": 1}' }, async (page) => {
      await run(page);
      await page.waitForSelector('#panel-Table .open');
      await page.click('#panel-Table .open');
      await page.click('.related summary');
      await waitForText(page, '.related', 'every connection is busy');
      await page.click('.related button');
      await waitForText(page, '.related', 'None.');
    }, { prepare: intercept(answers) });
  });

  test('a column of long strings stays wide enough to read, and numbers stand below each other', () => {
    const row = { id: 1, label: 'a word of a sentence '.repeat(7), more: 'x'.repeat(30), ratio: '0.50' };
    const more = Object.fromEntries(Array.from({ length: 20 }, (_, index) => [`c${index}`, 'y'.repeat(30)]));
    const answers = { '/api/shop/items/list': async () => JSON.stringify([{ ...row, ...more }, { id: 2, label: null, ratio: null }]) };
    return visit({ resource: 'shop.item', operation: 'list', statement: '{}' }, async (page) => {
      for (const width of [1280, 360]) {
        await page.setViewport({ width, height: 740 });
        await run(page);
        await waitForText(page, '.status', '2 rows');
        const shown = await page.$eval('#panel-Table td.long', (cell) => cell.getBoundingClientRect().width);
        assert.ok(shown >= 170, `${shown} of ${width}`);
      }
      assert.deepEqual(await page.$$eval('#panel-Table tbody td:nth-child(4)', (cells) => cells.map((cell) => cell.className)), ['figure', 'figure'], 'a decimal, and a null below it');
    }, { prepare: intercept(answers) });
  });

  test('a long value opens in a dialog, and closes back to its cell', () => {
    const long = `first line\n${'word '.repeat(100)}`;
    const answers = { '/api/shop/items/list': async () => JSON.stringify([{ id: 1, label: long }]) };
    return visit({ resource: 'shop.item', operation: 'list', statement: '{}' }, async (page) => {
      await run(page);
      await page.waitForSelector('#panel-Table td button.small');
      assert.ok(!(await textOf(page, '#panel-Table')).includes(long));
      await page.click('#panel-Table td button.small');
      await page.waitForSelector('dialog[open]');
      assert.equal(await textOf(page, 'dialog pre'), long);
      await clean(page, 'value');
      await page.keyboard.press('Escape');
      await page.waitForFunction(() => !document.querySelector('dialog'));
      await focusOn(page, '#panel-Table td button.small');
    }, { prepare: intercept(answers) });
  });

  // contract E8.11
  test('its neighbours are drawn, and each is a link for the keyboard', () =>
    visit({ resource: 'shop.country' }, async (page) => {
      assert.deepEqual(await page.$$eval('.diagram a', (all) => all.map((one) => one.textContent)), ['shop.customerits country']);
      await page.$eval('.diagram a', (link) => link.focus());
      await page.keyboard.press('Enter');
      await waitForText(page, 'h1', 'customer');
      assert.equal((await page.$$('.diagram a')).length, 2);
      await page.setViewport({ width: 360, height: 740 });
      await page.waitForFunction(() => document.querySelector('.diagram').getBoundingClientRect().width <= 328);
    }));

  // contract E8.11
  test('at 360 pixels its rows are in sight, and Run brings them there', () =>
    visit({ resource: 'shop.customer' }, async (page) => {
      const isSeen = () => page.$eval('#panel-Table tbody tr', (row) => { const { top, bottom } = row.getBoundingClientRect(); return top >= 0 && bottom <= window.innerHeight; });
      await waitForText(page, '.status', '4 rows of 4');
      assert.ok(await isSeen());
      const many = { where: { or: Array.from({ length: 12 }, (_, index) => ({ visits: { gte: -1 - index } })) }, limit: 5 };
      await page.$eval('#statement', (area, value) => { area.value = value; area.dispatchEvent(new InputEvent('input')); }, text(many));
      await run(page);
      await waitForText(page, '.status', '3 rows of 3');
      await page.waitForFunction(() => { const { top, bottom } = document.querySelector('#panel-Table tbody tr').getBoundingClientRect(); return top >= 0 && bottom <= window.innerHeight; });
    }, { prepare: (page) => page.setViewport({ width: 360, height: 740 }) }));
});

describe('pages and fields', () => {
  const turn = async (page, words, status) => {
    await page.$$eval('.pager button', (all, words) => all.find((button) => button.textContent === words).click(), words);
    await waitForText(page, '.status', status);
  };
  const offered = (page) => page.$$eval('.pager:not([hidden]) button:not(:disabled)', (all) => all.map((button) => button.textContent));
  const ids = (page) => page.$$eval('#panel-Table tbody tr', (rows) => rows.map((row) => Number(row.children[0].textContent)));

  // contract E8.14
  test('the pages of paginate are turned both ways, also of a shared link', () =>
    visit({ resource: 'shop.item', statement: '{"order": [{"field": "id"}], "limit": 100, "offset": 100}' }, async (page) => {
      await run(page);
      await waitForText(page, '.status', 'rows 101 to 200 of 250');
      await clean(page, 'pages');
      await page.focus('.pager button:last-child');
      await page.keyboard.press('Enter');
      await waitForText(page, '.status', 'rows 201 to 250 of 250');
      assert.deepEqual(await offered(page), ['Previous page']);
      await focusOn(page, '.pager button:first-child');
      await turn(page, 'Previous page', 'rows 101 to 200');
      await turn(page, 'Previous page', '100 rows of 250');
      assert.deepEqual(JSON.parse(await statement(page)), { order: [{ field: 'id' }], limit: 100 });
      assert.deepEqual(await offered(page), ['Next page']);
      await page.click('#tab-SQL');
      assert.deepEqual(await offered(page), [], 'the SQL has no pages');
      await openMenu(page, '#history');
      assert.equal((await page.$$('#history li')).length, 1, 'all pages are one entry of the history');
    }));

  // contract E8.14, Q16.1
  test('keyset pages lead through all rows and back, and the last one says so', () =>
    visit({ resource: 'shop.item', operation: 'keysetPaginate', statement: '{"order": [{"field": "label", "dir": "desc"}], "limit": 99}' }, async (page) => {
      await run(page);
      await waitForText(page, '.status', '99 rows');
      const seen = await ids(page);
      assert.deepEqual(await offered(page), ['Next page']);
      await turn(page, 'Next page', '99 rows');
      await page.waitForFunction((first) => Number(document.querySelector('#panel-Table tbody td').textContent) !== first, {}, seen[0]);
      assert.deepEqual(await offered(page), ['Previous page', 'Next page']);
      seen.push(...await ids(page));
      await turn(page, 'Next page', '52 rows · no more pages');
      seen.push(...await ids(page));
      assert.equal(new Set(seen).size, 250, 'each row once');
      await turn(page, 'Previous page', '99 rows');
      await page.waitForFunction((first) => Number(document.querySelector('#panel-Table tbody td').textContent) === first, {}, seen[99]);
      await turn(page, 'Previous page', '99 rows');
      await page.waitForFunction((first) => Number(document.querySelector('#panel-Table tbody td').textContent) === first, {}, seen[0]);
      assert.deepEqual(JSON.parse(await statement(page)), { order: [{ field: 'label', dir: 'desc' }], limit: 99 });
      assert.deepEqual(await offered(page), ['Next page']);
    }));

  // contract E8.14, E1.6
  test('the fields that rows show are named with suggestions, and every program names them', () =>
    visit(customers({ relations: { orders: { limit: 1 } }, order: [{ field: 'id' }], limit: 2 }, { operation: 'list' }), async (page) => {
      await page.click('#fields');
      await page.waitForSelector('#field-suggestions:not([hidden])');
      await clean(page, 'suggestions of fields');
      await page.keyboard.type('na');
      assert.deepEqual(await textsOf(page, '#field-suggestions .label'), ['name']);
      await page.keyboard.press('Enter');
      await page.keyboard.type('lastO');
      assert.match(await textOf(page, '#field-suggestions li'), /only if named/);
      await page.keyboard.press('Tab');
      await page.keyboard.type('orders.total');
      await page.keyboard.press('Escape');
      await page.keyboard.press('Enter');
      await waitForText(page, '.status', '2 rows');
      await page.click('#tab-JSON');
      const shown = JSON.parse(await textOf(page, '#panel-JSON .json'));
      assert.deepEqual(shown[0], { name: 'Ana García', lastOrderOn: '2024-05-09', orders: [{ total: '19.99' }] });
      await page.waitForFunction(() => new URLSearchParams(location.hash.slice(1)).get('fields') === 'name,lastOrderOn,orders.total');
      assert.deepEqual(JSON.parse(shell(await programOf(page, 'curl'))), shown);
      assert.deepEqual(await answerOfTypescript(await programOf(page, 'TypeScript')), shown);
      const query = await programOf(page, 'GraphQL');
      const answered = await (await fetch(`${server.origin}/graphql`, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ query }) })).json();
      assert.deepEqual(answered.data?.shopGetCustomers, shown, JSON.stringify(answered));
      await page.reload();
      await waitForText(page, '.status', '2 rows');
      assert.equal(await page.$eval('#fields', (input) => input.value), 'name, lastOrderOn, orders.total');
    }));

  // contract E8.14, E8.4
  test('a field that does not exist is a fault at the input', () =>
    visit({ resource: 'shop.item', fields: 'id,nope', statement: '{}' }, async (page) => {
      await run(page);
      await waitForText(page, '.faults', 'nope');
      assert.equal(await textOf(page, '.faults .place'), 'fields');
      assert.equal(await page.$eval('#fields', (input) => input.getAttribute('aria-invalid')), 'true');
      await page.click('.faults button');
      await focusOn(page, '#fields');
      await page.$eval('#fields', (input) => { input.value = ''; input.dispatchEvent(new Event('input')); });
      assert.equal(await page.$eval('#fields', (input) => input.getAttribute('aria-invalid')), null);
      await page.waitForFunction(() => !document.querySelector('.faults'));
    }));
});

describe('examples and history', () => {
  // contract E8.11
  test('every operator has an example in the menu and at its field, and each runs', () =>
    visit({ resource: 'shop.customer' }, async (page) => {
      await waitForText(page, '.status', '4 rows of 4');
      await openMenu(page, '#examples');
      await clean(page, 'examples');
      const group = (title) => page.$$eval('#examples section', (all, title) => [...all.find((one) => one.querySelector('h3').textContent === title).querySelectorAll('li code')].map((code) => code.textContent), title);
      assert.deepEqual(await group('Sort and page'), ['top 10 by orderCount', 'top 10 by balance', 'the latest by createdAt', 'second page', 'keyset pages', 'by country.name']);
      assert.deepEqual(await group('Derived fields'), ['orderCount gt', 'lastOrderOn gt']);
      const labels = await group('Operators');
      assert.deepEqual(labels, ['eq', 'ne', 'gt', 'gte', 'lt', 'lte', 'in', 'notIn', 'between', 'isNull', 'iLike', 'contains', 'overlap']);
      const count = (await page.$$('#examples li')).length;
      await page.keyboard.press('Escape');
      await focusOn(page, '#examples summary');
      for (let index = 0; index < count; index += 1) {
        await openMenu(page, '#examples');
        await page.$$eval('#examples li button', (all, index) => all[index].click(), index);
        await page.waitForFunction(() => /^\d{3} /.test(document.querySelector('.status').textContent));
        assert.match(await textOf(page, '.status'), /^200/, await statement(page));
      }
      for (const chip of await page.$$('.chip')) {
        await chip.evaluate((button) => button.click());
        await page.waitForFunction(() => /^\d{3} /.test(document.querySelector('.status').textContent));
        assert.match(await textOf(page, '.status'), /^200/, await statement(page));
      }
    }));

  // contract E8.11
  test('what ran is listed, opens again, and is forgotten when asked to', () =>
    visit({ resource: 'shop.item', statement: '{"limit": 3}' }, async (page) => {
      await run(page);
      await waitForText(page, '.status', '3 rows');
      await page.goto(`${server.origin}/docs#${new URLSearchParams({ resource: 'shop.order', operation: 'list', statement: '{"limit": 2}' })}`);
      await waitForText(page, 'h1', 'order');
      await run(page);
      await waitForText(page, '.status', '2 rows');
      await openMenu(page, '#history');
      await clean(page, 'history');
      assert.deepEqual(await textsOf(page, '#history strong'), ['shop.order', 'shop.item']);
      await page.click('#history li:nth-child(2) button');
      await waitForText(page, 'h1', 'item');
      await waitForText(page, '.status', '3 rows of 250');
      assert.equal(await statement(page), '{"limit": 3}');
      await page.goBack();
      await waitForText(page, 'h1', 'order');
      // The page may draw the list again while it goes back.
      const forget = () => {
        const button = document.querySelector('#history .buttons button');
        if (button) button.click();
        else document.querySelector('#history summary')?.click();
        return Boolean(button);
      };
      await page.waitForFunction(forget, { polling: 500 });
      await page.click('#history summary');
      await waitForText(page, '#history', 'Statements that you run');
    }));
});

describe('the statement as a program', () => {
  // contract E8.12
  test('curl, TypeScript and GraphQL give the rows that the page shows', () =>
    visit({ resource: 'shop.customer', operation: 'list', statement: '{"where": {"id": {"in": [1, 9007199254740993]}}, "relations": {"orders": {"limit": 1}}, "order": [{"field": "id"}], "limit": 20}' }, async (page) => {
      await run(page);
      await waitForText(page, '.status', '2 rows');
      await page.click('#tab-JSON');
      const shown = JSON.parse(await textOf(page, '#panel-JSON .json'));
      assert.deepEqual(JSON.parse(shell(await programOf(page, 'curl'))), shown);
      assert.deepEqual(await answerOfTypescript(await programOf(page, 'TypeScript')), shown);
      const query = await programOf(page, 'GraphQL');
      const answered = await (await fetch(`${server.origin}/graphql`, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ query }) })).json();
      assert.equal(answered.errors, undefined, JSON.stringify(answered.errors));
      assert.deepEqual(answered.data.shopGetCustomers.map(({ id }) => id), shown.map(({ id }) => id));
      assert.deepEqual(answered.data.shopGetCustomers[0].orders, shown[0].orders);
      const link = await page.$eval('#source-GraphQL a', (one) => one.getAttribute('href'));
      assert.equal(new URLSearchParams(link.split('#')[1]).get('query'), query);
      await clean(page, 'programs');
    }));

  // contract E8.12
  test('every operation and an aggregation become programs that run', async () => {
    const statements = [{}, { limit: 2 }, { aggregation: { fields: [{ fn: 'count', field: '*' }], groupBy: ['status'] } }, { where: { profile: { contains: ["it's", '"\\'] } } }];
    for (const operation of ['paginate', 'list', 'find', 'findById']) {
      for (const statement of operation === 'findById' ? [{}] : statements) {
        await visit(customers(statement, { operation, id: operation === 'findById' ? '1' : undefined }), async (page) => {
          const status = shell(`${await programOf(page, 'curl')} -s -o /dev/null -w '%{http_code}'`);
          assert.ok(['200', operation === 'find' ? '404' : '200'].includes(status), `${operation} ${JSON.stringify(statement)}: ${status}`);
          const query = await programOf(page, 'GraphQL');
          const answered = await (await fetch(`${server.origin}/graphql`, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ query }) })).json();
          assert.equal(answered.errors, undefined, `${query}: ${JSON.stringify(answered.errors)}`);
          assert.match(await programOf(page, 'TypeScript'), /await fetch/);
        });
      }
    }
  });

  test('the tabs follow the arrow keys, and a text that is no JSON makes no program', () =>
    visit({ resource: 'shop.item', statement: '{"limit" 3}' }, async (page) => {
      await page.focus('#program-Statement');
      await page.keyboard.press('ArrowRight');
      await focusOn(page, '#program-curl');
      await waitForText(page, '#source-curl', 'not JSON yet');
      await page.keyboard.press('ArrowLeft');
      await focusOn(page, '#program-Statement');
      assert.equal(await page.$eval('#source-curl', (panel) => panel.hidden), true);
    }));
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
      assert.ok((await textOf(page, '#relations-title ~ .scroll')).includes(HOSTILE));
      for (const program of ['curl', 'TypeScript', 'GraphQL']) await page.click(`#program-${program}`);
      await openMenu(page, '#examples');
      assert.equal(await page.$('main img, nav img'), null);
    }, { prepare: intercept(answers) });
    await visit(customers({ where: { id: { eq: 3 } } }), async (page) => {
      await run(page);
      await waitForText(page, '.status', '1 row');
      assert.match(await textOf(page, '#panel-Table'), /<script>alert\(1\)<\/script>/);
      assert.match(await textOf(page, '#panel-Table'), /<svg onload=alert\(1\)>/);
      await page.click('#tab-JSON');
      assert.match(await textOf(page, '#panel-JSON'), /<script>/);
      assert.equal(await page.$('main script, main svg[onload]'), null);
    });
    await visit({ resource: `${HOSTILE}x` }, async (page) => {
      assert.match(await textOf(page, '.notice'), /<img src=x/);
      assert.equal(await page.$('main img'), null);
    });
  });
});

/** Checks that axe finds no violation. */
async function clean(page, where) {
  const found = await page.evaluate(`${AXE}; axe.run(document, { resultTypes: ['violations'], rules: { 'label-content-name-mismatch': { enabled: true } } }).then(({ violations }) => violations.map(({ id, nodes }) => id + ': ' + nodes.map((node) => node.html + ' ' + node.failureSummary).join('; ')))`);
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
        // The panels are pale while the example runs.
        await page.waitForFunction(() => document.querySelector('.playground') && !document.querySelector('[aria-busy=true]'));
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

  test('other descriptions and the resources that need a permission are in sight at every width', () =>
    visit({}, async (page) => {
      const seen = (selector) => page.$$eval(selector, (all) => all.filter((one) => one.getClientRects().length > 0).map((one) => one.textContent));
      for (const width of [1280, 800, 360]) {
        await page.setViewport({ width, height: 740 });
        if (width === 360) {
          assert.match(String(await seen('main .withheld')), /1 more resource needs a permission/);
          await page.click('#side summary');
        }
        assert.deepEqual(await seen('.links a'), ['GraphQL', 'OpenAPI'], String(width));
        assert.equal((await seen('.withheld')).length >= 1, true, String(width));
      }
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
