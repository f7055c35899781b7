// A real Chromium with a temporary profile.

import { mkdtemp, rm } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import puppeteer from 'puppeteer-core';

/** Starts Chromium: `{browser, close}`. `$CHROMIUM` overrides the path of Debian. The headless shell needs a third of the processor time. */
export async function openBrowser() {
  const programs = process.env.CHROMIUM ? [process.env.CHROMIUM] : ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium'];
  const program = programs.find((path) => existsSync(path));
  if (!program) throw new Error(`there is no Chromium at ${programs.join(' or ')}: install the package chromium-headless-shell, or name one in CHROMIUM`);
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

/** A page that records its faults: console errors, policy violations, and requests to other hosts. */
export async function openPage(browser, ...origins) {
  const context = await browser.createBrowserContext();
  const page = await context.newPage();
  const troubles = [];
  await watch(page, troubles, origins);
  return { page, troubles, context, close: () => context.close() };
}

/** Opens a menu whose list is made when it opens. */
export async function openMenu(page, selector) {
  await page.click(`${selector} summary`);
  await page.waitForSelector(`${selector}[open] li`);
}

/** Waits until the focus is on `selector`: the browser moves it some time after it shows a page. */
export const focusOn = (page, selector) => page.waitForFunction((selector) => document.activeElement?.matches(selector), {}, selector);

/** Records the faults of a page. */
export async function watch(page, troubles, origins) {
  page.on('console', (message) => {
    // The browser logs refused requests, which a test may expect.
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
