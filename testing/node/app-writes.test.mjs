// The page of one order in the demo's app, in a real Chromium: a change with the version that the page has read, and its refusals.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { after, before, test } from 'node:test';
import { openBrowser, openPage } from './browser.mjs';
import { startDemo } from './demo.mjs';

const AXE = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

let demo;
let chromium;
before(async () => {
  [demo, chromium] = await Promise.all([startDemo(), openBrowser()]);
});
after(async () => {
  await chromium?.close();
  await demo?.close();
});

/** Signs in at the app, runs a test, and checks that nothing else went wrong. */
async function visit(address, username, work) {
  const { page, troubles, close } = await openPage(chromium.browser, demo.app, demo.hub);
  try {
    await page.setViewport({ width: 1280, height: 900 });
    await page.goto(demo.app + address);
    await page.waitForSelector('.landing button');
    await page.click('.landing button');
    await page.waitForSelector('input[type=password]');
    await page.type('input[name=username]', username);
    await page.type('input[type=password]', demo.people.find((person) => person.username === username).password);
    await page.keyboard.press('Enter');
    await says(page, '.who', username);
    await work(page);
    // The browser logs refused requests, which these tests expect.
    assert.deepEqual(troubles.filter((trouble) => !/status of 412/.test(trouble)), []);
  } finally {
    await close();
  }
}

const says = (page, selector, words) =>
  page.waitForFunction((place, text) => document.querySelector(place)?.textContent.includes(text), { polling: 50 }, selector, words).catch(async (error) => {
    throw new Error(`${selector} never said ${words}: ${await page.$eval('body', (body) => body.innerText)}`, { cause: error });
  });
const save = async (page, status) => {
  await page.waitForSelector('.half:not([aria-busy]) #status');
  await page.select('#status', status);
  await page.click('.order button[type=submit]');
};
const sent = async (page) => JSON.parse(await page.$eval('.inspector pre', (node) => node.textContent));
const fact = (page, label) => page.$$eval('.facts > div', (parts, name) => parts.find((part) => part.children[0].textContent === name).children[1].textContent, label);
/** Changes an order behind the back of the page. */
const changeElsewhere = (page, id, payload) =>
  page.evaluate(async (path, body) => {
    const { access } = JSON.parse(localStorage.getItem('demo-shop.tokens'));
    const answer = await fetch(path, { method: 'POST', headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${access}` }, body });
    return answer.status;
  }, `/api/shop/orders/update/${id}`, JSON.stringify({ payload }));

let order;

// contract B4.6
test('a clerk opens an order and changes its status with the version that was read', () =>
  visit('/orders?status=new', 'ben', async (page) => {
    await page.waitForSelector('.opener');
    await page.click('.opener');
    await page.waitForSelector('.details a[href^="/orders/"]');
    await page.click('.details a[href^="/orders/"]');
    await page.waitForSelector('#status');
    order = new URL(page.url()).pathname.split('/').at(-1);
    assert.equal(await page.$eval('h1', (node) => node.textContent), `Order ${order}`);
    assert.equal(await fact(page, 'Version'), '1');
    await save(page, 'new');
    await says(page, '.saved', 'its status already');
    await save(page, 'paid');
    await says(page, '.saved', 'Saved: the order is paid, version 2.');
    assert.deepEqual((await sent(page)).payload, { status: 'paid', version: 1 });
    assert.equal(await fact(page, 'Status'), 'paid');
  }));

// contract B4.6
test('a stale version, a closed order and a forbidden status are refused in words', () =>
  visit(`/orders/${order}`, 'ben', async (page) => {
    await page.waitForSelector('#status');
    assert.equal(await changeElsewhere(page, order, { note: 'ring twice' }), 200);
    await save(page, 'shipped');
    await says(page, '.problem', 'Somebody else changed this order');
    assert.match(await page.$eval('.problem', (node) => node.textContent), /Nothing was saved/);
    await page.click('.problem button');
    await says(page, '.facts', 'ring twice');
    assert.equal(await fact(page, 'Version'), '3');
    await save(page, 'returned');
    await says(page, '.problem', 'You may not give it this status');
    await save(page, 'shipped');
    await says(page, '.saved', 'Saved: the order is shipped, version 4.');
    await save(page, 'paid');
    await says(page, '.problem', 'This order is closed');
    assert.match(await page.$eval('.problem', (node) => node.textContent), /shop\.order\.correct/);
    assert.equal(await page.$('.problem button'), null, 'loading it again would not help');
  }));

// contract B4.4
test('an order of another tenant is as unknown as one that does not exist, and an administrator corrects it', async () => {
  const told = [];
  for (const id of [order, '999999999']) {
    await visit(`/orders/${id}`, 'ana', async (page) => {
      await page.waitForSelector('.problem');
      told.push(await page.$eval('.half', (node) => node.textContent));
      assert.equal(await page.$('#status'), null);
    });
  }
  assert.equal(told[0], told[1]);
  await visit(`/orders/${order}`, 'admin', async (page) => {
    await save(page, 'returned');
    await says(page, '.saved', 'Saved: the order is returned, version 5.');
  });
});

for (const scheme of ['light', 'dark']) {
  // contract B4.7
  test(`axe finds nothing on the page in ${scheme}, and nothing is wider than 360 pixels`, () =>
    visit(`/orders/${order}`, 'ben', async (page) => {
      await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }]);
      await page.setViewport({ width: 360, height: 740 });
      await save(page, 'new');
      await page.waitForSelector('.problem');
      const found = await page.evaluate(`${AXE}; axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => violations.map(({ id, nodes }) => id + ': ' + nodes.map((node) => node.html + ' ' + node.failureSummary).join('; ')))`);
      assert.deepEqual(found, []);
      const width = await page.evaluate(() => document.documentElement.scrollWidth);
      assert.ok(width <= 360, `${width}`);
    }));
}
