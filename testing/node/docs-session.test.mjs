// Signing in on `/docs` and `/graphql` in a real Chromium, at a hub and at a satellite without an app: the rights of the page,
// where tokens are, and what other pages get.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { after, before, describe, test } from 'node:test';
import { focusOn, openBrowser, openPage } from './browser.mjs';
import { PASSWORD, USERNAME, startHub } from './hub.mjs';
import { startServer } from './server.mjs';
import { SCRIPT } from './shop.mjs';

const AXE = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
/** Every resource needs a permission. */
const MANIFEST = `
[resource.shop.customer]
permission = "shop.customer.get"
[resource.shop.customer.fields]
id = { type = "bigint", key = true }
name = { type = "text", null = false }
[resource.shop.customer.relations]
orders = { many = "shop.order", on = { id = "customerId" } }

[resource.shop.order]
permission = "shop.order.get"
[resource.shop.order.fields]
id = { type = "int", key = true }
customerId = "bigint"
total = "decimal"

[resource.shop.item]
permission = "shop.item.get"
[resource.shop.item.fields]
id = { type = "int", key = true }
`;

let chromium;
let hub;
let satellite;
before(async () => {
  chromium = await openBrowser();
  hub = await startHub({ name: 'Shop' });
  satellite = await startServer({
    manifest: MANIFEST,
    script: SCRIPT,
    environment: (origin) => ({ OAUTH_STRATEGY: 'platform-hub', OAUTH_HUB_URL: hub.origin, OAUTH_CLIENT_ID: hub.clientId, OAUTH_CLIENT_SECRET: hub.clientSecret, OAUTH_REDIRECT_URI: `${origin}/callback` }),
    prepare(program, options) {
      hub.run('client', 'update', '--id', hub.clientId, '--redirect', options.env.OAUTH_REDIRECT_URI);
      hub.run('role', 'update', '--name', 'reader', ...['iam.account.get', 'shop.customer.get', 'shop.order.get', 'peristyle.explain'].flatMap((permission) => ['--permission', permission]));
      execFileSync(program, ['keys', 'generate'], { ...options, stdio: 'ignore' });
    },
  });
});
after(async () => {
  await chromium?.close();
  await satellite?.close();
  await hub?.close();
});

const textOf = (page, selector) => page.$eval(selector, (node) => node.textContent);
const textsOf = (page, selector) => page.$$eval(selector, (nodes) => nodes.map((node) => node.textContent));
const waitForText = (page, selector, words) =>
  page.waitForFunction((place, text) => document.querySelector(place)?.textContent.includes(text), { polling: 50 }, selector, words).catch(async (error) => {
    throw new Error(`${selector} never said ${words}: ${page.url()} ${await page.$eval('body', (body) => body.innerText)}`, { cause: error });
  });

/** Opens a URL in a fresh browser, runs a test, and checks that nothing else went wrong. */
async function visit(address, work) {
  const { page, troubles, context, close } = await openPage(chromium.browser, hub.origin, satellite.origin);
  try {
    await page.setViewport({ width: 1280, height: 900 });
    /** The tokens that the page sent. */
    const tokens = new Set();
    page.on('request', (request) => {
      const [, token] = /^Bearer (.*)$/.exec(request.headers().authorization ?? '') ?? [];
      if (token) tokens.add(token);
    });
    await page.goto(address);
    await page.waitForSelector('h1');
    await work(page, { tokens, context });
    assert.deepEqual(troubles, []);
  } finally {
    await close();
  }
}

/** Fills in the hub's form, and waits until the browser is back at a page of `back`. */
async function present(page, back, path = '/docs') {
  await page.waitForSelector('input[type=password]');
  assert.ok(page.url().startsWith(`${hub.origin}/sign-in`), page.url());
  await page.type('input[name=username]', USERNAME);
  await page.type('input[type=password]', PASSWORD);
  await page.keyboard.press('Enter');
  await page.waitForFunction((origin, path) => location.origin === origin && location.pathname === path, {}, back, path);
  await waitForText(page, '#token-state', USERNAME);
}

