import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { listAccounts } from '../../src/access/accounts/accounts.ts';
import { testClock } from '../../src/lib/clock.ts';
import type { Route } from '../../src/lib/http/route.ts';
import { routes as allRoutes } from '../../src/views/api.ts';
import { mainExample } from '../../src/web/reference/operations.ts';
import { languages, sampleOf } from '../../src/web/reference/samples.ts';
import { type ExampleStore, examplesAt, openExampleStore, prepare } from '../support/examples.ts';
import { send, serve, type TestService } from '../support/serving.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { waitUntil } from '../support/wait-until.ts';

const run = promisify(execFile);
const routes = allRoutes as readonly Route<never>[];

/** What a page may weigh over the wire, with its style sheets and scripts. */
const BYTES_MAX = 100 * 1024;

describe('the reference', () => {
  let service: TestService;
  let origin: string;
  before(async () => {
    service = await serve();
    origin = new URL(service.urls.production).origin;
  });
  after(() => service?.stop());

  it('has a page of at most 100 KB for every operation, and the same as Markdown', async t => {
    const sizes = new Map<string, number>();
    const sizeOf = async (path: string) => {
      const known = sizes.get(path);
      if (known !== undefined) return known;
      const { status, headers } = await get(path);
      assert.equal(status, 200, path);
      assert.equal(headers['content-encoding'], 'br', path);
      sizes.set(path, Number(headers['content-length']));
      return sizes.get(path)!;
    };
    let largest = { path: '', bytes: 0 };
    for (const path of ['/reference', ...routes.map(({ operationId }) => `/reference/${operationId}`)]) {
      const { text } = await send(origin + path);
      const assets = [...text.matchAll(/"(\/assets\/[^"#]+)/g)].map(([, asset]) => asset!);
      const parts = [
        path,
        ...new Set(assets),
        ...(assets.some(asset => asset.endsWith('/try-it.js')) ? imports(assets) : []),
      ];
      let bytes = 0;
      for (const part of parts) bytes += await sizeOf(part);
      assert.ok(bytes <= BYTES_MAX, `${path} takes ${bytes} bytes`);
      if (bytes > largest.bytes) largest = { path, bytes };
      const twin = await get(`${path}.md`);
      assert.deepEqual([twin.status, twin.headers['content-type']], [200, 'text/markdown; charset=utf-8'], path);
      assert.equal((await send(`${origin}${path}.md`)).text.split('\n')[0]!.slice(0, 2), '# ');
    }
    t.diagnostic(`the largest is ${largest.path} with ${largest.bytes} bytes`);
  });

  it('compresses the OpenAPI document and confirms its version', async () => {
    const { status, headers } = await get('/openapi.json');
    assert.deepEqual([status, headers['content-encoding'], headers['cache-control']], [200, 'br', 'private, no-cache']);
    const again = await send(`${origin}/openapi.json`, { headers: { 'If-None-Match': headers['etag']! } });
    assert.equal(again.status, 304);
    const response = await fetch(`${origin}/openapi.json`, { headers: { 'Accept-Encoding': 'br' } });
    assert.equal((await response.json()).openapi, '3.1.1');
  });

  it('has samples and a collection for staging, and for production if one chooses it', async () => {
    const { production, staging, messages } = service.urls;
    for (const address of [production, staging].map(url => new URL(url).origin)) {
      const list = (await send(`${address}/reference`)).text;
      for (const url of [production, staging, messages]) assert.ok(list.includes(`<dd><code>${url}</code></dd>`), url);
      const page = (await send(`${address}/reference/createPet`)).text;
      assert.ok(page.includes(`${staging}/pets`) && !page.includes(`${production}/pets`));
      assert.match(page, /href="\/reference\/createPet" aria-current="true">Staging<\/a>/);
      assert.match(page, /href="\/reference\/createPet\?deployment=production">Production<\/a>/);
      const chosen = (await send(`${address}/reference/createPet?deployment=production`)).text;
      assert.ok(chosen.includes(`${production}/pets`));
      assert.match(chosen, /rel="next" href="\/reference\/\w+\?deployment=production"/);
      const twin = (await send(`${address}/reference/createPet.md`)).text;
      assert.ok(twin.includes(`'${staging}/pets'`));
      const { info, variable } = (await send(`${address}/collections/postman.json`)).body;
      assert.deepEqual(
        variable.map(({ value }: { value: string }) => value),
        [staging, messages, ''],
      );
      assert.ok(info.description.includes(`an API key for staging. For production, set \`baseUrl\` to ${production}.`));
    }
  });

  it('sends messages to their own address', async () => {
    const { production, messages } = service.urls;
    for (const path of ['/reference/sendMessage', '/reference/sendMessage?deployment=production']) {
      const { text } = await send(origin + path);
      assert.ok(text.includes(`<code>${messages}/messages</code>`), path);
      assert.ok(text.includes(`baseUrl: &#39;${messages}&#39;`), path);
      assert.ok(!text.includes(`${production}/messages`), path);
    }
    assert.ok((await send(`${origin}/reference/sendMessage.md`)).text.includes(`'${messages}/messages'`));
    const { paths } = (await send(`${origin}/openapi.json`)).body;
    const { description, servers } = paths['/messages'].post;
    assert.ok(description.endsWith(`The URL is \`POST ${messages}/messages\`.`));
    assert.equal(servers, undefined, 'generated clients ignore the server of an operation');
  });

  it('knows the deployment that another process serves, by its public URL', async t => {
    const environment = {
      PETSTORE_STAGING_PORT: '',
      PETSTORE_STAGING_PUBLIC_URL: 'https://staging.example.org',
      PETSTORE_MESSAGES_PORT: '',
    };
    const alone = await serve({ environment });
    t.after(() => alone.stop());
    const address = new URL(alone.urls.production).origin;
    const { servers } = (await send(`${address}/openapi.json`)).body;
    assert.deepEqual(
      servers.map(({ url }: { url: string }) => url),
      [alone.urls.production, 'https://staging.example.org/v1'],
    );
    const { text } = await send(`${address}/reference/listPets`);
    assert.ok(text.includes('https://staging.example.org/v1/pets'));
    const message = (await send(`${address}/reference/sendMessage`)).text;
    assert.ok(message.includes('<code>https://staging.example.org/v1/messages</code>'));
  });

  it('does not exist for an unknown operation', async () => {
    for (const path of ['/reference/getNothing', '/reference/createPet.txt', '/reference/createPet.md.md']) {
      assert.equal((await get(path)).status, 404, path);
    }
  });

  it('says what all trial keys together can do, and what they cannot', async () => {
    const { text } = await send(`${origin}/reference/createPet`);
    const bounds = 'All trial keys together have at most 5,000 animals, 64 MiB of data and 1,200 requests a minute.';
    assert.ok(text.includes(bounds));
    for (const [operationId, action] of Object.entries({ importPets: 'import animals', addPhoto: 'upload photos' })) {
      const page = await send(`${origin}/reference/${operationId}`);
      assert.ok(page.text.includes(`A trial key cannot ${action}. This is a recorded request.`));
    }
    const { text: orders, headers } = await send(`${origin}/reference/listOrders`);
    assert.ok(!orders.includes('#try') && !orders.includes('id="try"'), 'neither a panel nor a link to one');
    assert.match(
      String(headers['content-security-policy']),
      new RegExp(`connect-src [^;]*${new URL(service.urls.messages).origin}`),
    );
  });

  it('folds what indexes mean for a list, and lists errors by status with one line each', async () => {
    const { text } = await send(`${origin}/reference/listPets`);
    assert.match(text, /<details class="shape"><summary>Limits of this list<\/summary><p>A list that no single index/);
    assert.match(text, /<span class="status">400<\/span> <a href="\/errors\/invalid_parameter">/);
  });

  it('shows names and texts of a search as text', async () => {
    const { text } = await send(`${origin}/reference?q=${encodeURIComponent('"><script>alert(1)</script>')}`);
    assert.ok(!text.includes('<script>alert'));
    assert.match(text, /0 operations/);
  });

  function get(path: string) {
    return send(origin + path, { headers: { 'Accept-Encoding': 'br' } });
  }
});

/** Returns the scripts that the script of “Try it” imports. */
function imports(assets: readonly string[]): string[] {
  const folder = assets[0]!.slice(0, assets[0]!.lastIndexOf('/') + 1);
  return ['trial-key.js', 'try-it-plan.js', 'try-it-request.js', 'try-it-result.js'].map(name => folder + name);
}

describe('a trial key', () => {
  it('opens staging with its scopes, 40 at a time per network, and is gone after 16 minutes', async t => {
    const clock = testClock(examplesAt);
    const service = await serve({ clock });
    t.after(() => service.stop());
    for (const deployment of ['production', 'staging'] as const) {
      const url = `${new URL(service.urls[deployment]).origin}/try/key`;
      const { status, body } = await send(url, { method: 'POST' });
      assert.equal(status, 201);
      assert.equal(body.expiresAt, '2026-11-21T12:15:00.000Z');
      const pets = `${service.urls.staging}/pets`;
      const created = await send(pets, { method: 'POST', key: body.token, body: { name: 'Mia', categoryId: 2 } });
      assert.deepEqual([created.status, created.headers['x-ratelimit-limit']], [201, '60']);
      assert.equal(
        (await send(`${service.urls.staging}/webhooks`, { key: body.token })).body.code,
        'insufficient_scope',
      );
      assert.equal((await send(`${service.urls.production}/pets`, { key: body.token })).body.code, 'wrong_deployment');
    }
    const url = `${new URL(service.urls.production).origin}/try/key`;
    const cross = await send(url, { method: 'POST', headers: { 'Sec-Fetch-Site': 'cross-site' } });
    assert.deepEqual([cross.status, cross.body.code], [403, 'cross_site_form']);
    for (let more = 0; more < 38; more++) assert.equal((await send(url, { method: 'POST' })).status, 201);
    const refused = await send(url, { method: 'POST' });
    assert.deepEqual(
      [refused.status, refused.body.code, refused.headers['retry-after']],
      [429, 'too_many_attempts', '60'],
    );
    assert.match(
      refused.body.message,
      /Your network has 40 trial keys\. Use a key of your own, or wait until one expires\. Try again in a minute\./,
    );
    assert.deepEqual(await listAccounts(service.app.databases.production), []);
    clock.advance(16 * 60_000);
    const left = async () => {
      const { text } = await send(`${service.urls.staging}/pets`, {
        key: await service.newKey({ deployment: 'staging' }),
      });
      return JSON.parse(text).length;
    };
    await waitUntil(async () => (await left()) === 0);
    assert.equal((await send(url, { method: 'POST' })).status, 201, 'afterwards');
  });
});

describe('the samples of the reference', () => {
  let store: ExampleStore;
  before(async () => {
    store = await openExampleStore();
  });
  after(() => store?.serving.stop());

  /** Some commands save a file. */
  const directory = temporaryDirectory();

  const read = routes.filter(
    route => route.method === 'GET' && !route.streams && mainExample(route)!.given === undefined,
  );

  for (const route of read) {
    it(`runs ${route.operationId} with curl as it is shown`, async () => {
      const command = codeOf('curl', route).replace(/^curl /, 'curl -s -w "\\n%{http_code}" ');
      const { stdout } = await run('sh', ['-c', command], { cwd: directory, env: environment(route) });
      assert.equal(stdout.split('\n').at(-1), String(mainExample(route)!.status), stdout);
    });
  }

  for (const operationId of ['createPet', 'createCategory', 'listPets', 'exportPetsAsCsv', 'getInventory']) {
    const route = routes.find(one => one.operationId === operationId)!;
    it(`runs ${operationId} in JavaScript`, async () => {
      const { stdout } = await run(process.execPath, ['--input-type=module', '-e', codeOf('javascript', route)], {
        env: environment(route),
      });
      assert.match(stdout, /^(\[|\{|Blob)/);
    });
  }

  it('are Python that compiles', { skip: !existsSync('/usr/bin/python3') && 'there is no Python' }, async () => {
    const all = routes.flatMap(route =>
      route.examples.map(one => languages[2]!.codeOf(sampleOf(route, one, store.baseUrl))),
    );
    const check = 'import ast, json, sys\nfor text in json.load(sys.stdin): ast.parse(text)\nprint("fine")';
    const child = run('/usr/bin/python3', ['-c', check]);
    child.child.stdin!.end(JSON.stringify(all));
    assert.equal((await child).stdout.trim(), 'fine');
  });

  function codeOf(language: string, route: Route<never>): string {
    const { codeOf } = languages.find(({ id }) => id === language)!;
    return codeOf(sampleOf(route, mainExample(route)!, store.baseUrl));
  }

  function environment(route: Route<never>) {
    return { PATH: process.env['PATH'], KEY: store.keys[mainExample(route)!.as ?? 'owner'] };
  }
});

describe('the Postman collection', () => {
  for (const route of routes) {
    it(`sends ${route.operationId} as imported`, async () => {
      const store = await openExampleStore();
      try {
        const example = mainExample(route)!;
        const { body } = await send(new URL('/collections/postman.json', store.baseUrl).href);
        const { method, url, header, body: content } = requestIn(body, route);
        await prepare(example, store);
        const path = url.path.map((part: string) => segmentOf(part, url.variable)).join('/');
        const query = url.query.filter(isOn).map(({ key, value }: Pair) => `${key}=${encodeURIComponent(value)}`);
        const variables: Pair[] = body.variable;
        const base = variables.find(({ key }) => url.host[0] === `{{${key}}}`)!.value;
        const response = await fetch(`${base}/${path}?${query.join('&')}`, {
          method,
          headers: {
            ...Object.fromEntries(header.filter(isOn).map(({ key, value }: Pair) => [key, value])),
            Authorization: `Bearer ${store.keys[example.as ?? 'owner']}`,
          },
          ...(content?.mode === 'file' && { body: Buffer.from(example.file!.base64, 'base64') }),
          ...(content?.mode === 'raw' && {
            body: content.raw.replaceAll('https://receiver.example', store.receiverUrl),
          }),
        });
        const said = response.ok ? '' : await response.text();
        await response.body?.cancel().catch(() => {});
        assert.equal(response.status, example.status, said);
      } finally {
        await store.serving.stop();
      }
    });
  }
});

interface Pair {
  readonly key: string;
  readonly value: string;
  readonly disabled?: boolean;
}

const isOn = ({ disabled }: Pair) => disabled !== true;

// biome-ignore lint/suspicious/noExplicitAny: the collection is read as it comes
function requestIn(collection: any, { tag, summary }: Route<never>): any {
  // biome-ignore lint/suspicious/noExplicitAny: likewise
  const named = (items: any[], name: string) => items.find(item => item.name === name);
  return named(named(collection.item, tag).item, summary).request;
}

function segmentOf(part: string, variables: readonly Pair[]): string {
  return part.startsWith(':') ? variables.find(({ key }) => key === part.slice(1))!.value : part;
}
