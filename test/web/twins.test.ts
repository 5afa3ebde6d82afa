import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { pages } from '../../src/main/pages.ts';
import { twinPath } from '../../src/web/twins.ts';
import { type Reply, send, serve, type TestService } from '../support/serving.ts';

/** A value for each path parameter, by the path of the page. */
const examples: Readonly<Record<string, string>> = {
  '/animals/{petId}': '1',
  '/animals/{petId}/card': '1',
  '/organizations/{organizationId}': '1',
  '/sitemaps/{list}/{file}': '/sitemaps/animals/1.xml',
  '/guides/{name}': 'pagination',
  '/guides/operating/{name}': 'backup',
  '/reference/{operationId}': 'placeOrder',
  '/errors/{code}': 'not_owner',
  '/deprecations/{operationId}': 'getPet',
};
/** Pages whose Markdown has headings of its own, besides the first. */
const ownHeadings = ['/reference', '/reference/{operationId}'];
const HOSTILE = '# *Rex* [x](https://evil.test) <script>\u202E';

const withPage = pages.filter(({ access, show, path }) => access === 'everyone' && show && !path.endsWith('.md'));
const content = withPage.filter(({ markdown }) => markdown);

describe('the Markdown twins', () => {
  let service: TestService;
  let origin: string;
  before(async () => {
    service = await serve();
    origin = new URL(service.urls.production).origin;
    const key = await service.newKey();
    const profile = { name: HOSTILE, mission: HOSTILE, hours: { monday: HOSTILE } };
    const url = `${service.urls.production}/organizations/${key.accountId}`;
    assert.equal((await send(url, { method: 'PUT', key, body: profile })).status, 201);
    assert.equal(key.accountId, 1);
    const body = { name: HOSTILE, categoryId: 1, statusReason: '1. _reason_' };
    assert.equal((await send(`${service.urls.production}/pets`, { method: 'POST', key, body })).status, 201);
  });
  after(() => service.stop());

  const get = (path: string, headers: Readonly<Record<string, string>> = {}): Promise<Reply> =>
    send(origin + path, { headers: { Accept: 'text/html', ...headers } });

  for (const page of content) {
    const path = page.path.replace(/\{\w+\}/, () => examples[page.path] ?? 'no example');

    it(`${page.path} has one with its headings and links that work`, async () => {
      const { status, text } = await get(path);
      assert.equal(status, 200, path);
      assert.ok(text.includes(`<link rel="alternate" type="text/markdown" href="${twinPath(path)}">`));
      const twin = await get(twinPath(path));
      assert.deepEqual([twin.status, twin.headers['content-type']], [200, 'text/markdown; charset=utf-8']);
      const lines = twin.text.split('\n').map(plain);
      const [first, ...others] = headingsOf(text);
      assert.equal(lines[0], `# ${first}`);
      if (!ownHeadings.includes(page.path)) {
        for (const heading of others)
          assert.ok(
            lines.some(line => /^##+ /.test(line) && line.endsWith(heading)),
            heading,
          );
      }
      for (const [, href] of withoutCode(twin.text).matchAll(/(?<!\\)\]\(([^)\s]+)\)/g)) {
        assert.match(href!, /^(https?:|#|mailto:)/);
        if (!href!.startsWith(`${origin}/`)) continue;
        const target = await get(href!.slice(origin.length).split('#')[0]!);
        // Pages of accounts lead to the form for signing in.
        assert.ok([200, 303].includes(target.status), href!);
        // Only the form of a page is on the page itself.
        if (href !== origin + path)
          assert.doesNotMatch(target.text, /rel="alternate" type="text\/markdown"/, `${href} has a twin`);
      }
    });

    it(`${page.path} answers HEAD for it, and caches it as the page`, async () => {
      const twin = await get(twinPath(path));
      const head = await send(origin + twinPath(path), { method: 'HEAD' });
      assert.deepEqual([head.status, head.text], [200, '']);
      for (const name of ['content-type', 'content-length', 'etag', 'cache-control', 'vary']) {
        assert.equal(head.headers[name], twin.headers[name], name);
      }
      assert.equal(twin.headers['etag'] !== undefined, page.cached !== undefined);
      if (!page.cached) return;
      const compressed = await get(twinPath(path), { 'Accept-Encoding': 'br' });
      assert.equal(compressed.headers['content-encoding'], 'br');
      assert.equal((await get(twinPath(path), { 'If-None-Match': String(twin.headers['etag']) })).status, 304);
    });
  }

  for (const page of withPage.filter(({ markdown }) => !markdown)) {
    it(`${page.path} needs none, because it is a form or a file`, async () => {
      const path = examples[page.path] ?? page.path.replace(/\{\w+\}/, 'x');
      const { headers, text } = await get(path);
      const isFile = !String(headers['content-type']).startsWith('text/html');
      assert.ok(isFile || page.submit !== undefined);
      assert.doesNotMatch(text, /rel="alternate" type="text\/markdown"/);
      assert.doesNotMatch(String((await get(`${path}.md`)).headers['content-type']), /markdown/);
    });
  }

  it('are linked in llms.txt', async () => {
    const { text } = await get('/llms.txt');
    for (const { path } of content.filter(one => !one.path.includes('{'))) {
      assert.ok(text.includes(`](${origin}${twinPath(path)}): `), path);
    }
  });

  it('keep the query string of the page', async () => {
    assert.match((await get('/animals?category=2')).text, /type="text\/markdown" href="\/animals\.md\?category=2"/);
    assert.match((await get('/animals.md?category=2')).text, /^# Cat$/m);
    assert.match((await get('/search.md?q=pagination')).text, /\]\(\S+\/guides\/pagination\.md#[\w-]+\)/);
  });

  it('show the texts of owners as text', async () => {
    for (const path of ['/animals.md?status=any', '/animals/1.md', '/organizations/1.md']) {
      const { text } = await get(path);
      const name = '\\# \\*Rex\\* \\[x\\](https\\://evil.test) \\<script\\>';
      assert.ok(text.includes(name), text);
      assert.doesNotMatch(text, /(?<!\\)<script|[^\\]\]\((?!http:\/\/localhost)/);
    }
    assert.match((await get('/animals/1.md')).text, /1\. \\_reason\\_/);
  });

  it('do not exist for pages that do not exist', async () => {
    for (const path of [
      '/animals/999999.md',
      '/animals/x.md',
      '/errors/none.md',
      '/reference/none.md',
      '/index.md.md',
    ]) {
      assert.equal((await get(path)).status, 404, path);
    }
  });
});

/** Returns the headings of the content of a page as text. */
function headingsOf(text: string): string[] {
  const headings = text.matchAll(/<h[1-6][^>]*>(.*?)<\/h[1-6]>/gs);
  return [...headings].map(([, heading]) =>
    decoded(heading!.replaceAll(/<[^>]+>/g, ''))
      .replaceAll(/\p{Bidi_Control}/gu, '')
      .trim(),
  );
}

function decoded(text: string): string {
  return text.replaceAll(/&#(\d+);/g, (_, code: string) => String.fromCodePoint(Number(code)));
}

/** Returns a line of Markdown as text. */
function plain(line: string): string {
  return line.replaceAll(/(?<!\\)\[(.*)(?<!\\)\]\(\S+\)/g, '$1').replaceAll(/[\\`]/g, '');
}

function withoutCode(markdown: string): string {
  return markdown.replaceAll(/^(`{3,}).*?^\1$/gms, '').replaceAll(/`[^`]*`/g, '');
}