/** Everything that a script of the origin could read, apart from the memory of the page's own modules. */
const readable = (page) => page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, location.href, document.documentElement.outerHTML, Object.keys(window)]));

async function keepsNoToken(page, tokens) {
  assert.ok(tokens.size > 0, 'the page sent a token');
  const kept = await readable(page);
  for (const token of tokens) assert.ok(!kept.includes(token) && !kept.includes(token.slice(-40)));
}

const isRefused = async (origin, token) => (await fetch(`${origin}/auth/me`, { headers: { authorization: `Bearer ${token}` } })).status === 401;

async function clean(page, where) {
  const found = await page.evaluate(`${AXE}; axe.run(document, { resultTypes: ['violations'], rules: { 'label-content-name-mismatch': { enabled: true } } }).then(({ violations }) => violations.map(({ id, nodes }) => id + ': ' + nodes.map((node) => node.html + ' ' + node.failureSummary).join('; ')))`);
  assert.deepEqual(found, [], where);
}

for (const role of ['hub', 'satellite']) {
  const origin = () => (role === 'hub' ? hub.origin : satellite.origin);
  const resource = role === 'hub' ? 'iam.account' : 'shop.customer';
  const short = resource.split('.')[1];

  describe(`/docs of a ${role}`, () => {
    // contract E8.7, E8.8, E8.9
    test('says what a sign-in would show, signs in through the hub, and names the account with its rights', () =>
      visit(`${origin()}/docs`, async (page, { tokens }) => {
        assert.match(await textOf(page, 'main'), /Sign in: \d+ resources need a permission\./);
        assert.ok(!(await textOf(page, 'main')).includes('introspect'));
        assert.equal(await textOf(page, '#token-state'), 'Anonymous');
        await clean(page, 'anonymous');
        await page.click('main button.primary');
        await present(page, origin());
        assert.equal(page.url(), `${origin()}/docs`);
        assert.ok((await textsOf(page, '#contexts a')).includes(short));
        assert.match(await textOf(page, '#contexts .withheld'), /more resources? needs? a permission that this account lacks/);
        await page.click('#token summary');
        const shown = await textOf(page, '#account');
        assert.match(shown, /You see what ana sees/);
        assert.match(shown, /Roles.*reader/);
        assert.match(shown, /4 permissions/);
        assert.ok((await textsOf(page, '.permissions li')).includes('peristyle.explain'));
        await clean(page, 'account');
        await page.keyboard.press('Escape');
        await focusOn(page, '#token > summary');
        await keepsNoToken(page, tokens);
        // Neither the URL nor the history holds a code.
        await page.goBack();
        assert.ok(!page.url().includes('code='), page.url());
      }));

    // contract E8.8, E8.9, E5.4
    test('comes back to the statement, runs it with the rights of the account, and shows its SQL', () =>
      visit(`${origin()}/docs#${new URLSearchParams({ resource, statement: '{"limit": 1}' })}`, async (page, { tokens }) => {
        await page.click('#sign-in');
        await present(page, origin());
        await waitForText(page, 'h1', short);
        assert.equal(await page.$eval('#statement', (area) => area.value), '{"limit": 1}');
        await page.click('.playground button[type=submit]');
        await waitForText(page, '.status', '1 row of');
        await page.click('#tab-SQL');
        await waitForText(page, '.explained', 'SELECT');
        // contract E8.12: the program takes the token from its environment, and the page copies it.
        await page.click('#program-curl');
        const command = await textOf(page, '#source-curl pre');
        assert.ok(command.includes('$TOKEN') && ![...tokens].some((token) => command.includes(token)));
        const [token] = [...tokens].slice(-1);
        const answered = execFileSync('bash', ['-c', `${command} -s`], { encoding: 'utf8', env: { PATH: process.env.PATH, TOKEN: token } });
        assert.equal(JSON.parse(answered).rows.length, 1, answered);
        await keepsNoToken(page, tokens);
      }));

    // contract E8.8, E8.9 // attack 91
    test('stays signed in over a reload, and a sign-out ends its tokens and its session', () =>
      visit(`${origin()}/docs`, async (page, { tokens }) => {
        await page.click('#sign-in');
        await present(page, origin());
        await page.reload();
        await waitForText(page, '#token-state', USERNAME);
        await page.click(`#contexts a[href*="${short}"]`);
        await waitForText(page, '.status', 'row');
        await page.evaluate(() => sessionStorage.setItem('peristyle-graphql.ran', 'a document of the other page'));
        await page.click('#token summary');
        await page.click('#sign-out');
        await waitForText(page, '#token-state', 'Anonymous');
        assert.match(await textOf(page, 'main'), /Sign in: \d+ resources/);
        for (const token of tokens) assert.ok(await isRefused(origin(), token));
        assert.deepEqual(await page.evaluate(() => Object.keys(sessionStorage)), [], 'nothing is left for the next person');
        await page.reload();
        await page.waitForSelector('h1');
        assert.equal(await textOf(page, '#token-state'), 'Anonymous');
        // The hub asks for the password again.
        await page.click('#sign-in');
        await present(page, origin());
      }));

    // contract E8.8, E8.9
    test('forgets the statements of another account, and of a session that has ended', () =>
      visit(`${origin()}/docs`, async (page) => {
        const remembered = () => page.evaluate(() => sessionStorage.getItem('peristyle-docs.history'));
        await page.click('#sign-in');
        await present(page, origin());
        await page.click(`#contexts a[href*="${short}"]`);
        await waitForText(page, '.status', 'row');
        assert.match(await remembered(), new RegExp(resource));
        await page.reload();
        await waitForText(page, '#token-state', USERNAME);
        assert.match(await remembered(), new RegExp(resource), 'the account is the same');
        await page.evaluate(() => sessionStorage.setItem('peristyle-docs.account', 'another'));
        await page.goto(`${origin()}/docs`);
        await waitForText(page, '#token-state', USERNAME);
        assert.equal(await remembered(), null);
        await page.click(`#contexts a[href*="${short}"]`);
        await waitForText(page, '.status', 'row');
        hub.run('session', 'end', '--username', USERNAME);
        await page.goto(`${origin()}/docs`);
        await waitForText(page, '#token-state', 'Anonymous');
        await page.waitForFunction(() => sessionStorage.getItem('peristyle-docs.history') === null);
      }));

    // contract E8.8, E8.9
    test('says so when the session has ended elsewhere', () =>
      visit(`${origin()}/docs#${new URLSearchParams({ resource, statement: '{"limit": 1}' })}`, async (page) => {
        await page.click('#sign-in');
        await present(page, origin());
        hub.run('session', 'end', '--username', USERNAME);
        await page.waitForSelector('.playground button[type=submit]');
        // A satellite hears of it a moment later.
        await page.waitForFunction(() => document.querySelector('.notice') ?? (document.querySelector('.playground button[type=submit]')?.click(), false), { polling: 300 });
        await waitForText(page, '.notice', 'You were signed out');
        assert.equal(await textOf(page, '#token-state'), 'Anonymous');
      }));
  });
}

