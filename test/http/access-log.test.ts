import assert from 'node:assert/strict';
import { once } from 'node:events';
import { describe, it } from 'node:test';
import { newProcessKey, send, serve, spawnService } from '../support/serving.ts';
import { waitUntil } from '../support/wait-until.ts';

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';

describe('the access log', () => {
  it('has a line for every request of the API and of the pages, without secrets', async t => {
    const service = await serve({ environment: { PETSTORE_ACCESS_LOG: 'true' } });
    t.after(() => service.stop());
    const key = await service.newKey();
    const { production } = service.urls;
    const { origin } = new URL(production);
    const headers = { traceparent: `00-${traceId}-00f067aa0ba902b7-01` };
    await send(`${production}/pets?status=available&token=${key.token}`, { key, headers });
    await send(`${production}/pets/${key.token}`, { key });
    await send(`${production}/${key.token}`, { key });
    await send(`${production}/pets`);
    await send(`${origin}/livez`);
    await send(`${origin}/links/${key.token}`, { headers: { accept: 'text/html' } });
    const lines = service.lines.map(line => JSON.parse(line)).filter(({ msg }) => msg === 'request');
    const deployment = 'production';
    const keyId = key.id;
    const operation = 'listPets';
    assert.deepEqual(
      lines.map(({ time: _, durationMs, requestId, level, msg, method, ...line }) => {
        assert.ok(durationMs > 0 && durationMs < 60_000 && requestId !== '');
        assert.deepEqual([level, msg, method], ['info', 'request', 'GET']);
        return line;
      }),
      [
        { deployment, operation, path: '/v1/pets?status=available', status: 200, keyId, traceId },
        { deployment, operation: 'getPet', path: '/v1/pets/{petId}', status: 404, code: 'pet_not_found', keyId },
        { deployment, status: 404, code: 'route_not_found', keyId },
        { deployment, operation, path: '/v1/pets', status: 401, code: 'missing_api_key' },
        { deployment, path: '/livez', status: 200 },
        { deployment, path: '/links/{secret}', status: 410 },
      ],
    );
    assert.ok(!service.lines.join('').includes(key.token));
  });

  it('is written to standard output', async t => {
    const service = await spawnService({ environment: { PETSTORE_ACCESS_LOG: 'true', PETSTORE_LOG_LEVEL: 'error' } });
    t.after(() => service.remove());
    t.after(() => service.stop());
    let printed = '';
    service.child.stdout!.setEncoding('utf8').on('data', text => {
      printed += text;
    });
    await send(`${new URL(service.urls.production).origin}/livez`);
    await waitUntil(() => printed.includes('"path":"/livez"'));
    const [line] = printed.trim().split('\n');
    assert.equal(JSON.parse(line!).status, 200);
    assert.equal((await service.stop()).code, 0);
    assert.equal(service.log(), '');
  });

  it('is dropped while nobody reads it: the server serves on, and counts the lines', async t => {
    const environment = { PETSTORE_ACCESS_LOG: 'true', PETSTORE_METRICS_PORT: '0' };
    const service = await spawnService({ environment });
    t.after(() => service.remove());
    t.after(() => service.stop());
    service.child.stdout!.removeAllListeners('data').pause();
    const key = await newProcessKey(service);
    const { metrics } = service.urls as unknown as { metrics: string };
    const dropped = async () =>
      Number(/^petstore_access_log_dropped_total (\d+)$/m.exec((await send(metrics)).text)?.[1]);
    const url = `${service.urls.production}/pets?name=${'x'.repeat(150)}`;
    await waitUntil(async () => {
      const replies = await Promise.all(Array.from({ length: 300 }, () => send(url, { key })));
      assert.ok(replies.some(({ status }) => status < 500));
      return (await dropped()) > 0;
    });
    const exited = once(service.child, 'exit');
    service.child.kill('SIGTERM');
    assert.deepEqual((await exited)[0], 0);
  });
});

describe('the log', () => {
  it('has the warnings of Node.js as lines of JSON', async t => {
    const script = `process.on('SIGUSR2', () => process.emitWarning('Something is old.', 'DeprecationWarning'))`;
    const environment = { NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(script)}` };
    const service = await spawnService({ environment });
    t.after(() => service.remove());
    t.after(() => service.stop());
    service.child.kill('SIGUSR2');
    await waitUntil(() => service.log() !== '');
    const [line] = service.log().trim().split('\n');
    const { level, msg, warning } = JSON.parse(line!);
    assert.deepEqual([level, msg, warning], ['warn', 'Something is old.', 'DeprecationWarning']);
  });
});
