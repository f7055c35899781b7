// Starts a demo with a command, signs in to its app in Chromium, and prints how long that took. Warns above ten seconds: a busy machine is no fault of the demo.
//   node demo-time.mjs COMMAND [ARGUMENT…]      the command prints the demo's one JSON object

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { openBrowser, openPage } from '../node/browser.mjs';

const EXPECTED_MS = 10_000;
const [program, ...words] = process.argv.slice(2);
const chromium = await openBrowser();
const begin = performance.now();
const child = spawn(program, words, { stdio: ['ignore', 'pipe', 'inherit'], detached: true });
const ended = once(child, 'exit');
let failure;
try {
  const line = await Promise.race([once(createInterface(child.stdout), 'line'), ended.then(() => null)]);
  if (!line) throw new Error('the demo ended before it was ready');
  const demo = JSON.parse(line[0]);
  const ready = performance.now();
  const { page, troubles } = await openPage(chromium.browser, demo.app, demo.hub);
  const { username, password } = demo.people[0];
  await page.goto(demo.app);
  await page.waitForSelector('h1');
  await page.evaluate(() => [...document.querySelectorAll('main button, .who button')].find((node) => node.textContent.startsWith('Sign in')).click());
  await page.waitForSelector('input[type=password]');
  await page.type('input[name=username]', username);
  await page.type('input[type=password]', password);
  await page.keyboard.press('Enter');
  await page.waitForFunction((name) => document.querySelector('.who')?.textContent.includes(name), { polling: 20 }, username);
  const shown = performance.now();
  if (troubles.length > 0) throw new Error(`the page has faults: ${troubles.join('; ')}`);
  const seconds = (from, to) => ((to - from) / 1000).toFixed(2);
  console.log(`${seconds(begin, shown)} s to the page of ${username}: ${seconds(begin, ready)} s to start, ${seconds(ready, shown)} s to sign in`);
  if (shown - begin > EXPECTED_MS) console.log(`warning: more than ${EXPECTED_MS / 1000} s; a quiet machine with a release build needs less`);
} catch (error) {
  failure = error;
} finally {
  // The demo is below a shell and an installer; all of them are in the process group of the child.
  if (child.exitCode === null) process.kill(-child.pid, 'SIGINT');
  await ended;
  await chromium.close();
}
if (failure) {
  console.error(`demo-time: ${failure.message}`);
  process.exitCode = 1;
}