for (const role of ['hub', 'satellite']) {
  const origin = () => (role === 'hub' ? hub.origin : satellite.origin);
  const query = role === 'hub' ? '{\n  iamGetAccounts(query: {limit: 1}) { username }\n}\n' : '{\n  shopGetCustomers(query: {limit: 1}) { name }\n}\n';

  describe(`/graphql of a ${role}`, () => {
    // contract G2.10, E8.8, E8.9 // attack 91
    test('says what a sign-in would show, comes back to the query, and runs it with the rights of the account', () =>
      visit(`${origin()}/graphql#${new URLSearchParams({ query })}`, async (page, { tokens }) => {
        await waitForText(page, '#notice', ' a permission');
        assert.match(await textOf(page, '#notice'), /\d+ more resources? needs? a permission/);
        await clean(page, 'anonymous');
        await page.click('#run');
        await waitForText(page, '#faults', 'UNAUTHENTICATED');
        await page.click('#notice button');
        await present(page, origin(), '/graphql');
        assert.equal(await page.$eval('#query', (area) => area.value), query);
        // It ran in this tab before, so it runs again.
        await waitForText(page, '#status', '200 · ');
        await waitForText(page, '#answer', role === 'hub' ? USERNAME : '"name"');
        assert.equal(await page.$('#faults li'), null);
        await page.click('#token summary');
        assert.match(await textOf(page, '#account'), /You see what ana sees/);
        await clean(page, 'account');
        await keepsNoToken(page, tokens);
        await page.click('#sign-out');
        await waitForText(page, '#token-state', 'Anonymous');
        assert.equal(await textOf(page, '#answer'), '');
        for (const token of tokens) assert.ok(await isRefused(origin(), token));
        assert.deepEqual(await page.evaluate(() => Object.keys(sessionStorage)), [], 'nothing is left for the next person');
      }));

    // contract G2.10
    test('keeps the account of /docs when a person follows the link of a statement', () =>
      visit(`${origin()}/docs`, async (page) => {
        await page.click('main button.primary');
        await present(page, origin());
        await page.click('#contexts a');
        await waitForText(page, '.status', 'row');
        await page.click('#program-GraphQL');
        await page.waitForSelector('#source-GraphQL a');
        await page.click('#source-GraphQL a');
        await page.waitForFunction(() => location.pathname === '/graphql');
        await waitForText(page, '#token-state', USERNAME);
        await page.waitForFunction(() => document.querySelector('#query').value !== '');
        assert.equal(await textOf(page, '#status'), 'Not run yet');
        await page.click('#run');
        await waitForText(page, '#status', '200 · ');
        assert.equal(await page.$('#faults li'), null);
      }));
  });
}

