import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import sdk from '../../sdk/package.json' with { type: 'json' };
import { PetStore } from '../../sdk/src/index.ts';
import { routes } from '../../src/views/api.ts';
import { builtSdk, bundle } from '../docs/sdk-build.ts';
import { sdkSources } from '../docs/sdk-source.ts';

const root = new URL('../../', import.meta.url);
const SIZE_MAX = 10_000;

describe('the client', () => {
  test('has a method for each operation, and only request and mirror besides', () => {
    const methods = Object.getOwnPropertyNames(PetStore.prototype).filter(name => name !== 'constructor');
    assert.deepEqual(methods.sort(), [...routes.map(({ operationId }) => operationId), 'mirror', 'request'].sort());
  });

  test('sends each operation to its method and path', async () => {
    for (const { operationId, method, path, parameters = {}, upload, body } of routes) {
      let sent: Request | undefined;
      const store = new PetStore({
        baseUrl: 'http://localhost/v1',
        apiKey: 'k',
        fetch: async (url, init) => {
          sent = new Request(url, init);
          // An error ends the event stream, which would reconnect after a success.
          return new Response('[]', { status: operationId === 'streamEvents' ? 410 : 200 });
        },
      });
      const call = (store as unknown as Record<string, (...values: unknown[]) => unknown>)[operationId]!;
      const ids = Object.keys(parameters).map((_, index) => index + 1);
      const result = call.call(store, ...ids, ...(upload ? [new Uint8Array(1)] : body ? [{}] : []));
      if (operationId === 'streamEvents')
        await (result as AsyncIterable<unknown>)
          [Symbol.asyncIterator]()
          .next()
          .catch(() => {});
      else await result;
      let count = 0;
      const expected = path.replaceAll(/\{\w+\}/g, () => String(++count));
      assert.deepEqual([sent?.method, new URL(sent!.url).pathname], [method, `/v1${expected}`], operationId);
    }
  });

  test('has the sources and files that `npm run docs` writes', async () => {
    for (const [path, text] of [...sdkSources(), ...(await builtSdk())]) {
      assert.ok(existsSync(new URL(path, root)), path);
      assert.ok(readFileSync(new URL(path, root), 'utf8') === text, `${path} is out of date. Run \`npm run docs\`.`);
    }
    const written = new Set((await builtSdk()).keys());
    assert.deepEqual(
      readdirSync(new URL('sdk/dist', root)).filter(name => !written.has(`sdk/dist/${name}`)),
      [],
    );
  });

  test(`has at most ${SIZE_MAX} bytes, minified`, t => {
    const bytes = Buffer.byteLength(bundle({ minify: true }));
    t.diagnostic(`${bytes} bytes minified`);
    assert.ok(bytes <= SIZE_MAX, String(bytes));
  });

  test('has no dependencies, and exports files that exist', () => {
    assert.ok(!('dependencies' in sdk) && !('peerDependencies' in sdk));
    const { types, default: code } = sdk.exports['.'];
    for (const path of [types, code]) assert.ok(existsSync(new URL(`sdk/${path}`, root)), path);
    assert.equal(Object.keys(sdk.exports['.'])[0], 'types');
  });
});
