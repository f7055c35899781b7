// The hub's pages in a real Chromium: a sign-in from an app and back to it, the account page, and refusals; by keyboard, without
// JavaScript, in light and dark, on a narrow screen, and under attack.

import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer, get } from 'node:http';
import { createRequire } from 'node:module';
import { after, before, describe, test } from 'node:test';
import { focusOn, openBrowser, openPage } from './browser.mjs';
import { PASSWORD, USERNAME, startHub } from './hub.mjs';

const AXE = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const SCRIPT = await readFile(new URL('../../crates/server/src/hub/pages/password.js', import.meta.url), 'utf8');
const HOSTILE = '"><img src=x onerror=alert(1)><script>alert(2)</script>';
/** A strange name: one word that is wider than a narrow screen, and full of markup. */
const NAME = `Harbour${'r'.repeat(60)} ${HOSTILE}`;

/** An app on another origin: records its requests, and can show any page. */
async function startApp() {
  const pages = new Map();
  const calls = [];
  const server = createServer((request, response) => {
    const address = new URL(request.url, `http://${request.headers.host}`);
    if (address.pathname === '/callback' || address.pathname === '/bye') calls.push({ ...Object.fromEntries(address.searchParams), path: address.pathname, referer: request.headers.referer });
    response.setHeader('content-type', 'text/html; charset=utf-8');
    // Like most clients, it redirects from its callback.
    if (address.pathname === '/callback') return response.writeHead(302, { location: '/home' }).end();
    return response.end(`<!doctype html><html lang="en"><link rel="icon" href="data:,"><title>App</title><h1>App</h1>${pages.get(address.pathname) ?? ''}</html>`);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const origin = `http://127.0.0.1:${server.address().port}`;
  const close = async () => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  };
  return { origin, calls, pages, close };
}

let app;
let hub;
let chromium;
before(async () => {
  app = await startApp();
  hub = await startHub({ name: NAME, redirect: `${app.origin}/callback` });
  chromium = await openBrowser();
});
after(async () => {
  await chromium?.close();
  await hub?.close();
  await app?.close();
});

/** The answer of the hub to a browser that names it in another way. */
async function under(name, path) {
  const { hostname, port } = new URL(hub.origin);
  const [answer] = await once(get({ hostname, port, path, headers: { host: `${name}:${port}`, accept: 'text/html' } }), 'response');
  answer.resume();
  return { status: answer.statusCode, location: answer.headers.location };
}

// contract I30.13
test('a browser that names this machine in another way is sent to APP_URL before it signs in', async () => {
  for (const path of ['/sign-in?continue=%2Fdocs', '/']) {
    assert.deepEqual(await under('localhost', path), { status: 302, location: `${hub.origin}${path}` });
    assert.notEqual((await under('127.0.0.1', path)).status, 302);
  }
});

/** Opens a page in a fresh browser, runs a test, and checks that nothing else went wrong. */
async function visit(work, { width = 1100, scheme = 'light', script = true } = {}) {
  const { page, troubles, close } = await openPage(chromium.browser, hub.origin);
  try {
    await page.setViewport({ width, height: 800 });
    await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }]);
    await page.setJavaScriptEnabled(script);
    await work(page);
    const own = (trouble) => !/^elsewhere: http:\/\/localhost:/.test(trouble) && !trouble.startsWith(`elsewhere: ${app.origin}/`) && !/status of (401|403|405|429)/.test(trouble);
    assert.deepEqual(troubles.filter(own), []);
  } finally {
    await close();
  }
}

const verifier = randomBytes(32).toString('base64url');
function authorize(more = {}) {
  const pairs = {
    client_id: hub.clientId,
    redirect_uri: `${app.origin}/callback`,
    response_type: 'code',
    scope: 'openid',
    state: 's-1',
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
    ...more,
  };
  return `${hub.origin}/authorize?${new URLSearchParams(pairs)}`;
}

/** Runs an action and waits for the page that it leads to. */
async function leading(page, work) {
  const [answer] = await Promise.all([page.waitForNavigation(), work()]);
  return answer;
}

const press = (page, selector) => leading(page, () => page.click(selector));
const textOf = (page, selector) => page.$eval(selector, (one) => one.textContent);

