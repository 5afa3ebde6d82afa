import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { routes } from '../../src/views/api.ts';
import { getCatalog, readDocs } from '../../src/web/guides/catalog.ts';
import { type Reply, send, serve, type TestService } from '../support/serving.ts';
import { signedIn } from './session.ts';

const { guides, groups } = await getCatalog();
const searches = ['/search', '/search?q=pagination', '/search?q=qqqqzzzz'];

describe('the guides over HTTP', () => {
  let service: TestService;
  let origin: string;
  const replies = new Map<string, Promise<Reply>>();
  const get = (path: string): Promise<Reply> =>
    replies.getOrInsertComputed(path, async () => {
      const reply = await send(origin + path, { headers: { Accept: 'text/html' } });
      // Pages of accounts lead to the form for signing in.
      return reply.status === 303 ? get(reply.headers.location!) : reply;
    });
  before(async () => {
    service = await serve();
    origin = new URL(service.urls.production).origin;
  });
  after(() => service.stop());

  it('list every guide of docs/README.md by task', async () => {
    assert.ok(guides.length >= 40, String(guides.length));
    assert.deepEqual([groups[0]!.title, groups.at(-1)!.title], ['Get started', 'Operate it']);
    const { text } = await get('/guides');
    for (const { path } of guides) assert.ok(text.includes(`href="${path}"`), path);
  });

  for (const path of ['/guides', ...guides.map(({ path }) => path), ...searches]) {
    it(`${path} has links that lead to pages, and to headings that they have`, async () => {
      const { status, text } = await get(path);
      assert.equal(status, 200);
      const ids = idsOf(text);
      assert.equal(new Set(ids).size, ids.length, 'every id is there once');
      for (const href of linksOf(text)) {
        const [target, hash] = href.split('#') as [string, string?];
        const page = target === '' ? text : (await get(target)).text;
        if (target !== '') assert.equal((await get(target)).status, 200, href);
        if (hash !== undefined) assert.ok(idsOf(page).includes(decodeURIComponent(hash)), href);
      }
    });
  }

  for (const { path, title } of guides) {
    it(`${path} has a title, a description and a Markdown twin whose links work`, async () => {
      const { text } = await get(path);
      assert.match(text, /<title>[^<]+ · Pet Store<\/title>/);
      assert.match(text, /<meta name="description" content="[^"]{10,}">/);
      assert.equal(text.match(/<h1>/g)?.length, 1, title);
      assert.ok(text.includes(`<link rel="alternate" type="text/markdown" href="${path}.md">`));
      const twin = await get(`${path}.md`);
      assert.equal(twin.headers['content-type'], 'text/markdown; charset=utf-8');
      assert.match(twin.text, /^# \S/);
      await assertLinks(twin.text);
    });
  }

  it('show the addresses of this service in the examples', async () => {
    const { text } = await get('/guides/pets');
    assert.ok(text.includes(`${service.urls.staging.replace(/\/v1$/, '')}/v1/pets`));
    for (const { path, isLocal } of guides) {
      if (isLocal) continue;
      assert.doesNotMatch((await get(path)).text, /localhost:808[012]/, path);
      assert.doesNotMatch((await get(`${path}.md`)).text, /localhost:808[012]/, path);
    }
    assert.match((await get('/guides/tutorial')).text, /localhost:8081/);
  });

  it('show the addresses of production if nothing else is served', async t => {
    const alone = await serve({ environment: { PETSTORE_STAGING_PORT: '', PETSTORE_MESSAGES_PORT: '' } });
    t.after(() => alone.stop());
    const own = new URL(alone.urls.production).origin;
    const { text } = await send(`${own}/guides/messages`);
    assert.ok(text.includes(`${own}/v1/messages`));
    assert.doesNotMatch(text, /localhost:808[012]/);
    assert.doesNotMatch(text, /key-prompt/);
  });

  it('put the path of a proxy in front of links', async t => {
    const behind = await serve({ environment: { PETSTORE_PUBLIC_URL: 'https://shop.test/store' } });
    t.after(() => behind.stop());
    const { text } = await send(`${new URL(behind.urls.production).origin}/guides/pets`);
    for (const href of linksOf(text)) if (!href.startsWith('#')) assert.match(href, /^\/store\//);
    const { text: twin } = await send(`${new URL(behind.urls.production).origin}/guides/pets.md`);
    assert.match(twin, /\]\(https:\/\/shop\.test\/store\/guides\/categories\.md\)/);
    const { text: day } = await send(`${new URL(behind.urls.production).origin}/guides/first-day`);
    for (const [, image] of day.matchAll(/(?:src|srcset)="([^"]+\.webp)"/g)) assert.match(image!, /^\/store\/guides\//);
  });

  it('are at most 100 KB with everything that they load, compressed', async () => {
    for (const path of ['/guides', ...guides.map(({ path }) => path), ...searches]) {
      const assets = [...(await get(path)).text.matchAll(/(?:href|src)="(\/assets\/[^"#]+)/g)].map(
        ([, asset]) => asset!,
      );
      const sizes = await Promise.all([path, ...new Set(assets)].map(sizeOf));
      const total = sizes.reduce((sum, size) => sum + size, 0);
      assert.ok(total <= 100_000, `${path}: ${total} bytes`);
    }
  });

  it('show every image of docs/images/guides in light and dark, at most 120 KB a guide, and cached forever', async () => {
    const shown = new Set<string>();
    for (const { path, file } of guides) {
      const { text } = await get(path);
      const named = (await readDocs(file)).match(/(?<!`)!\[/g) ?? [];
      const pictures = [...text.matchAll(/<picture>.*?<\/picture>/g)].map(([picture]) => picture);
      assert.equal(pictures.length, named.length, `${path} serves all images that it names`);
      const bytes = { light: 0, dark: 0 };
      for (const picture of pictures) {
        assert.match(picture, /<img [^>]*width="\d+" height="\d+" alt="[^"]{15,}" loading="lazy">/);
        for (const [, image] of picture.matchAll(/(?:src|srcset)="([^"]+)"/g)) {
          const { status, headers } = await get(image!);
          assert.deepEqual([status, headers['content-type']], [200, 'image/webp'], image!);
          assert.equal(headers['cache-control'], 'public, max-age=31536000, immutable');
          shown.add(image!.slice(image!.lastIndexOf('/') + 1));
          bytes[image!.endsWith('-dark.webp') ? 'dark' : 'light'] += Number(headers['content-length']);
        }
      }
      assert.ok(bytes.light <= 120_000 && bytes.dark <= 120_000, `${path}: ${JSON.stringify(bytes)}`);
    }
    const files = readdirSync(new URL('../../docs/images/guides/', import.meta.url));
    assert.deepEqual([...shown].sort(), files.sort());
    assert.ok(files.length > 0);
  });

  it('serve no other file than those images', async () => {
    const { text } = await get('/guides/first-day');
    const [, folder, name] = /src="(\/guides\/images\/\w+\/)([^"]+)"/.exec(text)!;
    for (const path of [
      `${folder}..%2Ffront-1280-light.webp`,
      `${folder}..%2F..%2FREADME.md`,
      `${folder}front-1280-light.webp`,
      `${folder}__proto__`,
      `/guides/images/000000000000/${name}`,
      `/guides/images/${name}`,
    ]) {
      assert.equal((await get(path)).status, 404, path);
    }
  });

  for (const name of [
    'nothing',
    'README',
    'architecture',
    '../package',
    '..%2F..%2Fpackage.json',
    'key',
    'errors%2Fnot_owner',
    '.md',
    '__proto__',
  ]) {
    it(`has no guide ${name}`, async () => {
      for (const suffix of ['', '.md']) assert.equal((await get(`/guides/${name}${suffix}`)).status, 404);
    });
  }

  it('are listed in llms.txt with links that work', async () => {
    const { text, status, headers } = await get('/llms.txt');
    assert.deepEqual([status, headers['content-type']], [200, 'text/plain; charset=utf-8']);
    assert.match(text, /^# Pet Store\n\n> [^\n]+\n\n/);
    const operations = routes.map(({ operationId }) => `/reference/${operationId}`);
    for (const path of [...guides.map(({ path }) => path), '/reference', ...operations]) {
      assert.ok(text.includes(`](${origin}${path}.md): `), path);
    }
    for (const line of text.split('\n').filter(one => one.startsWith('- '))) {
      assert.match(line, /^- \[[^\]]+\]\(http[^)]+\): \S.*\.$/);
    }
    await assertLinks(text);
  });

  it('are in llms-full.txt, those for API users', async () => {
    const { text } = await get('/llms-full.txt');
    assert.match(text, /^# Rate limits and exponential backoff$/m);
    assert.doesNotMatch(text, /^# Backup$/m);
    assert.ok(text.length < 200_000, String(text.length));
  });

  describe('the key for the examples', () => {
    const json = { Accept: 'application/json' };

    it('is a staging key of the account that is valid for an hour', async () => {
      const person = await signedIn(service);
      const { status, body, headers } = await person.submit('/guides/key', {}, json);
      assert.deepEqual([status, headers['content-type']], [201, 'application/json']);
      assert.match(body.key, /^petstore_test_/);
      assert.ok(Math.abs(body.expiresAt - Date.now() - 3_600_000) < 60_000);
      assert.equal((await send(`${service.urls.staging}/pets`, { key: body.key })).status, 200);
      assert.match((await person.open('/keys')).text, /Guides/);
    });

    it('is refused when the account has five of them', async () => {
      const person = await signedIn(service);
      for (let keys = 1; keys <= 5; keys++) assert.equal((await person.submit('/guides/key', {}, json)).status, 201);
      const { status, body } = await person.submit('/guides/key', {}, json);
      assert.equal(status, 409);
      assert.match(body.message, /^You have 5 active keys named “Guides”/);
    });

    it('is offered to those who are signed in, and others can sign in', async () => {
      const person = await signedIn(service);
      assert.match((await person.open('/guides/pets')).text, /<form method="post" action="\/guides\/key"/);
      const { text } = await get('/guides/pets');
      assert.match(text, /<a href="\/sign-in\?next=%2Fguides%2Fpets">Sign in<\/a>/);
      assert.equal(text.match(/key-prompt/g)?.length, 1);
      const staging = new URL(service.urls.staging).origin;
      assert.ok((await send(`${staging}/guides/pets`)).text.includes(`href="${origin}/sign-in?next=`));
      // The tutorial is about the reader's own server.
      assert.doesNotMatch((await person.open('/guides/tutorial')).text, /guides\/key/);
    });
  });

  async function assertLinks(markdown: string): Promise<void> {
    for (const [, href] of withoutCode(markdown).matchAll(/\]\((http[^)\s]+)\)/g)) {
      if (!href!.startsWith(`${origin}/`)) continue;
      assert.equal((await get(href!.slice(origin.length).split('#')[0]!)).status, 200, href!);
    }
    assert.doesNotMatch(withoutCode(markdown), /\]\((?!https?:|#|mailto:)/, 'a relative link');
  }

  async function sizeOf(path: string): Promise<number> {
    const { headers } = await send(origin + path, { headers: { 'Accept-Encoding': 'br' } });
    return Number(headers['content-length']);
  }
});

/** Returns the internal links of a page, each once. */
function linksOf(text: string): string[] {
  const hrefs = [...text.matchAll(/<a [^>]*?href="([^"]+)"/g)].map(([, href]) => href!.replaceAll('&#38;', '&'));
  return [...new Set(hrefs)].filter(href => /^(\/|#)/.test(href) && href !== '#content');
}

function idsOf(text: string): string[] {
  return [...text.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id!);
}

function withoutCode(markdown: string): string {
  return markdown.replaceAll(/^```.*?^```$/gms, '').replaceAll(/`[^`]*`/g, '');
}
