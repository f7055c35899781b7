// The demo's app in a real Chromium: signing in at the hub, tables, a chart, renewal, two tabs, another satellite, signing out.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { focusOn, openBrowser, openPage, watch } from './browser.mjs';
import { onTerminal, startDemo } from './demo.mjs';
import { startServer } from './server.mjs';

const AXE = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const KEY = 'demo-shop.tokens';

let demo;
let chromium;
before(async () => {
  demo = await startDemo();
  chromium = await openBrowser();
});
after(async () => {
  await chromium?.close();
  await demo?.close();
});

/** Opens a URL of the app in a fresh browser, runs a test, and checks that nothing else went wrong. */
async function visit(address, work, ...others) {
  const origins = [demo.app, demo.hub, ...others];
  const { page, troubles, context, close } = await openPage(chromium.browser, ...origins);
  try {
    await page.setViewport({ width: 1400, height: 900 });
    await page.goto(demo.app + address);
    await page.waitForSelector('h1');
    const another = async (path) => {
      const tab = await context.newPage();
      await watch(tab, troubles, origins);
      await tab.goto(demo.app + path);
      await tab.waitForSelector('h1');
      return tab;
    };
    await work(page, another);
    assert.deepEqual(troubles, []);
  } finally {
    await close();
  }
}

const textOf = (page, selector) => page.$eval(selector, (node) => node.textContent);
const textsOf = (page, selector) => page.$$eval(selector, (nodes) => nodes.map((node) => node.textContent));
const waitForText = (page, selector, words) =>
  page.waitForFunction((place, text) => document.querySelector(place)?.textContent.includes(text), { polling: 50 }, selector, words).catch(async (error) => {
    throw new Error(`${selector} never said ${words}: ${await page.$eval('body', (body) => body.innerText)}`, { cause: error });
  });
const sent = async (page) => JSON.parse(await textOf(page, '.inspector pre')).query;
const settled = (page) => page.waitForFunction(() => !document.querySelector('.half[aria-busy]'));
const button = (page, text) => page.evaluateHandle((words) => [...document.querySelectorAll('main button, .who button')].find((node) => node.textContent.startsWith(words) && !node.disabled), text);
/** Clicks a button, also in a background tab. */
const press = async (page, text) => (await button(page, text)).evaluate((node) => node.click());
/** The column of a table, by its heading. */
const column = async (page, heading) => {
  const index = (await textsOf(page, '.scroll thead th')).findIndex((text) => text.startsWith(heading));
  return textsOf(page, `.scroll > table > tbody > tr:not(.inside) > :nth-child(${index + 2})`);
};

/** Fills in the hub's form; we are on it. */
async function present(page, username) {
  const { password } = demo.people.find((person) => person.username === username);
  await page.waitForSelector('input[type=password]');
  assert.ok(page.url().startsWith(`${demo.hub}/sign-in`), page.url());
  await page.type('input[name=username]', username);
  await page.type('input[type=password]', password);
  await page.keyboard.press('Enter');
  await page.waitForFunction((origin) => location.origin === origin && location.pathname !== '/callback', {}, demo.app);
}

async function signIn(page, username) {
  await press(page, 'Sign in');
  await present(page, username);
  await waitForText(page, '.who', username);
}

const asked = (page, path) => {
  const found = [];
  page.on('request', (request) => {
    if (request.method() === 'POST' && new URL(request.url()).pathname === path) found.push(request.url());
  });
  return found;
};