async function fill(page, password = PASSWORD, name = USERNAME) {
  await page.$eval('#username', (input, name) => { input.value = name; }, name);
  await page.type('#password', password);
  return leading(page, () => page.keyboard.press('Enter'));
}

async function signIn(page) {
  await page.goto(`${hub.origin}/sign-in`);
  await fill(page);
  assert.equal(page.url(), `${hub.origin}/`);
}

/** Redeems a code as the app does. */
async function redeem(code) {
  const body = new URLSearchParams({ grant_type: 'authorization_code', code, redirect_uri: `${app.origin}/callback`, code_verifier: verifier });
  const authorization = `Basic ${btoa(`${hub.clientId}:${hub.clientSecret}`)}`;
  const answer = await fetch(`${hub.origin}/token`, { method: 'POST', body, headers: { authorization } });
  assert.equal(answer.status, 200, await answer.clone().text());
  return answer.json();
}

/** The button beside a password input shows it, announces that, and hides it again; focus and autocomplete stay. */
async function showsAndHides(page, selector, what) {
  const input = () => page.$eval(selector, (input) => [input.type, input.value, input.autocomplete]);
  const button = `${selector} + .reveal`;
  const label = () => page.$eval(button, (button) => [button.textContent, button.ariaLabel]);
  const [, , purpose] = await input();
  await page.type(selector, 'see me');
  await page.keyboard.press('Tab');
  assert.deepEqual(await label(), ['Show', `Show ${what}`]);
  await page.keyboard.press('Space');
  assert.deepEqual(await input(), ['text', 'see me', purpose]);
  assert.deepEqual(await label(), ['Hide', `Hide ${what}`]);
  assert.match(await page.$eval('[aria-live=polite]', (one) => one.textContent), /is shown/);
  await focusOn(page, button);
  await page.keyboard.press('Enter');
  assert.deepEqual(await input(), ['password', 'see me', purpose]);
  assert.deepEqual(await label(), ['Show', `Show ${what}`]);
  assert.match(await page.$eval('[aria-live=polite]', (one) => one.textContent), /is hidden/);
}

const passwordLink = () => hub.run('account', 'reset', '--username', USERNAME).trim().replace(/^http:\/\/[^/]+/, hub.origin);

