import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { testClock } from '../../src/lib/clock.ts';
import { type Reply, send, serve, type TestService } from '../support/serving.ts';

const NOW = Date.UTC(2026, 10, 24, 12);

describe('the files of the site', () => {
  let service: TestService;
  let origin: string;
  before(async () => {
    service = await serve({ clock: testClock(NOW) });
    origin = new URL(service.urls.production).origin;
  });
  after(() => service.stop());

  const get = (path: string): Promise<Reply> => send(origin + path, { headers: { Accept: 'text/html' } });

  it('/changelog shows every version, with links to pages that exist and to a feed', async () => {
    const { status, text } = await get('/changelog');
    assert.equal(status, 200);
    assert.match(text, /<h2 id="[^"]+">.*1\.0\.0.*<\/h2>/);
    assert.ok(
      text.includes(
        `<link rel="alternate" type="application/atom+xml" title="Changelog" href="${origin}/changelog.atom">`,
      ),
    );
    for (const [, path = ''] of text.matchAll(/href="(\/(?:guides|reference|errors)[^"#]*)/g)) {
      assert.equal((await get(path)).status, 200, path);
    }
  });

  it('/changelog.atom is an Atom feed with an entry per version', async () => {
    const { status, headers, text } = await get('/changelog.atom');
    assert.deepEqual([status, headers['content-type']], [200, 'application/atom+xml; charset=utf-8']);
    assert.match(text, /^<\?xml version="1\.0" encoding="UTF-8"\?>\n<feed xmlns="http:\/\/www\.w3\.org\/2005\/Atom">/);
    const [feed, ...entries] = text.split('<entry>');
    assert.ok(entries.length > 0);
    for (const part of [feed!, ...entries]) {
      for (const element of [/<title>[^<]+</, /<id>http[^<]+</, /<updated>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ</]) {
        assert.match(part, element);
      }
    }
    // The content is escaped HTML with absolute links.
    assert.match(entries[0]!, /<content type="html">&#60;h2/);
    assert.doesNotMatch(text, /href=&#34;(?!https?:|mailto:)/);
    const changelog = await get('/changelog');
    for (const entry of entries) {
      assert.match(entry, /<title>\d+\.\d+\.\d+ – [^<]+</);
      const [, page, id = ''] = /<link href="([^"#]+)#([^"]+)"/.exec(entry)!;
      assert.equal(page, `${origin}/changelog`);
      assert.ok(changelog.text.includes(`<h2 id="${id}">`), id);
    }
  });

  it('/.well-known/security.txt says where to report a vulnerability, and expires within a year', async t => {
    const { headers, text } = await get('/.well-known/security.txt');
    assert.equal(headers['content-type'], 'text/plain; charset=utf-8');
    const fields = Object.fromEntries(
      text
        .trimEnd()
        .split('\n')
        .map(line => line.split(/: (.*)/)),
    );
    assert.equal((await get(new URL(fields.Contact).pathname)).status, 200);
    assert.equal(fields.Canonical, `${origin}/.well-known/security.txt`);
    const days = (Date.parse(fields.Expires) - NOW) / 86_400_000;
    assert.ok(days > 100 && days < 365, String(days));
    const environment = { PETSTORE_SECURITY_CONTACT: 'mailto:security@store.example' };
    const other = await serve({ environment });
    t.after(() => other.stop());
    const reply = await send(`${new URL(other.urls.production).origin}/.well-known/security.txt`);
    assert.match(reply.text, /^Contact: mailto:security@store\.example$/m);
  });

  it('/favicon.ico is an icon that everyone may keep', async () => {
    const reply = await fetch(`${origin}/favicon.ico`);
    assert.deepEqual([reply.status, reply.headers.get('content-type')], [200, 'image/x-icon']);
    assert.equal(reply.headers.get('cache-control'), 'public, max-age=86400');
    assert.deepEqual([...(await reply.bytes()).subarray(0, 4)], [0, 0, 1, 0]);
  });
});