describe('signing in', () => {
  // contract B4.6, B4.4
  test('leads to the hub and back, and shows what somebody may see', () =>
    visit('/', async (page) => {
      assert.equal(await textOf(page, 'h1'), 'Three tenants, one shop');
      assert.deepEqual(await textsOf(page, '#places a'), ['Products']);
      await signIn(page, 'ana');
      assert.equal(await textOf(page, 'h1'), 'Hello, ana');
      assert.equal(await page.$eval('.overview .lead a', (link) => link.getAttribute('href')), '/docs?sign-in');
      assert.deepEqual(await textsOf(page, '#places a'), ['Customers', 'Orders', 'Products', 'Revenue']);
      const chips = await textsOf(page, '.chips li');
      for (const chip of ['Nordic Homes', 'Alpenkontor', 'shop manager', 'shop.customer.pii']) assert.ok(chips.includes(chip), `${chip}: ${chips}`);
      assert.ok(!chips.includes('Casa Iberia'));
      await page.waitForFunction(() => [...document.querySelectorAll('.overview td.figure')].every((cell) => /\d/.test(cell.textContent)));
      // Neither the URL nor the history holds a code or token.
      assert.equal(page.url(), `${demo.app}/`);
      await page.goBack();
      assert.ok(!page.url().includes('code='), page.url());
    }));

  // contract B4.6
  test('leads back to where one was', () =>
    visit('/orders?status=new&sort=total', async (page) => {
      assert.equal(await textOf(page, 'h1'), 'Sign in to see orders');
      await signIn(page, 'ana');
      assert.equal(page.url(), `${demo.app}/orders?status=new&sort=total`);
      await waitForText(page, '.total', 'orders');
      assert.deepEqual(new Set(await column(page, 'Status')), new Set(['new']));
      assert.equal(await page.$eval('#filter-status', (select) => select.value), 'new');
    }));

  // contract B4.6, E8.9
  test('counts at /docs too: the link of the app keeps the account, and the app keeps its tokens', () =>
    visit('/orders', async (page) => {
      await signIn(page, 'ben');
      await waitForText(page, '.total', 'orders');
      const before = await page.evaluate((key) => localStorage.getItem(key), KEY);
      const asked = await sent(page);
      await page.click('.inspector a');
      await page.waitForFunction(() => location.pathname === '/docs' && location.search === '');
      await waitForText(page, '#token-state', 'ben');
      await waitForText(page, 'h1', 'order');
      assert.deepEqual(JSON.parse(await page.$eval('#statement', (area) => area.value)), asked, 'the statement of the app');
      assert.ok((await textsOf(page, '#contexts a')).includes('customer'));
      await page.click('#contexts a');
      await waitForText(page, '.status', 'rows');
      assert.equal(await page.evaluate((key) => localStorage.getItem(key), KEY), before);
      // A sign-in at /docs itself ends there, and not in the app.
      await page.click('#token summary');
      await page.click('#sign-out');
      await waitForText(page, '#token-state', 'Anonymous');
      assert.equal(await textOf(page, '.notice'), 'Signed out. Sign in to see shop.customer again.');
      await page.goto(`${demo.app}/docs#resource=shop.tenant`);
      await page.reload();
      await waitForText(page, '.notice', 'shop.tenant is not among the resources you may see. Sign in');
      await page.click('.notice button');
      await page.waitForSelector('input[type=password]');
      const { password } = demo.people.find((person) => person.username === 'ana');
      await page.type('input[name=username]', 'ana');
      await page.type('input[type=password]', password);
      await page.keyboard.press('Enter');
      await waitForText(page, '#token-state', 'ana');
      assert.ok(page.url().startsWith(`${demo.app}/docs`), page.url());
      await waitForText(page, 'h1', 'tenant');
    }));

  test('by an answer that is not ours is refused in words', () =>
    visit('/callback?code=stolen&state=unknown', async (page) => {
      await waitForText(page, 'h1', 'That did not work');
      assert.match(await textOf(page, '.problem'), /begin again|unknown/i);
      assert.equal(page.url(), `${demo.app}/callback`);
    }));
});