describe('signing in to an app', () => {
  // contract I22.1, I22.20
  test('leads from the app over the form back to the app, which goes on from there', () =>
    visit(async (page) => {
      app.calls.length = 0;
      await page.goto(authorize());
      assert.match(await textOf(page, 'main'), /to continue to Harbour/);
      await focusOn(page, '#username');
      await fill(page);
      assert.equal(page.url(), `${app.origin}/home`, 'form-action lets the redirects after the post through');
      const [call] = app.calls;
      assert.equal(call.state, 's-1');
      assert.equal(call.iss, hub.origin);
      // attack 37
      assert.equal(call.referer, undefined, 'the app is not told the address of the page');
      assert.ok((await redeem(call.code)).access_token);
      // A second app needs no form.
      await page.goto(authorize({ state: 's-2' }));
      assert.equal(page.url(), `${app.origin}/home`);
      assert.equal(app.calls[1].state, 's-2');
    }));

  // contract I22.2
  test('works where the browser hides where the form came from', () =>
    visit(async (page) => {
      await page.setRequestInterception(true);
      const origins = [];
      page.on('request', async (request) => {
        if (request.method() === 'POST') origins.push(request.headers().origin);
        if (!request.isNavigationRequest() || request.method() !== 'GET' || !request.url().includes('/sign-in?')) return request.continue();
        const answer = await fetch(request.url(), { headers: { accept: 'text/html' } });
        const headers = { ...Object.fromEntries(answer.headers), 'referrer-policy': 'no-referrer' };
        return request.respond({ status: answer.status, headers, body: await answer.text() });
      });
      await page.goto(authorize());
      await fill(page);
      assert.equal(page.url(), `${app.origin}/home`);
      assert.deepEqual(origins, ['null']);
    }));

  // contract I22.1
  test('a wrong password is announced, and the cursor waits where it is to be typed', () =>
    visit(async (page) => {
      await page.goto(authorize());
      const answer = await fill(page, 'not the password');
      assert.equal(answer.status(), 400);
      assert.match(await page.title(), /^Error: Sign in/);
      const alert = await page.$('[role=alert]');
      assert.equal(await page.evaluate((one) => one.textContent, alert), 'The name or the password is wrong.');
      await focusOn(page, '#password');
      assert.equal(await page.$eval('#password', (input) => document.getElementById(input.getAttribute('aria-describedby')).getAttribute('role')), 'alert');
      assert.equal(await page.$eval('#username', (input) => input.value), USERNAME, 'the name need not be typed again');
      assert.equal(await page.$eval('#password', (input) => input.value), '');
      assert.deepEqual(await page.cookies(), []);
      await page.type('#password', PASSWORD);
      await press(page, 'button.primary');
      assert.equal(page.url(), `${app.origin}/home`);
    }));

  // contract I22.30
  test('a typed password can be shown and hidden again, by keyboard, and is hidden before it is sent', () =>
    visit(async (page) => {
      await page.goto(`${hub.origin}/sign-in`);
      await showsAndHides(page, '#password', 'password');
      await page.goto(passwordLink());
      await showsAndHides(page, '#password', 'new password');
      await signIn(page);
      await showsAndHides(page, '#present', 'current password');
      await showsAndHides(page, '#chosen', 'new password');
    }));

  // contract I22.30
  test('a shown password is sent as a password, so that no browser keeps it as a text', () =>
    visit(async (page) => {
      await page.goto(`${hub.origin}/sign-in`);
      await page.type('#username', USERNAME);
      await page.type('#password', 'not the password');
      await page.click('.reveal');
      assert.equal(await page.$eval('#password', (input) => input.type), 'text');
      await page.evaluate(() => {
        document.forms[0].addEventListener('submit', () => { document.title = document.querySelector('#password').type; });
      });
      await page.evaluate(() => document.forms[0].addEventListener('submit', (event) => event.preventDefault()));
      await page.keyboard.press('Tab');
      await page.keyboard.press('Space');
      await page.waitForFunction(() => document.title === 'password' || document.title === 'text');
      assert.equal(await page.title(), 'password');
    }));

  // contract I22.1
  test('needs no mouse', () =>
    visit(async (page) => {
      await page.goto(authorize());
      await focusOn(page, '#username');
      await page.keyboard.type(USERNAME);
      await page.keyboard.press('Tab');
      await focusOn(page, '#password');
      await page.keyboard.type(PASSWORD);
      await page.keyboard.press('Tab');
      assert.equal(await page.evaluate(() => document.activeElement.ariaLabel), 'Show password');
      await page.keyboard.press('Tab');
      const outline = await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle);
      assert.equal(outline, 'solid', 'where the focus is can be seen');
      await leading(page, () => page.keyboard.press('Space'));
      assert.equal(page.url(), `${app.origin}/home`);
    }));

  // contract I22.1
  test('needs no JavaScript', () =>
    visit(
      async (page) => {
        await page.goto(authorize());
        await page.focus('#username');
        await page.keyboard.type(USERNAME);
        await page.focus('#password');
        await page.keyboard.type(PASSWORD);
        await page.keyboard.press('Tab');
        assert.equal(await page.evaluate(() => document.activeElement.textContent), 'Sign in', 'no button stands there that does nothing');
        await leading(page, () => page.keyboard.press('Enter'));
        assert.equal(page.url(), `${app.origin}/home`);
        await page.goto(`${hub.origin}/`);
        await press(page, 'form[action="/logout"] button');
        assert.match(await page.title(), /Signed out/);
      },
      { script: false },
    ));

  // contract I30.13
  test('under another name of the same machine the form is that of APP_URL', () =>
    visit(async (page) => {
      await page.goto(`${hub.origin.replace('127.0.0.1', 'localhost')}/sign-in`);
      assert.equal(page.url(), `${hub.origin}/sign-in`);
      await fill(page);
      assert.equal(page.url(), `${hub.origin}/`);
    }));

  // contract I21.1
  test('prompt=none shows no page, and prompt=login shows the form to whoever is signed in', () =>
    visit(async (page) => {
      app.calls.length = 0;
      await page.goto(authorize({ prompt: 'none' }));
      assert.deepEqual([app.calls[0].error, app.calls[0].state, app.calls[0].iss], ['login_required', 's-1', hub.origin]);
      await signIn(page);
      await page.goto(authorize({ prompt: 'none' }));
      assert.ok(app.calls[1].code);
      await page.goto(authorize({ prompt: 'login' }));
      assert.ok(await page.$('#password'), 'asked again');
      await fill(page);
      assert.equal(page.url(), `${app.origin}/home`, 'and not sent round in circles');
      assert.ok(app.calls[2].code);
    }));

  // contract I22.1
  test('two tabs that were asked at the same time both arrive', () =>
    visit(async (first) => {
      app.calls.length = 0;
      const second = await first.browserContext().newPage();
      await first.goto(authorize({ state: 'tab-1' }));
      await second.goto(authorize({ state: 'tab-2' }));
      await fill(first);
      await fill(second);
      assert.deepEqual([first.url(), second.url()], [`${app.origin}/home`, `${app.origin}/home`]);
      assert.deepEqual(app.calls.map((call) => call.state), ['tab-1', 'tab-2']);
      for (const { code } of app.calls) await redeem(code);
    }));
});

