import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { type Browser, chromium, type Locator, type Page } from 'playwright-core';
import { skipFor } from '../support/selection.ts';

const executablePath = process.env.PETSTORE_TEST_CHROMIUM ?? '/usr/bin/chromium';

/** Why browser tests are skipped; false if there is a Chromium. */
export const skipBrowser = skipFor(existsSync(executablePath) ? undefined : 'left out: there is no Chromium');

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

export function launchBrowser(): Promise<Browser> {
  return chromium.launch({
    executablePath,
    args: [
      ...['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-sync'],
      ...['--disable-background-networking', '--disable-component-update'],
    ],
  });
}

/** Clicks a link or a button that opens another page, and waits until all of that page is there. */
export async function follow(link: Locator): Promise<void> {
  await Promise.all([link.page().waitForEvent('domcontentloaded'), link.click()]);
}

/** Returns the accessibility violations that axe-core finds on a page, one line each. */
export async function violationsOn(page: Page): Promise<string[]> {
  // A script of the test, which the page's policy does not govern.
  await page.evaluate(axe);
  return page.evaluate(async () => {
    // biome-ignore lint/suspicious/noExplicitAny: axe-core defines this global
    const { violations } = await (globalThis as any).axe.run(document, { resultTypes: ['violations'] });
    return violations.flatMap(({ id, help, nodes }: { id: string; help: string; nodes: { html: string }[] }) =>
      nodes.map(({ html }) => `${id}: ${help}: ${html.slice(0, 200)}`),
    );
  });
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