describe('tables', () => {
  // contract B4.6
  test('filter, sort, page and open rows, and show the statement of each', () =>
    visit('/customers', async (page) => {
      await signIn(page, 'ana');
      await waitForText(page, '.total', 'customers');
      assert.deepEqual(await sent(page), { relations: { country: true, tenant: true }, order: [{ field: 'name', dir: 'asc' }], limit: 12 });

      await page.type('#filter-name', 'AS');
      await page.select('#filter-status', 'active');
      await page.select('#filter-country', 'NO');
      await page.waitForFunction(() => new URLSearchParams(location.search).get('country') === 'NO');
      await settled(page);
      await page.waitForFunction(() => document.querySelector('.inspector pre').textContent.includes('NO'));
      await settled(page);
      assert.deepEqual((await sent(page)).where, { name: { iLike: '%AS%' }, status: { eq: 'active' }, countryCode: { eq: 'NO' } });
      for (const name of await column(page, 'Name')) assert.match(name, /as/i);
      assert.deepEqual(new Set(await column(page, 'Country')), new Set(['Norway']));

      await press(page, 'Clear');
      await page.waitForFunction(() => location.search === '');
      await page.type('#filter-bought-from', '2000');
      await page.waitForFunction(() => document.querySelector('.inspector pre').textContent.includes('2000'));
      await settled(page);
      assert.deepEqual((await sent(page)).where, { orders: { total: { gte: '2000' } } });
      const few = Number((await textOf(page, '.total')).match(/of ([\d,]+)/)[1].replace(',', ''));
      assert.ok(few > 24 && few < 3000, `${few}`);

      await press(page, 'Credit');
      await page.waitForSelector('th[aria-sort=ascending] button');
      await press(page, 'Credit');
      await page.waitForFunction(() => document.querySelector('th[aria-sort=descending]')?.textContent.startsWith('Credit'));
      await settled(page);
      const credits = (await column(page, 'Credit')).map((text) => Number(text.replace(/[€,]/g, '')));
      assert.deepEqual(credits, [...credits].sort((one, other) => other - one));

      await press(page, 'Next');
      await waitForText(page, '.total', '13 to 24');
      assert.equal((await sent(page)).offset, 12);
      await press(page, 'Last');
      await waitForText(page, '.total', `to ${few} of ${few}`);
      await page.goBack();
      await waitForText(page, '.total', '13 to 24');

      await page.click('.opener');
      await page.waitForSelector('.details section table');
      assert.deepEqual(await textsOf(page, '.details h2'), ['Latest orders', 'Labels']);
      const shape = (await sent(page)).relations.orders;
      assert.deepEqual([shape.limit, shape.relations.lines.relations], [3, { product: true }]);
      assert.match(await textOf(page, '.inspector .sent'), /\/api\/shop\/customers\/find\/\d+/);
      assert.equal(await page.$eval('.opener', (node) => node.getAttribute('aria-expanded')), 'true');
    }));

  test('sort through a relation, and say so when nothing fits', () =>
    visit('/orders', async (page) => {
      await signIn(page, 'ana');
      await waitForText(page, '.total', 'orders');
      await press(page, 'Customer');
      await page.waitForFunction(() => location.search === '?sort=customer.name');
      await settled(page);
      assert.deepEqual((await sent(page)).order, [{ field: 'customer.name', dir: 'asc' }]);
      await page.type('#filter-customer', '100%_\\');
      await waitForText(page, '.total', 'No order fits');
      assert.deepEqual((await sent(page)).where, { customer: { name: { iLike: '%100\\%\\_\\\\%' } } });
    }));

  test('markup in a value stays text', () =>
    visit('/products', async (page) => {
      await waitForText(page, '.total', 'products');
      await page.setRequestInterception(true);
      const hostile = '<img src=x onerror=alert(1)>';
      page.on('request', (request) => {
        if (!request.url().endsWith('/paginate')) return request.continue();
        const rows = [{ id: 1, name: hostile, category: hostile, price: hostile, cost: null, weight: null, addedOn: '2024-01-01' }];
        return request.respond({ contentType: 'application/json', body: JSON.stringify({ total: 1, count: 1, rows }) });
      });
      await page.type('#filter-name', hostile);
      await waitForText(page, '.total', '1 of 1 product');
      assert.deepEqual(await column(page, 'Name'), [hostile]);
      assert.equal(await page.$('main img'), null);
    }));

  // contract B4.6
  test('a refusal is told in the words of the problem', () =>
    visit('/orders', async (page) => {
      await signIn(page, 'ana');
      await waitForText(page, '.total', 'orders');
      await page.goto(`${demo.app}/orders?total-from=${'9'.repeat(400)}`);
      await page.waitForSelector('.problem');
      assert.match(await textOf(page, '.problem'), /statement is not valid/i);
    }));
});

