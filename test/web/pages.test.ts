import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { type Browser, chromium } from 'playwright-core';
import { errors } from '../../src/errors.ts';
import { skipFor } from '../support/selection.ts';
import { serve, type TestService } from '../support/serving.ts';

const executablePath = process.env.PETSTORE_TEST_CHROMIUM ?? '/usr/bin/chromium';
const skip = skipFor(existsSync(executablePath) ? undefined : 'left out: there is no Chromium');

describe('pages in a browser', { skip }, () => {
  let service: TestService;
  let browser: Browser;
  before(async () => {
    service = await serve();
    browser = await chromium.launch({
      executablePath,
      args: [
        ...['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-sync'],
        ...['--disable-background-networking', '--disable-component-update'],
      ],
    });
  });
  after(async () => {
    await browser?.close();
    await service?.stop();
  });

  const pages = [
    '/',
    '/errors',
    '/deprecations/getPet',
    '/no/such/page',
    ...Object.keys(errors).map(code => `/errors/${code}`),
  ];
  for (const colorScheme of ['light', 'dark'] as const) {
    it(`fit a phone in the ${colorScheme} scheme and load nothing from other origins`, async () => {
      const origin = new URL(service.urls.staging).origin;
      const context = await browser.newContext({ viewport: { width: 320, height: 640 }, colorScheme });
      const page = await context.newPage();
      const faults: string[] = [];
      page.on('request', request => {
        if (!request.url().startsWith(origin)) faults.push(`asks ${request.url()}`);
      });
      page.on('pageerror', error => faults.push(error.message));
      for (const path of pages) {
        const response = await page.goto(origin + path);
        assert.equal(response?.status(), path === '/no/such/page' ? 404 : 200, path);
        const seen = await page.evaluate(look);
        assert.equal(seen.language, 'en', path);
        assert.ok(seen.title.length > 0, path);
        assert.deepEqual(seen.headings.filter(level => level === 'H1').length, 1, `${path} has one first heading`);
        assert.ok(seen.width <= 320, `${path} is ${seen.width} px wide on a screen of 320`);
        assert.ok(seen.contrast >= 4.5, `${path} has a contrast of ${seen.contrast.toFixed(1)}, less than 4.5`);
      }
      assert.deepEqual(faults, []);
      await context.close();
    });
  }

  it('have no broken links', async () => {
    const origin = new URL(service.urls.staging).origin;
    const page = await browser.newPage();
    const links = new Set<string>();
    for (const path of pages) {
      await page.goto(origin + path);
      for (const link of await page.$$eval('a', anchors => anchors.map(anchor => anchor.href))) links.add(link);
    }
    for (const link of links) assert.equal((await fetch(link)).status, 200, link);
  });

  it('have no broken links behind a proxy that adds a path prefix', async t => {
    const outside = 'http://shop.test/petstore';
    const behind = await serve({ environment: { PETSTORE_STAGING_PUBLIC_URL: outside } });
    t.after(() => behind.stop());
    const inside = (url: string) => new URL(behind.urls.staging).origin + url.slice(outside.length);
    const page = await browser.newPage();
    await page.route(`${outside}/**`, async route => {
      const answer = await fetch(inside(route.request().url()), { headers: { Accept: 'text/html' } });
      await route.fulfill({ status: answer.status, contentType: 'text/html', body: await answer.text() });
    });
    for (const path of pages.slice(0, 6)) {
      await page.goto(outside + path);
      const links = await page.$$eval('a', anchors => anchors.map(anchor => anchor.href));
      assert.ok(links.length > 0, path);
      for (const link of new Set(links)) {
        assert.ok(link.startsWith(`${outside}/`), `${path} leads to ${link}`);
        assert.equal((await fetch(inside(link))).status, 200, link);
      }
    }
  });
});

/** What a visitor would notice, measured in the page. */
function look() {
  const root = document.documentElement;
  const luminance = (color: string) => {
    const [red, green, blue] = color.match(/[\d.]+/g)!.map(part => {
      const share = Number(part) / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * red! + 0.7152 * green! + 0.0722 * blue!;
  };
  const contrasts = [...document.querySelectorAll('body, a, dd, code')].map(element => {
    const [one, other] = [getComputedStyle(element).color, getComputedStyle(document.body).backgroundColor]
      .map(luminance)
      .sort((a, b) => b - a);
    return (one! + 0.05) / (other! + 0.05);
  });
  return {
    language: root.lang,
    title: document.title,
    headings: [...document.querySelectorAll('h1, h2, h3')].map(heading => heading.tagName),
    width: root.scrollWidth,
    contrast: Math.min(...contrasts),
  };
}
