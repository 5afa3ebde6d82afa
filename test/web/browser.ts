import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { after, before } from 'node:test';
import { type Browser, chromium, type Locator, type Page } from 'playwright-core';
import { skipFor } from '../support/selection.ts';
import { serve, type TestService } from '../support/serving.ts';

/** The shell is Chromium without its user interface, which takes more processor time than the pages of most tests. */
const programs = ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium'];
const executablePath = process.env.PETSTORE_TEST_CHROMIUM ?? programs.find(existsSync) ?? '';

/** Why browser tests are skipped; false if there is a Chromium. */
export const skipBrowser = skipFor(existsSync(executablePath) ? undefined : 'left out: there is no Chromium');

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** Playwright's 30 s are too short while other tests use all processors. A test that hangs ends later instead. */
const BROWSER_MS = 180_000;

/** Starts a browser, whose pages wait up to `BROWSER_MS` for what a test does or expects. */
export async function launchBrowser(): Promise<Browser> {
  const browser = await chromium.launch({
    executablePath,
    args: [
      ...['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-sync'],
      ...['--disable-background-networking', '--disable-component-update'],
    ],
  });
  const newContext = browser.newContext.bind(browser);
  browser.newContext = async options => {
    const context = await newContext(options);
    context.setDefaultTimeout(BROWSER_MS);
    return context;
  };
  return browser;
}

/** A running service, and a browser that opens its pages. */
interface Opened {
  readonly service: TestService;
  readonly browser: Browser;
  /** The origin of the pages. */
  readonly origin: string;
}

/** Starts the service and a browser before the tests of a suite, and stops both afterwards. @param take keeps them */
export function serveInBrowser(take: (opened: Opened) => void): void {
  let service: TestService | undefined;
  let browser: Browser | undefined;
  before(async () => {
    service = await serve();
    browser = await launchBrowser();
    take({ service, browser, origin: new URL(service.urls.production).origin });
  });
  after(async () => {
    await browser?.close();
    await service?.stop();
  });
}

/** Clicks a link or a button that opens another page, and waits until all of that page is there. */
export async function follow(link: Locator): Promise<void> {
  await Promise.all([link.page().waitForEvent('domcontentloaded'), link.click()]);
}

const QUALITY = 70;

/** Returns the visible part of a page, or another part of it, as WebP, which is a quarter of a PNG. */
export async function screenshotOf(page: Page, part?: { y: number; width: number; height: number }): Promise<Buffer> {
  const devtools = await page.context().newCDPSession(page);
  const clip = part && { clip: { x: 0, scale: 1, ...part }, captureBeyondViewport: true };
  const { data } = await devtools.send('Page.captureScreenshot', { format: 'webp', quality: QUALITY, ...clip });
  return Buffer.from(data, 'base64');
}

/** The rules of axe-core that the color scheme concerns. */
const COLOR_RULES = ['color-contrast', 'link-in-text-block'];

/** Returns the accessibility violations that axe-core finds on a page, one line each: of all rules, or of `rules` only. */
export async function violationsOn(page: Page, rules?: readonly string[]): Promise<string[]> {
  // A script of the test, which the page's policy does not govern.
  if (!(await page.evaluate('"axe" in globalThis'))) await page.evaluate(axe);
  return page.evaluate(async runOnly => {
    const options = { resultTypes: ['violations'], ...(runOnly && { runOnly }) };
    // biome-ignore lint/suspicious/noExplicitAny: axe-core defines this global
    const { violations } = await (globalThis as any).axe.run(document, options);
    return violations.flatMap(({ id, help, nodes }: { id: string; help: string; nodes: { html: string }[] }) =>
      nodes.map(({ html }) => `${id}: ${help}: ${html.slice(0, 200)}`),
    );
  }, rules);
}

/**
 * Asserts that a page fits the widths of phones and of a desktop, and is accessible on the narrowest and the widest in the
 * light scheme, and in the dark one. Leaves the page as wide as it was, in the light scheme.
 */
export async function assertFits(page: Page, what = page.url()): Promise<void> {
  const original = page.viewportSize()!;
  const fit = async (width: number) => {
    await page.setViewportSize({ width, height: 800 });
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(wide <= width, `${what} is ${wide} px wide on a screen of ${width}`);
  };
  await fit(390);
  await fit(320);
  assert.deepEqual(await violationsOn(page), [], `${what} on a phone`);
  await fit(1280);
  assert.deepEqual(await violationsOn(page), [], what);
  await page.emulateMedia({ colorScheme: 'dark' });
  await page.evaluate(() => Promise.all(document.getAnimations().map(({ finished }) => finished)));
  assert.deepEqual(await violationsOn(page, COLOR_RULES), [], `${what} in the dark scheme`);
  await page.emulateMedia({ colorScheme: 'light' });
  await page.setViewportSize(original);
}

/** Waits for the first contentful paint of a page. Returns when that was, in milliseconds, and the sum of all layout shifts. */
export function paintOf(page: Page): Promise<{ paintMs: number; shift: number }> {
  return page.evaluate(async () => {
    await document.fonts.ready;
    const paintMs = await new Promise<number>(resolve => {
      new PerformanceObserver(list => {
        const first = list.getEntriesByName('first-contentful-paint')[0];
        if (first !== undefined) resolve(first.startTime);
      }).observe({ type: 'paint', buffered: true });
    });
    let shift = 0;
    new PerformanceObserver(list => {
      for (const entry of list.getEntries()) shift += (entry as PerformanceEntry & { value: number }).value;
    }).observe({ type: 'layout-shift', buffered: true });
    // Without a shift there is no entry.
    await new Promise(resolve => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(resolve, 100))));
    return { paintMs, shift };
  });
}