describe('the chart', () => {
  // contract B4.6
  test('is one aggregation, grouped as asked', () =>
    visit('/revenue', async (page) => {
      await signIn(page, 'ana');
      await waitForText(page, 'caption', 'Revenue by country');
      const { aggregation } = await sent(page);
      assert.deepEqual(aggregation.groupBy, ['customer.countryCode']);
      assert.deepEqual(aggregation.fields.map(({ as }) => as), ['revenue', 'orders', 'average']);
      const countries = await textsOf(page, '.bars tbody th');
      assert.ok(countries.includes('Norway') && !countries.includes('Spain'), `${countries}`);
      const sums = (await textsOf(page, '.bars td.figure')).map((text) => Number(text.replace(/[€,]/g, '')));
      assert.deepEqual(sums, [...sums].sort((one, other) => other - one));
      await page.select('#choose-by', 'month');
      await waitForText(page, 'caption', 'by month');
      const months = await textsOf(page, '.bars tbody th');
      const times = months.map((text) => Date.parse(`1 ${text}`));
      assert.ok(months.length > 40 && months.at(-1) === 'Dec 2025', `${months}`);
      assert.deepEqual(times, [...times].sort((one, other) => one - other));
      await page.select('#choose-measure', 'orders');
      await waitForText(page, 'caption', 'Orders by month');
      await page.select('#filter-status', 'returned');
      await page.waitForFunction(() => document.querySelector('.inspector pre').textContent.includes('returned'));
      assert.equal(page.url(), `${demo.app}/revenue?by=month&measure=orders&status=returned`);
    }));
});

describe('somebody else', () => {
  // contract B4.4
  test('sees other rows, masked addresses, and no labels', () =>
    visit('/customers', async (page) => {
      await signIn(page, 'ben');
      await waitForText(page, '.total', 'customers');
      assert.deepEqual(new Set(await column(page, 'Tenant')), new Set(['Casa Iberia']));
      for (const email of await column(page, 'E-mail')) assert.match(email, /^.\*\*\*@/);
      assert.equal(await page.$('#filter-email'), null);
      assert.equal(await page.$('#filter-label'), null);
      assert.ok(!(await textsOf(page, 'thead button')).some((text) => text.startsWith('E-mail')));
      await page.click('.opener');
      await page.waitForSelector('.details section');
      assert.deepEqual(await textsOf(page, '.details h2'), ['Latest orders']);
    }));
});

/** Changes the tokens that the browser stores. */
const spoil = (page, change) => page.evaluate((key, by) => localStorage.setItem(key, JSON.stringify({ ...JSON.parse(localStorage.getItem(key)), ...by })), KEY, change);
const kept = (page) => page.evaluate((key) => JSON.parse(localStorage.getItem(key)), KEY);

