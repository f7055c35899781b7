// Makes the pictures of the documents from the demo, in a real Chromium, 1280 pixels wide, in light mode.
//   PERISTYLE_BINARY=../../target/debug/peristyle node screenshots.mjs [FOLDER]      by default docs/pictures

import { mkdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { openBrowser, openPage } from './browser.mjs';
import { startDemo } from './demo.mjs';

const FOLDER = fileURLToPath(new URL('../../docs/pictures', import.meta.url));
/** A page of documents loads its pictures, so each is small. */
export const MAX_BYTES = 150_000;

const STATEMENT = `{
  "where": {"status": {"eq": "active"}, "orders": {"total": {"gt": 1000}}},
  "relations": {"orders": {"order": [{"field": "placedAt", "dir": "desc"}], "limit": 2}},
  "order": [{"field": "name"}],
  "limit": 5
}`;

/** Fills in the hub's form, and waits until the browser is back at the app's origin. */
async function signIn(page, demo, username) {
  await page.waitForSelector('input[type=password]');
  await page.type('input[name=username]', username);
  await page.type('input[type=password]', demo.people.find((person) => person.username === username).password);
  await page.keyboard.press('Enter');
  await page.waitForFunction((origin) => location.origin === origin && location.pathname !== '/callback', {}, demo.app);
}

const press = (page, words) => page.evaluate((text) => [...document.querySelectorAll('button')].find((node) => node.textContent === text).click(), words);
const waitForText = (page, selector, words) =>
  page.waitForFunction((place, text) => document.querySelector(place)?.textContent.includes(text), { polling: 50 }, selector, words);

/** Opens `/docs` as ana, at a resource and a statement. */
async function openDocs(page, demo, state) {
  await page.goto(`${demo.app}/docs#${new URLSearchParams(state)}`);
  await page.waitForSelector('#sign-in:not([hidden])');
  await page.click('#sign-in');
  await signIn(page, demo, 'ana');
  await waitForText(page, '#token-state', 'ana');
  await page.waitForSelector('#content h1');
}

/** The pictures by name. Each function leaves the page as the picture shows it. */
const PICTURES = {
  'sign-in': async (page, demo) => {
    await page.goto(demo.app);
    await page.waitForSelector('h1');
    await press(page, 'Sign in');
    await page.waitForSelector('input[type=password]');
    await page.type('input[name=username]', 'ana');
  },
  app: async (page, demo) => {
    await page.goto(`${demo.app}/revenue`);
    await page.waitForSelector('h1');
    await press(page, 'Sign in');
    await signIn(page, demo, 'ana');
    await waitForText(page, '.who', 'ana');
    await page.waitForSelector('svg');
    await page.waitForFunction(() => !document.querySelector('.half[aria-busy]'));
  },
  resources: (page, demo) => openDocs(page, demo, {}),
  statement: async (page, demo) => {
    await openDocs(page, demo, { resource: 'shop.customer', statement: STATEMENT });
    await page.focus('#statement');
    await page.keyboard.down('Control');
    await page.keyboard.press('Enter');
    await page.keyboard.up('Control');
    await page.waitForFunction(() => document.querySelectorAll('#panel-Table > .rows > .scroll > table > tbody > tr').length === 5);
    await page.click('#panel-Table .open');
    await waitForText(page, '#panel-Table .related', 'placedAt');
    await page.mouse.move(0, 0);
    // High enough for the related rows.
    await page.setViewport({ width: 1280, height: 960 });
    await page.evaluate(() => {
      document.activeElement.blur();
      window.scrollTo(0, 0);
    });
  },
};

/** Makes all pictures in a folder, and returns their paths. */
export async function makePictures(folder) {
  await mkdir(folder, { recursive: true });
  const [demo, chromium] = await Promise.all([startDemo(), openBrowser()]);
  const made = [];
  try {
    for (const [name, show] of Object.entries(PICTURES)) {
      const { page, troubles, close } = await openPage(chromium.browser, demo.app, demo.hub);
      await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: 'light' }, { name: 'prefers-reduced-motion', value: 'reduce' }]);
      await page.setViewport({ width: 1280, height: 800 });
      const path = join(folder, `${name}.png`);
      try {
        await show(page, demo);
        await page.screenshot({ path });
      } catch (error) {
        throw new Error(`the picture ${name} cannot be made at ${page.url()}`, { cause: error });
      }
      if (troubles.length > 0) throw new Error(`the picture ${name}: ${troubles.join('; ')}`);
      const { size } = await stat(path);
      if (size > MAX_BYTES) throw new Error(`the picture ${name} has ${size} bytes, and at most ${MAX_BYTES} are allowed`);
      made.push(path);
      await close();
    }
  } finally {
    await chromium.close();
    await demo.close();
  }
  return made;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) console.log((await makePictures(process.argv[2] ?? FOLDER)).join('\n'));