describe('another name of this machine', () => {
  // contract I30.13
  test('leads to the sign-in at APP_URL, which the hub sends browsers back to', async () => {
    const other = satellite.origin.replace('127.0.0.1', 'localhost');
    const { page, troubles, close } = await openPage(chromium.browser, hub.origin, satellite.origin, other);
    try {
      await page.goto(`${other}/docs`);
      await page.waitForSelector('#sign-in:not([hidden])');
      await page.click('#sign-in');
      await present(page, satellite.origin);
      assert.ok((await textsOf(page, '#contexts a')).includes('customer'));
      assert.deepEqual(troubles, []);
    } finally {
      await close();
    }
  });
});

describe('a token that a person pastes', () => {
  const issued = async () => {
    const body = new URLSearchParams({ grant_type: 'password', username: USERNAME, password: PASSWORD });
    const answer = await fetch(`${hub.origin}/token`, { method: 'POST', body, headers: { authorization: `Basic ${btoa(`${hub.clientId}:${hub.clientSecret}`)}` } });
    return (await answer.json()).access_token;
  };

  // contract E8.6
  test('is sent with every request and kept nowhere', () =>
    visit(`${satellite.origin}/docs`, async (page, { tokens }) => {
      const token = await issued();
      await page.click('#token summary');
      await page.click('.other summary');
      await page.type('#token-input', 'clé');
      await page.keyboard.press('Enter');
      await waitForText(page, '#token-fault', 'only ASCII characters');
      await clean(page, 'token');
      await page.$eval('#token-input', (input) => { input.value = ''; });
      await page.type('#token-input', `Bearer ${token}`);
      await page.keyboard.press('Enter');
      await waitForText(page, '#token-state', USERNAME);
      await page.waitForSelector('#contexts a');
      assert.deepEqual([...tokens], [token]);
      await keepsNoToken(page, tokens);
      await page.click('#token summary');
      await page.click('#sign-out');
      await waitForText(page, '#token-state', 'Anonymous');
      assert.ok(!(await isRefused(satellite.origin, token)), 'the page forgets it, and does not end it');
    }));

  // contract G2.10
  test('works at /graphql too', () =>
    visit(`${satellite.origin}/graphql`, async (page, { tokens }) => {
      const token = await issued();
      await page.click('#token summary');
      await page.click('.other summary');
      await page.type('#token-input', token);
      await page.keyboard.press('Enter');
      await waitForText(page, '#token-state', USERNAME);
      await page.evaluate(() => [...document.querySelectorAll('#contexts button')].find((button) => button.textContent === 'customer').click());
      await waitForText(page, '#status', '200 · ');
      assert.deepEqual([...tokens], [token]);
      await keepsNoToken(page, tokens);
    }));

  test('that is refused shows the reason, and the page goes on without it', () =>
    visit(`${satellite.origin}/docs`, async (page) => {
      await page.click('#token summary');
      await page.click('.other summary');
      await page.type('#token-input', 'nonsense');
      await page.keyboard.press('Enter');
      await waitForText(page, 'h1', 'cannot be loaded');
      await page.evaluate(() => [...document.querySelectorAll('main button')].find((button) => button.textContent.startsWith('Go on')).click());
      await waitForText(page, 'h1', 'Sign in to see resources');
    }));
});