describe('the sign-in', () => {
  // contract B4.6
  test('outlives a reload, and is renewed before it expires and once after a refusal', () =>
    visit('/customers', async (page) => {
      await signIn(page, 'ana');
      await waitForText(page, '.total', 'customers');
      const renewals = asked(page, '/auth/refresh');
      await page.reload();
      await waitForText(page, '.total', 'customers');
      assert.equal(renewals.length, 0);

      const first = await kept(page);
      await spoil(page, { renewAt: 0 });
      await press(page, 'Next');
      await waitForText(page, '.total', '13 to 24');
      const second = await kept(page);
      assert.equal(renewals.length, 1);
      assert.ok(second.refresh !== first.refresh && second.renewAt > Date.now());

      await spoil(page, { access: 'no.longer.good' });
      await press(page, 'Next');
      await waitForText(page, '.total', '25 to 36');
      assert.equal(renewals.length, 2);

      // Several requests wait for one refresh.
      await spoil(page, { access: 'no.longer.good' });
      await page.evaluate(() => document.querySelector('.who a').click());
      await page.waitForFunction(() => [...document.querySelectorAll('.overview td.figure')].every((cell) => /\d/.test(cell.textContent)));
      assert.equal(renewals.length, 3);
      await page.goBack();
      await waitForText(page, '.total', '25 to 36');

      // Without tokens the page offers the sign-in, and returns afterwards.
      await spoil(page, { access: 'no.longer.good', refresh: 'nor.this' });
      await press(page, 'Next');
      await waitForText(page, 'h1', 'Sign in to see customers');
      assert.equal(await kept(page), null);
      assert.match(await textOf(page, '.notice'), /signed out/);
      assert.ok(page.url().endsWith('/customers?page=4'));
    }));

  // contract B4.6
  test('is renewed by one tab for all, and ended by one for all', () =>
    visit('/customers', async (page, another) => {
      await signIn(page, 'ana');
      await waitForText(page, '.total', 'customers');
      const tab = await another('/orders');
      await waitForText(tab, '.total', 'orders');
      const renewals = [asked(page, '/auth/refresh'), asked(tab, '/auth/refresh')];
      await spoil(page, { renewAt: 0 });
      await Promise.all([press(page, 'Next'), press(tab, 'Next')]);
      await Promise.all([waitForText(page, '.total', '13 to 24'), waitForText(tab, '.total', '13 to 24')]);
      assert.equal(renewals.flat().length, 1);

      await press(tab, 'Sign out');
      await waitForText(page, 'h1', 'Sign in to see customers');
      assert.match(await textOf(page, '.notice'), /another tab/);
      await waitForText(tab, 'h1', 'Three tenants');
    }));

  // contract B4.6
  test('is over at the hub too after signing out', () =>
    visit('/', async (page) => {
      await signIn(page, 'ben');
      const { access } = await kept(page);
      await press(page, 'Sign out');
      await waitForText(page, 'h1', 'Three tenants');
      assert.equal(page.url(), `${demo.app}/`);
      assert.equal(await kept(page), null);
      const answer = await fetch(`${demo.hub}/api/iam/me`, { headers: { Authorization: `Bearer ${access}` } });
      assert.equal(answer.status, 401);
      // The hub asks for the password again.
      await press(page, 'Sign in');
      await page.waitForSelector('input[type=password]');
    }));

  // contract B4.6
  test('is good at another satellite of the same hub without a new password', async () => {
    const files = fileURLToPath(new URL('../../examples/app', import.meta.url));
    const prepared = {};
    const second = await startServer({
      environment: (origin) => {
        Object.assign(prepared, JSON.parse(demo.run('client', 'add', '--id', 'second', '--name', 'Second', '--redirect', `${origin}/callback`, '--json')));
        return {
          OAUTH_STRATEGY: 'platform-hub',
          OAUTH_HUB_URL: demo.hub,
          OAUTH_CLIENT_ID: prepared.id,
          OAUTH_CLIENT_SECRET: prepared.secret,
          OAUTH_REDIRECT_URI: `${origin}/callback`,
          OAUTH_PRIVATE_KEY_PATH: join(demo.folder, 'satellite', '.keys', 'oauth-private.key'),
          DATABASE_URL: `sqlite://${join(demo.folder, 'satellite', 'shop.db')}`,
          PERISTYLE_MANIFEST: join(demo.folder, 'satellite', 'peristyle.toml'),
          APP_FILES: files,
        };
      },
    });
    try {
      await visit('/', async (page) => {
        await signIn(page, 'ana');
        await page.goto(`${second.origin}/customers`);
        await waitForText(page, 'h1', 'Sign in to see customers');
        await press(page, 'Sign in');
        await waitForText(page, '.total', 'customers');
        assert.equal(page.url(), `${second.origin}/customers`);
      }, second.origin);
    } finally {
      await second.close();
    }
  });
});

/** Checks that axe finds no violation. */
async function clean(page, where) {
  const found = await page.evaluate(`${AXE}; axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => violations.map(({ id, nodes }) => id + ': ' + nodes.map((node) => node.html + ' ' + node.failureSummary).join('; ')))`);
  assert.deepEqual(found, [], where);
}

