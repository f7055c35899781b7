// A real Chromium with a profile of its own, which is gone afterwards.

import { mkdtemp, rm } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import puppeteer from 'puppeteer-core';

/** Starts Chromium: `{browser, close}`. `$CHROMIUM` names another one than Debian's. */
export async function openBrowser() {
  const program = process.env.CHROMIUM ?? '/usr/bin/chromium';
  if (!existsSync(program)) throw new Error(`there is no Chromium at ${program}: install the package chromium, or name one in CHROMIUM`);
  const folder = await mkdtemp(join(tmpdir(), 'peristyle-browser-'));
  // The sandbox does not start for root; everybody else keeps it.
  const rootOnly = process.getuid?.() === 0 ? ['--no-sandbox'] : [];
  const environment = { ...process.env, HOME: folder, XDG_CONFIG_HOME: folder, XDG_CACHE_HOME: folder };
  try {
    const browser = await puppeteer.launch({
      executablePath: program,
      headless: true,
      userDataDir: join(folder, 'profile'),
      env: environment,
      args: [...rootOnly, '--disable-gpu', '--disable-dev-shm-usage', '--disable-background-networking', '--no-first-run'],
    });
    const close = async () => {
      await browser.close();
      await rm(folder, { recursive: true, force: true, maxRetries: 5 });
    };
    return { browser, close };
  } catch (error) {
    await rm(folder, { recursive: true, force: true });
    throw error;
  }
}

/** A page that keeps what went wrong on it: console errors, refused policies, and requests to elsewhere. */
export async function openPage(browser, ...origins) {
  const context = await browser.createBrowserContext();
  const page = await context.newPage();
  const troubles = [];
  await watch(page, troubles, origins);
  return { page, troubles, context, close: () => context.close() };
}

/** Waits until the focus is on what `selector` names: the browser moves it some time after it has shown a page, which is later on a busy machine. */
export const focusOn = (page, selector) => page.waitForFunction((selector) => document.activeElement?.matches(selector), {}, selector);

/** Writes down what goes wrong on a page. */
export async function watch(page, troubles, origins) {
  page.on('console', (message) => {
    // A refusal is an answer like any other; the browser writes it down all the same.
    if (message.type() === 'error' && !/status of (40[0134]|503)/.test(message.text())) troubles.push(`console: ${message.text()}`);
  });
  page.on('pageerror', (error) => troubles.push(`error: ${error.stack ?? error}`));
  page.on('dialog', async (dialog) => {
    troubles.push(`dialog: ${dialog.message()}`);
    await dialog.dismiss();
  });
  page.on('request', (request) => {
    const address = request.url();
    if (!origins.some((origin) => address.startsWith(`${origin}/`)) && !address.startsWith('data:') && !address.startsWith('blob:')) troubles.push(`elsewhere: ${address}`);
  });
  await page.evaluateOnNewDocument(() => {
    document.addEventListener('securitypolicyviolation', (event) => console.error(`policy: ${event.violatedDirective} ${event.blockedURI}`));
  });
}