describe('the account page', () => {
  // contract I22.6, I22.21
  test('shows who and where, and ends one other session', () =>
    visit((here) =>
      visit(async (there) => {
        await signIn(there);
        await signIn(here);
        await here.reload();
        assert.equal(await textOf(here, 'h1'), USERNAME);
        assert.match(await textOf(here, '.who'), /ana@example\.org/);
        const [first] = await here.$$('li');
        assert.match(await here.evaluate((one) => one.textContent, first), /Chrome on Linux.*Signed in \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC from 127\.0\.0\.1.*Last used just now.*This browser/s);
        const before = (await here.$$('li')).length;
        // Ends the sessions of earlier tests.
        for (let left = before - 1; left > 0; left -= 1) await press(here, 'li button');
        assert.match(await textOf(here, '[role=status]'), /signed out/);
        assert.equal((await here.$$('li')).length, 1);
        await there.reload();
        assert.equal(there.url(), `${hub.origin}/sign-in`, 'the other one is asked to sign in');
        await here.reload();
        assert.equal(await textOf(here, 'h1'), USERNAME, 'this one lives on');
      }),
    ));

  // contract I22.20
  test('gives password managers the name that a password is for', () =>
    visit(async (page) => {
      await signIn(page);
      const names = () =>
        page.$$eval('input[autocomplete=username]', (inputs) => inputs.map((input) => [input.type, input.value, input.closest('form').querySelector('[autocomplete=new-password]') !== null]));
      assert.deepEqual(await names(), [['text', USERNAME, true]]);
      await page.goto(passwordLink());
      assert.deepEqual(await names(), [['text', USERNAME, true]]);
    }));

  // contract I22.6
  test('a new password needs the present one, and signs out everywhere else', () =>
    visit((here) =>
      visit(async (there) => {
        await signIn(there);
        await signIn(here);
        const change = async (present, chosen) => {
          await here.type('#present', present);
          await here.type('#chosen', chosen);
          return leading(here, () => here.keyboard.press('Enter'));
        };
        assert.equal(await textOf(here, 'label[for=present]'), 'Current password');
        assert.equal((await change('not the password', 'a brand new one')).status(), 400);
        assert.equal(await textOf(here, '[role=alert]'), 'The current password is wrong.');
        await focusOn(here, '#present');
        assert.equal((await change(PASSWORD, 'a brand new one')).status(), 200);
        assert.match(await textOf(here, '[role=status]'), /was changed/);
        await there.reload();
        assert.equal(there.url(), `${hub.origin}/sign-in`);
        await change('a brand new one', PASSWORD);
        assert.match(await textOf(here, '[role=status]'), /was changed/);
      }),
    ));

  // contract I22.20
  test('signs out of this browser, or of every one', () =>
    visit((here) =>
      visit(async (there) => {
        await signIn(there);
        await signIn(here);
        await press(here, 'form[action="/logout"] button');
        assert.equal(await textOf(here, 'h1'), 'Signed out');
        assert.deepEqual(await here.cookies(), []);
        await there.reload();
        assert.equal(await textOf(there, 'h1'), USERNAME);
        await signIn(here);
        await press(here, 'button[aria-describedby=everywhere]');
        assert.match(await textOf(here, '[role=status]'), /signed out everywhere/);
        await there.reload();
        assert.equal(there.url(), `${hub.origin}/sign-in`);
      }),
    ));

  // contract I22.20
  test('needs no mouse, and names what each button signs out', () =>
    visit((here) =>
      visit(async (there) => {
        await signIn(there);
        // The page shows the time of a sign-in to the second.
        await new Promise((resolve) => setTimeout(resolve, 1100));
        await signIn(here);
        await here.reload();
        const labels = [];
        for (let step = 0; step < 40; step += 1) {
          await here.keyboard.press('Tab');
          const label = await here.evaluate(() => document.activeElement.ariaLabel ?? document.activeElement.textContent);
          labels.push(label);
          if (label === 'Sign out everywhere') break;
        }
        assert.deepEqual(labels.slice(0, 2), ['Accounts, roles and other records of this hub', 'Sign out']);
        const named = labels.filter((label) => /^Sign out Chrome on Linux, signed in \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC from 127\.0\.0\.1$/.test(label));
        assert.ok(named.length > 0, labels.join(', '));
        assert.equal(new Set(named).size, named.length, `equal browsers are told apart: ${named.join(', ')}`);
        await leading(here, () => here.keyboard.press('Enter'));
        assert.match(await textOf(here, '[role=status]'), /signed out everywhere/);
      }),
    ));

  // contract I22.5
  test('a link to the logout asks first, and comes back to the app', () =>
    visit(async (page) => {
      app.calls.length = 0;
      await signIn(page);
      await page.goto(authorize());
      const { id_token: hint } = await redeem(app.calls[0].code);
      const bye = { client_id: hub.clientId, post_logout_redirect_uri: `${app.origin}/bye`, state: 'x' };
      await page.goto(`${hub.origin}/logout?${new URLSearchParams(bye)}`);
      assert.equal(await textOf(page, 'h1'), 'Sign out?');
      assert.equal((await page.cookies(hub.origin)).length, 1, 'nothing has ended');
      await press(page, 'button');
      assert.equal(page.url(), `${app.origin}/bye?state=x`, 'form-action lets the way back through');
      await signIn(page);
      await page.goto(`${hub.origin}/logout?${new URLSearchParams({ id_token_hint: hint })}`);
      assert.equal(await textOf(page, 'h1'), 'Sign out?', 'the hint is of the session before');
    }));

  // contract I22.7
  test('a link sets a password, once, and says so', () =>
    visit(async (page) => {
      const link = passwordLink();
      await page.goto(link);
      assert.match(await textOf(page, 'main'), new RegExp(`for ${USERNAME}`));
      await page.type('#password', PASSWORD);
      await press(page, 'button.primary');
      assert.match(await textOf(page, '[role=status]'), /password is set/);
      await fill(page);
      assert.equal(page.url(), `${hub.origin}/`);
      await page.goto(link);
      assert.match(await textOf(page, '[role=alert]'), /unknown, expired or used/);
      assert.match(await textOf(page, 'main'), /Ask the person who sent it for a new one/);
    }));
});