const goTo = async (page, place, words) => {
  await page.evaluate((path) => document.querySelector(`#places a[href="${path}"]`).click(), place);
  await waitForText(page, 'main', words);
  await settled(page);
};

describe('on a terminal', () => {
  // contract B4.3
  test('the progress is one line that is redrawn, and Ctrl-C ends both servers in good order', async () => {
    const { shown, code, left } = await onTerminal('Ctrl-C stops both', '\x03');
    assert.match(shown, /\rMaking the sample data: {3}\d %, [\d,]+ rows\r/);
    assert.match(shown, /\r\x1b\[KMaking the sample data: 7\d,\d+ rows\r\n/);
    assert.deepEqual([code, left], [0, []]);
    assert.ok(!shown.includes('ended unexpectedly'), shown);
  });
});

describe('for everybody', () => {
  for (const scheme of ['light', 'dark']) {
    // contract B4.7
    test(`axe finds nothing in ${scheme}: landing, overview, tables, an opened row, the chart, a problem`, () =>
      visit('/', async (page) => {
        await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }]);
        await clean(page, 'landing');
        await signIn(page, 'ben');
        await clean(page, 'overview');
        await goTo(page, '/customers', 'Page 1');
        await page.click('.opener');
        await page.waitForSelector('.details section');
        await clean(page, 'customers');
        await goTo(page, '/orders', 'Page 1');
        await clean(page, 'orders');
        await goTo(page, '/products', 'Page 1');
        await clean(page, 'products');
        await goTo(page, '/revenue', 'Revenue by country');
        await clean(page, 'revenue');
        await page.goto(`${demo.app}/orders?total-from=${'9'.repeat(400)}`);
        await page.waitForSelector('.problem');
        await clean(page, 'problem');
      }));
  }

  // contract B4.7
  test('at 360 pixels nothing scrolls sideways but tables', () =>
    visit('/', async (page) => {
      await page.setViewport({ width: 360, height: 740 });
      const fits = async (where) => {
        const width = await page.evaluate(() => document.documentElement.scrollWidth);
        assert.ok(width <= 360, `${where} is ${width} wide`);
      };
      await fits('landing');
      await signIn(page, 'ana');
      await fits('overview');
      for (const [place, words] of [['/customers', 'Page 1'], ['/orders', 'Page 1'], ['/products', 'Page 1'], ['/revenue', 'Revenue by country']]) {
        await goTo(page, place, words);
        await page.$eval('.inspector details', (panel) => { panel.open = true; });
        await fits(place);
      }
      await goTo(page, '/customers', 'Page 1');
      await page.click('.opener');
      await page.waitForSelector('.details section');
      await fits('an opened row');
      await clean(page, 'narrow');
    }));

  // contract B4.7
  test('by keyboard alone: past the navigation, into a filter, a heading, a row', () =>
    visit('/products', async (page) => {
      await waitForText(page, '.total', 'products');
      await page.keyboard.press('Tab');
      await focusOn(page, '.skip');
      await page.keyboard.press('Enter');
      await focusOn(page, '#content');
      const reach = async (selector) => {
        for (let step = 0; step < 40; step += 1) {
          await page.keyboard.press('Tab');
          const [there, seen] = await page.evaluate((wanted) => [document.activeElement.matches(wanted), getComputedStyle(document.activeElement).outlineStyle !== 'none'], selector);
          assert.ok(seen, await page.evaluate(() => document.activeElement.outerHTML.slice(0, 200)));
          if (there) return;
        }
        assert.fail(`${selector} cannot be reached`);
      };
      await reach('#filter-name');
      await page.keyboard.type('sofa');
      await waitForText(page, '.total', '8 products');
      await focusOn(page, '#filter-name');
      await reach('thead button');
      await page.keyboard.press('Enter');
      await page.waitForSelector('th[aria-sort=descending]');
      await reach('.opener');
      await page.keyboard.press('Enter');
      await page.waitForSelector('.details');
    }));
});
