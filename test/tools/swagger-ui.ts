import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { routes } from '../../src/views/api.ts';
import { type ExampleStore, openExampleStore } from '../support/examples.ts';
import { launchBrowser, skipBrowser } from '../web/browser.ts';
import { installTools } from './tools.ts';

const html = (document: string, key: string) => `<!doctype html>
<meta charset="utf-8">
<div id="ui"></div>
<script src="/swagger-ui-bundle.js"></script>
<script>
const ui = SwaggerUIBundle({ url: '${document}', dom_id: '#ui', tryItOutEnabled: true, onComplete() {
  ui.preauthorizeApiKey('bearerAuth', '${key}');
} });
</script>`;

describe('Swagger UI', { skip: skipBrowser }, () => {
  let store: ExampleStore;
  let server: Server;
  let browser: Browser;
  let page: Page;

  before(async () => {
    const packages = join(await installTools(), 'node_modules');
    const script = await readFile(join(packages, 'swagger-ui-dist/swagger-ui-bundle.js'));
    store = await openExampleStore();
    const content = html(new URL('/openapi.json', store.baseUrl).href, store.keys.owner);
    server = createServer((request, response) => {
      if (request.url === '/') response.setHeader('Content-Type', 'text/html').end(content);
      else response.setHeader('Content-Type', 'text/javascript; charset=utf-8').end(script);
    }).listen(0, '127.0.0.1');
    browser = await launchBrowser();
    page = await browser.newPage();
    await page.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
    await page.locator('.opblock').first().waitFor();
  });
  after(async () => {
    await browser?.close();
    server?.close();
    await store?.serving.stop();
  });

  test('shows every operation, and no error in the document', async () => {
    assert.equal(await page.locator('.opblock:not([id*="-receive"])').count(), routes.length);
    assert.equal(await page.locator('.errors-wrapper').count(), 0);
  });

  for (const [operationId, status] of Object.entries({ listPets: 200, listOrganizations: 200, createHold: 201 })) {
    test(`sends ${operationId} as it has filled in the form`, async () => {
      const operation = page.locator(`.opblock[id$="-${operationId}"]`);
      await operation.locator('.opblock-summary-control').click();
      await operation.locator('button.execute').click();
      const shown = operation.locator('.live-responses-table tbody .response-col_status').first();
      assert.match(await shown.innerText(), new RegExp(`^${status}`));
    });
  }
});
