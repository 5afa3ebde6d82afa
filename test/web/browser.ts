import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { type Browser, chromium, type Page } from 'playwright-core';
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
