import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { errors } from '../../src/model/errors.ts';
import { serve, type TestService } from '../support/serving.ts';
import { assertFits, launchBrowser, skipBrowser } from './browser.ts';

describe('pages in a browser', { skip: skipBrowser }, () => {
  let service: TestService;
  let browser: Browser;
  before(async () => {
    service = await serve();
    browser = await launchBrowser();
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
    ...Object.keys(errors)
      .slice(0, 3)
      .map(code => `/errors/${code}`),
    '/sign-in',
    '/sign-up',
  ];
  it('fit every screen and load nothing from other origins', async () => {
    const origin = new URL(service.urls.production).origin;
    const page = await browser.newPage();
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
      await assertFits(page, path);
    }
    assert.deepEqual(faults, []);
    await page.close();
  });

  it('have no broken links', async () => {
    const origin = new URL(service.urls.production).origin;
    const page = await browser.newPage();
    const links = new Set<string>();
    for (const path of pages) {
      await page.goto(origin + path);
      for (const link of await linksOn(page)) links.add(link);
    }
    for (const link of links) assert.equal((await fetch(link)).status, 200, link);
  });

  it('have no broken links behind a proxy that adds a path prefix', async t => {
    const outside = 'http://shop.test/petstore';
    const behind = await serve({ environment: { PETSTORE_PUBLIC_URL: outside } });
    t.after(() => behind.stop());
    const inside = (url: string) => new URL(behind.urls.production).origin + url.slice(outside.length);
    const page = await browser.newPage();
    await page.route(`${outside}/**`, async route => {
      const answer = await fetch(inside(route.request().url()), { headers: { Accept: 'text/html' } });
      await route.fulfill({ status: answer.status, contentType: 'text/html', body: await answer.text() });
    });
    for (const path of pages.slice(0, 6)) {
      await page.goto(outside + path);
      const links = await linksOn(page);
      assert.ok(links.length > 0, path);
      for (const link of new Set(links)) {
        if (link.startsWith(new URL(behind.urls.staging).origin)) continue;
        assert.ok(link.startsWith(`${outside}/`), `${path} leads to ${link}`);
        assert.equal((await fetch(inside(link))).status, 200, link);
      }
    }
    // The last page may still be loading.
    await page.unrouteAll({ behavior: 'wait' });
    await page.close();
  });
});

/** Returns where the links of a page lead, without those within the page. */
function linksOn(page: Page): Promise<string[]> {
  return page.$$eval('a', anchors =>
    anchors.map(({ href }) => href.split('#')[0]!).filter(href => href !== location.href.split('#')[0]),
  );
}

/** What a visitor would notice, measured in the page. */
function look() {
  return {
    language: document.documentElement.lang,
    title: document.title,
    headings: [...document.querySelectorAll('h1, h2, h3')].map(heading => heading.tagName),
  };
}