describe('every page', () => {
  const pages = {
    'sign-in': (page) => page.goto(authorize()),
    'a refused sign-in': async (page) => {
      await page.goto(authorize());
      await fill(page, 'not the password', 'nobody');
    },
    account: signIn,
    'a password link': (page) => page.goto(passwordLink()),
    'a fault of authorize': (page) => page.goto(authorize({ client_id: 'nobody' })),
    'a wrong redirect': (page) => page.goto(authorize({ redirect_uri: 'https://elsewhere.example/callback' })),
    'an address that leads nowhere': (page) => page.goto(`${hub.origin}/nowhere`),
    'an address for programs': (page) => page.goto(`${hub.origin}/token`),
    'the question before a logout': async (page) => {
      await signIn(page);
      await page.goto(`${hub.origin}/logout`);
    },
  };
  for (const [name, open] of Object.entries(pages)) {
    for (const scheme of ['light', 'dark']) {
      // contract I22.20
      test(`${name}, ${scheme}: without a fault for those who do not see, and on a narrow screen without scrolling sideways`, () =>
        visit(
          async (page) => {
            await open(page);
            // Evaluated over the protocol, since the policy of the page allows no script.
            await page.evaluate(AXE);
            const { violations } = await page.evaluate(() => globalThis.axe.run(document));
            assert.deepEqual(violations.map((one) => `${one.id}: ${one.nodes.map((node) => node.html).join(' ')}`), []);
            await page.setViewport({ width: 360, height: 740 });
            const [wide, seen] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
            assert.ok(wide <= seen, `${wide} is wider than ${seen}`);
            const ground = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
            assert.equal(ground, scheme === 'light' ? 'rgb(250, 249, 246)' : 'rgb(20, 23, 27)');
          },
          { scheme },
        ));
    }
  }
});

