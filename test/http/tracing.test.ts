import assert from 'node:assert/strict';
import { it } from 'node:test';
import { revokeKey } from '../../src/access/keys/keys.ts';
import { send, serve } from '../support/serving.ts';

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
const traced = { 'x-request-id': 'request-1', traceparent: `00-${traceId}-00f067aa0ba902b7-01` };

it('logs refused and failed requests with the id of their trace', async t => {
  const service = await serve();
  t.after(() => service.stop());
  const { production } = service.app.databases;
  const [key, revoked] = [await service.newKey(), await service.newKey()];
  await production.write(tx => revokeKey(tx, revoked.id));
  const url = `${service.urls.production}/pets`;
  assert.equal((await send(url, { key: revoked, headers: traced })).status, 401);
  await production.close();
  assert.equal((await send(url, { key, headers: traced })).status, 503);
  const lines = service.lines.map(line => JSON.parse(line)).filter(({ requestId }) => requestId === 'request-1');
  assert.deepEqual(
    lines.map(({ level, code, traceId }) => [level, code, traceId]),
    [
      ['warn', 'revoked_api_key', traceId],
      ['error', 'shutting_down', traceId],
    ],
  );
});