describe('a satellite without an app', () => {
  // contract E8.9, E8.10
  test('leads from its root and from /auth/login to the page, signed in', () =>
    visit(`${satellite.origin}/`, async (page) => {
      assert.equal(page.url(), `${satellite.origin}/docs`);
      await page.goto(`${satellite.origin}/auth/login`);
      await present(page, satellite.origin);
      assert.ok((await textsOf(page, '#contexts a')).includes('customer'));
    }));

  // contract E8.9 // attack 92
  test('refuses a login that began elsewhere, in words', () =>
    visit(`${satellite.origin}/callback?code=stolen&state=unknown`, async (page) => {
      await waitForText(page, '.notice', 'could not be finished');
      assert.equal(page.url(), `${satellite.origin}/docs`, 'the code has left the URL');
      assert.equal(await textOf(page, '#token-state'), 'Anonymous');
    }));
});

/** A server of another origin on the same site: browsers send the hub's cookies along. */
async function stranger(html) {
  const server = createServer((request, response) => {
    response.setHeader('content-type', 'text/html');
    response.end(html);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { origin: `http://127.0.0.1:${server.address().port}`, close: () => server.close() };
}

describe('a page of another origin', () => {
  // contract E8.8 // attack 90
  test('gets no token of a signed-in person: not by a post, not by a frame, not by reading', async () => {
    const other = await stranger('<!doctype html><title>x</title><h1>x</h1>');
    const context = await chromium.browser.createBrowserContext();
    try {
      const page = await context.newPage();
      await page.goto(`${hub.origin}/docs`);
      await page.waitForSelector('#sign-in:not([hidden])');
      await page.click('#sign-in');
      await present(page, hub.origin);
      const statuses = [];
      page.on('response', (response) => { if (response.url().endsWith('/docs/token')) statuses.push(response.status()); });
      await page.goto(other.origin);
      const ask = (options) => page.evaluate((url, options) => fetch(url, { method: 'POST', credentials: 'include', ...options }).then((answer) => answer.text(), (error) => error.name), `${hub.origin}/docs/token`, options);
      assert.equal(await ask({ headers: { 'Content-Type': 'application/json' }, body: '{}' }), 'TypeError', 'the preflight fails');
      assert.equal(await ask({ body: '{}' }), 'TypeError', 'the answer cannot be read');
      assert.equal(await ask({ mode: 'no-cors', body: '{}' }), '', 'the answer is opaque');
      await page.evaluate((url) => {
        const form = Object.assign(document.createElement('form'), { method: 'post', action: url, target: 'shown', enctype: 'text/plain' });
        document.body.append(Object.assign(document.createElement('iframe'), { name: 'shown' }), form);
        form.submit();
      }, `${hub.origin}/docs/token`);
      const framed = await page.evaluate((url) => new Promise((resolve) => {
        const frame = Object.assign(document.createElement('iframe'), { src: url });
        frame.addEventListener('load', () => resolve(frame.contentDocument === null));
        document.body.append(frame);
      }), `${hub.origin}/docs`);
      assert.ok(framed, 'another origin');
      for (const frame of page.frames().filter((one) => one !== page.mainFrame())) {
        assert.equal(await frame.$('#token-state').catch(() => null), null, 'no frame shows the page');
      }
      assert.ok(statuses.length >= 2 && statuses.every((status) => status >= 400), String(statuses));
    } finally {
      await context.close();
      other.close();
    }
  });
});