describe('attackers', () => {
  // attack 41
  test('no text of theirs becomes markup', () =>
    visit(async (page) => {
      const addresses = [
        authorize({ state: HOSTILE, nonce: HOSTILE }),
        authorize({ client_id: HOSTILE }),
        authorize({ redirect_uri: `javascript:${HOSTILE}` }),
        authorize({ error_description: HOSTILE, prompt: HOSTILE }),
        `${hub.origin}/sign-in?${new URLSearchParams({ continue: HOSTILE, done: HOSTILE })}`,
        `${hub.origin}/sign-in?${new URLSearchParams({ continue: 'javascript:alert(1)' })}`,
        `${hub.origin}/password?${new URLSearchParams({ link: HOSTILE })}`,
        `${hub.origin}/logout?${new URLSearchParams({ post_logout_redirect_uri: HOSTILE, state: HOSTILE })}`,
      ];
      for (const address of addresses) {
        await page.goto(address);
        const strange = await page.$$eval('img:not([src="/docs/mark.svg"]), [onerror], [href^="javascript:"]', (found) => found.length);
        assert.equal(strange, 0, address);
        const scripts = await page.$$eval('script', (found) => found.map((one) => one.textContent));
        assert.ok(scripts.length <= 1 && scripts.every((text) => text === SCRIPT), `${address}: ${scripts.join('\n')}`);
      }
      // The name of the client is shown unchanged.
      await page.goto(authorize({ state: HOSTILE }));
      assert.equal(await textOf(page, '.lead strong'), NAME);
      app.calls.length = 0;
      await fill(page, 'not the password', HOSTILE);
      assert.equal(await page.$eval('#username', (input) => input.value), HOSTILE);
      await fill(page);
      assert.equal(app.calls[0].state, HOSTILE, 'state comes back as it was sent');
    }));

  // attack 40
  test('no page is shown in a frame', () =>
    visit(async (page) => {
      await signIn(page);
      const framed = ['/sign-in', '/', '/logout', '/authorize?client_id=nobody', '/password?link=x'];
      app.pages.set('/frames', framed.map((path) => `<iframe src="${hub.origin}${path}"></iframe>`).join(''));
      const { page: other, close } = await openPage(chromium.browser, app.origin);
      try {
        await other.goto(`${app.origin}/frames`);
        const texts = await Promise.all(other.frames().slice(1).map((frame) => frame.evaluate(() => document.body?.innerText ?? '')));
        assert.equal(texts.length, framed.length);
        for (const text of texts) assert.doesNotMatch(text, /Sign in|Sign out|Signed in|This app|did not work/);
      } finally {
        await close();
      }
    }));

  // attack 15
  test('a form on another site signs nobody in and nobody out', () =>
    visit(async (page) => {
      await signIn(page);
      const inputs = (pairs) => Object.entries(pairs).map(([name, value]) => `<input name="${name}" value="${value}">`).join('');
      const forms = { '/sign-in': { username: USERNAME, password: PASSWORD }, '/': { action: 'everywhere' }, '/logout': {}, '/session': { access_token: 'x' } };
      for (const [path, pairs] of Object.entries(forms)) {
        app.pages.set('/forged', `<form method="post" action="${hub.origin}${path}">${inputs(pairs)}<button>Go</button></form>`);
        await page.goto(`${app.origin}/forged`);
        const answer = await press(page, 'button');
        assert.equal(answer.status(), 403, path);
        assert.equal(answer.headers()['set-cookie'], undefined, path);
      }
      await page.goto(`${hub.origin}/`);
      assert.equal(await textOf(page, 'h1'), USERNAME, 'still signed in');
    }));
});
