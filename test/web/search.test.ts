import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { pages } from '../../src/main/pages.ts';
import { seedStaging } from '../../src/operate/seeds/staging.ts';
import { send, serve, type TestService } from '../support/serving.ts';

describe('the search of the site', () => {
  let service: TestService;
  let origin: string;
  before(async () => {
    service = await serve();
    const { production, staging } = service.app.databases;
    await seedStaging(production, staging!);
    origin = new URL(service.urls.staging!).origin;
  });
  after(() => service.stop());

  async function search(query: string): Promise<string> {
    const { status, text } = await send(`${origin}/search?q=${encodeURIComponent(query)}`);
    assert.equal(status, 200, query);
    return text;
  }

  it('finds animals by their words, and leads to all of them', async () => {
    const text = await search('labrador');
    assert.match(text, /<h2>Animals<\/h2>.*href="\/animals\/\d+"/s);
    assert.ok(text.includes('href="/animals?q=labrador"'));
  });

  it('finds organizations by the beginnings of their names', async () => {
    const { text } = await send(`${origin}/organizations`);
    const [, path, name] = /href="(\/organizations\/\d+)"><bdi>([^<]+)</.exec(text)!;
    const found = await search(name!.slice(0, 8).toUpperCase());
    assert.match(found, new RegExp(`<h2>Organizations</h2>.*href="${path}"`, 's'));
  });

  it('shows the documentation first, and says nothing is found only if there is nothing anywhere', async () => {
    const text = await search('dog');
    assert.ok(text.indexOf('class="results"') < text.indexOf('id="store"'));
    assert.match(await search('qqqqzzzz'), /Nothing found for “qqqqzzzz”/);
  });

  it('accepts every character', async () => {
    for (const query of ['\0', '\0labrador', '%', '"><script>alert(1)</script>', '🐈', 'ß'.repeat(500)]) {
      assert.ok(!(await search(query)).includes('<script>alert'), query);
    }
  });

  it('finds every page of a menu by its title, except those of operators', async () => {
    for (const { menu, path, title } of pages) {
      if (menu === undefined || menu === 'operator') continue;
      const [, results = ''] = (await search(String(title))).split('class="results"');
      assert.ok(results.includes(`<a href="${path}">`), path);
    }
  });

  it('knows in the reference what people call the operations', async () => {
    for (const [word, operation] of [
      ['remove', 'deletePet'],
      ['upload', 'addPhoto'],
      ['find', 'listPets'],
      ['adopt', 'placeOrder'],
      ['buy', 'placeOrder'],
      ['image', 'addPhoto'],
    ] as const) {
      const { text } = await send(`${origin}/reference?q=${word}`);
      assert.ok(text.includes(`href="/reference/${operation}"`), word);
    }
  });
});
