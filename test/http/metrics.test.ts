import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { send, serve } from '../support/serving.ts';

describe('GET /metrics', () => {
  it('listens on loopback only, whatever the host of the API, unless PETSTORE_METRICS_HOST says otherwise', async t => {
    for (const [host, isOpen] of [
      [undefined, false],
      ['0.0.0.0', true],
    ] as const) {
      const service = await serve({
        environment: {
          PETSTORE_HOST: '0.0.0.0',
          PETSTORE_METRICS_PORT: '0',
          ...(host && { PETSTORE_METRICS_HOST: host }),
        },
      });
      t.after(() => service.stop());
      const { metrics = '' } = service.urls as { metrics?: string };
      assert.match((await send(metrics)).text, /petstore_counts_exact 1/);
      // An address of this machine that is not the one which 127.0.0.1 listens on.
      const other = (url: string) => send(url.replace('localhost', '127.0.0.2'));
      assert.equal((await other(service.urls.production)).status, 401);
      if (isOpen) assert.equal((await other(metrics)).status, 200);
      else await assert.rejects(other(metrics), { code: 'ECONNREFUSED' });
    }
  });
});
