// The modules of the example app: from the choices of a person to a Query Statement, and how values are formatted.
// And the app in a real Chromium: failed sign-ins, the back button, and nonsense in the URL.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { pretty } from '../../examples/app/inspector.js';
import { money } from '../../examples/app/format.js';
import { Problem } from '../../examples/app/problem.js';
import { RESOURCES, REVENUE } from '../../examples/app/resources.js';
import { ofChart, ofDetails, ofTable, whereOf } from '../../examples/app/statement.js';
import { focusOn, openBrowser, openPage } from './browser.mjs';
import { startDemo } from './demo.mjs';
import { startServer } from './server.mjs';

const everything = () => true;
const nothing = (permission) => !permission;
const chosen = (text) => new URLSearchParams(text);
const { customers, orders } = RESOURCES;

describe('a statement', () => {
  test('says nothing about what nobody chose', () => {
    assert.deepEqual(ofTable(orders, chosen(''), everything), { relations: { customer: true }, order: [{ field: 'placedAt', dir: 'desc' }], limit: 12 });
  });

  test('has a page, an order and filters, and conditions on one relation do not overwrite each other', () => {
    const statement = ofTable(orders, chosen('customer=li&country=NO&placed-to=2024-02-29&sort=total&page=3'), everything);
    assert.deepEqual([statement.offset, statement.order], [24, [{ field: 'total', dir: 'asc' }]]);
    assert.deepEqual(statement.where, {
      and: [{ customer: { name: { iLike: '%li%' } } }, { customer: { countryCode: { eq: 'NO' } } }, { placedAt: { lte: '2024-02-29T23:59:59.999999Z' } }],
    });
  });

  test('takes what was typed for what it is', () => {
    assert.deepEqual(whereOf(orders.filters, chosen({ customer: ' 50%_\\ ' }), everything), { customer: { name: { iLike: '%50\\%\\_\\\\%' } } });
  });

  test('leaves out what makes no sense: a field that is no column, a page below one, an amount that is no number', () => {
    const statement = ofTable(orders, chosen('sort=apiKey&page=-4&total-from=abc&placed-from=soon&unknown=1'), everything);
    assert.deepEqual(statement, ofTable(orders, chosen(''), everything));
    for (const page of ['1.5', '0', '1e3', 'Infinity', '99999999999999999999', ' 2']) assert.equal(ofTable(orders, chosen({ page }), everything).offset, undefined, page);
  });

  test('asks for nothing that the viewer lacks the permission for', () => {
    const choices = chosen('name=a&email=b&label=vip');
    assert.deepEqual(Object.keys(ofTable(customers, choices, everything).where), ['name', 'email', 'labels']);
    assert.deepEqual(Object.keys(ofTable(customers, choices, nothing).where), ['name']);
    assert.deepEqual(Object.keys(ofDetails(customers, everything).relations), ['orders', 'labels']);
    assert.deepEqual(ofDetails(customers, nothing), { relations: {} });
  });

  test('of a chart groups, and has every measure', () => {
    const { aggregation, order } = ofChart(REVENUE, REVENUE.groups.month, chosen(''), everything);
    assert.deepEqual([aggregation.groupBy, order], [['month'], [{ field: 'month', dir: 'asc' }]]);
    assert.deepEqual(aggregation.fields.map(({ fn, as }) => `${fn} ${as}`), ['sum revenue', 'count orders', 'avg average']);
  });
});

describe('values', () => {
  test('money keeps its digits, however many', () => {
    assert.deepEqual(['0.5', '1234.50', '90071992547409931.10', '7'].map(money), ['€0.50', '€1,234.50', '€90,071,992,547,409,931.10', '€7.00']);
  });

  test('a statement is written so that it can be read, and read back', () => {
    const statement = ofDetails(customers, everything);
    const text = pretty({ query: statement });
    assert.deepEqual(JSON.parse(text), { query: statement });
    assert.ok(text.split('\n').every((line) => line.length <= 48), text);
    assert.equal(pretty({ where: {}, limit: 1 }), '{ "where": {}, "limit": 1 }');
  });

  test('a problem begins with a capital, unless it begins with a name', () => {
    const told = ['the hub is away', 'state: the login is unknown', 'refresh_token is missing', 'where.name is not known', 'Why?'].map((detail) => new Problem(400, { detail }).message);
    assert.deepEqual(told, ['The hub is away.', 'state: the login is unknown.', 'refresh_token is missing.', 'where.name is not known.', 'Why?']);
  });
});

