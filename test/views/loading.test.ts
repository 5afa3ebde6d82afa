import assert from 'node:assert/strict';
import { registerHooks } from 'node:module';
import { test } from 'node:test';

const loaded: string[] = [];
registerHooks({
  load(url, context, next) {
    loaded.push(url);
    return next(url, context);
  },
});
const isLoaded = (path: string) => loaded.some(url => url.includes(path));

test('the views, MCP and the files of the SDK are loaded with the first request for them', async () => {
  const { serve } = await import('../support/serving.ts');
  const service = await serve();
  try {
    const { origin } = new URL(service.urls.staging);
    const requests = {
      '/src/views/mcp/': '/mcp',
      '/src/views/petfinder/': '/petfinder/v2/types',
      '/src/views/classic/': '/v2/pet/1',
      '/src/web/sdk.ts': '/sdk/petstore.js',
    };
    await fetch(`${service.urls.staging}/pets`);
    for (const [path, request] of Object.entries(requests)) {
      assert.ok(!isLoaded(path), `${path} before its request`);
      await (await fetch(origin + request, { redirect: 'manual' })).arrayBuffer();
      assert.ok(isLoaded(path), `${path} after its request`);
    }
  } finally {
    await service.stop();
  }
});