describe('in a browser', () => {
  let demo;
  let chromium;
  // The files of the repository, not those in the binary.
  let app;
  before(async () => {
    [demo, chromium] = await Promise.all([startDemo(), openBrowser()]);
    app = await startServer({
      environment: (origin) => {
        demo.run('app', 'add', '--code', 'tried');
        const client = JSON.parse(demo.run('client', 'add', '--id', 'tried', '--app', 'tried', '--name', 'Tried', '--redirect', `${origin}/callback`, '--json'));
        return {
          OAUTH_STRATEGY: 'platform-hub',
          OAUTH_HUB_URL: demo.hub,
          OAUTH_CLIENT_ID: client.id,
          OAUTH_CLIENT_SECRET: client.secret,
          OAUTH_REDIRECT_URI: `${origin}/callback`,
          OAUTH_PRIVATE_KEY_PATH: join(demo.folder, 'satellite', '.keys', 'oauth-private.key'),
          DATABASE_URL: `sqlite://${join(demo.folder, 'satellite', 'shop.db')}`,
          PERISTYLE_MANIFEST: join(demo.folder, 'satellite', 'peristyle.toml'),
          APP_FILES: fileURLToPath(new URL('../../examples/app', import.meta.url)),
        };
      },
    });
  });
  after(async () => {
    await app?.close();
    await chromium?.close();
    await demo?.close();
  });

  /** Opens a URL of the app in a fresh browser, and checks that nothing else went wrong. */
  async function visit(address, story) {
    const { page, troubles, close } = await openPage(chromium.browser, app.origin, demo.hub);
    try {
      await page.goto(app.origin + address);
      await story(page, troubles);
      assert.deepEqual(troubles, []);
    } finally {
      await close();
    }
  }

  const says = (page, selector, words) =>
    page.waitForFunction((place, text) => document.querySelector(place)?.textContent.includes(text), { polling: 50 }, selector, words).catch(async (error) => {
      throw new Error(`${selector} never said ${words}: ${page.url()} ${await page.$eval('body', (body) => body.innerText)}`, { cause: error });
    });
  const press = (page, words) => page.evaluate((text) => [...document.querySelectorAll('button')].find((node) => node.textContent === text).click(), words);
  /** Fills in the hub's form. */
  const present = async (page, username) => {
    await page.waitForSelector('input[type=password]');
    await page.$eval('input[name=username]', (input, name) => { input.value = name; }, username);
    await page.type('input[type=password]', demo.people.find((person) => person.username === username).password);
    await page.keyboard.press('Enter');
  };
  const signIn = async (page, username) => {
    await press(page, 'Sign in');
    await present(page, username);
  };
  /** Answers `/auth/me` with a failure for as long as `isDown()`. */
  const failing = async (page, isDown) => {
    await page.setRequestInterception(true);
    page.on('request', (request) => {
      if (!isDown() || new URL(request.url()).pathname !== '/auth/me') return request.continue();
      return request.respond({ status: 503, contentType: 'application/problem+json', body: '{"title":"Not now","detail":"the hub is away"}' });
    });
  };

  test('a page that the browser kept shows nothing of somebody who signed out', () =>
    visit('/customers', async (page) => {
      await signIn(page, 'ana');
      await says(page, '.total', 'customers');
      // Puppeteer turns off the back-forward cache, so the test fires its event: the page comes back without tokens.
      await page.evaluate(() => {
        localStorage.clear();
        dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }));
        window.left = [document.querySelector('main').textContent, document.querySelector('.who').textContent];
      });
      assert.deepEqual(await page.evaluate(() => window.left), ['', 'Sign in']);
      await says(page, 'h1', 'Sign in to see customers');
    }));

  test('signing out takes away what is shown before it leaves', () =>
    visit('/customers', async (page) => {
      await signIn(page, 'ana');
      await says(page, '.total', 'customers');
      await press(page, 'Sign out');
      // Neither this page nor the next one shows a customer.
      assert.equal(await page.evaluate(() => document.querySelectorAll('tbody tr').length).catch(() => 0), 0);
      await says(page, 'h1', 'Three tenants');
      await page.goBack();
      await says(page, 'h1', 'Sign in to see customers');
    }));

  test('a failure right after the callback is told, and can be tried again', () =>
    visit('/orders?status=new', async (page) => {
      let isDown = true;
      await failing(page, () => isDown);
      await signIn(page, 'ana');
      await says(page, '.problem', 'The hub is away.');
      isDown = false;
      await press(page, 'Try again');
      await says(page, '.total', 'orders');
      assert.equal(page.url(), `${app.origin}/orders?status=new`);
      await says(page, '.who', 'ana');
    }));

  test('an account that is not listed hears so, and somebody else can sign in', async () => {
    demo.run('app', 'update', '--code', 'tried', '--closed', 'true');
    demo.run('app', 'admit', '--code', 'tried', '--username', 'ana');
    try {
      await visit('/', async (page) => {
        await signIn(page, 'ben');
        await says(page, '.problem', 'This account may not use the app');
        await press(page, 'Sign in as somebody else');
        // The hub asks for confirmation first.
        await page.waitForFunction((origin) => location.origin === origin && document.querySelector('form[method=post] button'), {}, demo.hub);
        await page.click('form[method=post] button');
        await says(page, 'h1', 'Three tenants');
        await signIn(page, 'ana');
        await says(page, 'h1', 'Hello, ana');
      });
    } finally {
      demo.run('app', 'update', '--code', 'tried', '--closed', 'false');
    }
  });

  test('a sign-in page that is used twice leads on, and without a sign-in to a new beginning', () =>
    visit('/customers', async (page) => {
      await press(page, 'Sign in');
      await page.waitForSelector('input[type=password]');
      const used = page.url();
      await present(page, 'ana');
      await says(page, '.total', 'customers');
      await page.goto(used);
      if (await page.$('input[type=password]')) await present(page, 'ana');
      await says(page, 'h1', 'Hello, ana');
      assert.equal(page.url(), `${app.origin}/`);

      await page.evaluate(() => localStorage.clear());
      await page.goto(used);
      if (await page.$('input[type=password]')) await present(page, 'ana');
      await says(page, '.problem', 'This sign-in is over');
      await press(page, 'Sign in again');
      await says(page, 'h1', 'Hello, ana');
    }));

  test('a link to the callback cannot put words on the page', async () => {
    for (const error of ['access_denied', 'login_required', 'toString', 'Call+0900']) {
      await visit(`/callback?error=${error}&error_description=Call+0900&state=x`, async (page) => {
        await says(page, 'h1', 'That did not work');
        assert.doesNotMatch(await page.$eval('body', (body) => body.innerText), /0900|_|toString/);
      });
    }
  });

  test('steps through pages keep the focus, or lead it to what is told of the page', () =>
    visit('/products?page=1.5', async (page) => {
      await says(page, '.total', '1 to 12');
      const step = async (words, told, lands) => {
        await page.evaluate((text) => [...document.querySelectorAll('.pages button')].find((node) => node.textContent === text).focus(), words);
        await page.keyboard.press('Enter');
        await says(page, '.pages', told);
        await focusOn(page, lands);
        if (lands !== '.total') assert.equal(await page.evaluate(() => document.activeElement.textContent), words);
      };
      await step('Next', 'Page 2 of', '.pages button');
      await step('Next', 'Page 3 of', '.pages button');
      await step('Previous', 'Page 2 of', '.pages button');
      await step('First', 'Page 1 of', '.total');
      const last = (await page.$eval('.pages span', (node) => node.textContent)).split(' ').at(-1);
      await step('Last', `Page ${last} of`, '.total');
    }));

  test('what every object knows is no place of the app', async () => {
    for (const path of ['/constructor', '/toString', '/__proto__', '/hasOwnProperty']) await visit(path, (page) => says(page, 'h1', 'There is nothing here'));
    await visit('/', async (page) => {
      await signIn(page, 'ana');
      await says(page, 'h1', 'Hello, ana');
      await page.goto(`${app.origin}/revenue?by=constructor&measure=toString`);
      await says(page, '.bars caption', 'Revenue by country');
    });
  });

  test('without a network the words are ours', () =>
    visit('/products', async (page, troubles) => {
      await says(page, '.total', 'products');
      await page.setOfflineMode(true);
      await press(page, 'Next');
      await says(page, '.problem', 'You may be offline');
      assert.doesNotMatch(await page.$eval('.problem', (node) => node.textContent), /fetch/i);
      await page.setOfflineMode(false);
      await press(page, 'Try again');
      await says(page, '.total', '13 to 24');
      // The browser logs that it was offline, and nothing else.
      assert.deepEqual(troubles.splice(0).filter((trouble) => !trouble.includes('ERR_INTERNET_DISCONNECTED')), []);
    }));
});
