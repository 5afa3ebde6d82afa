import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { after, before, describe, test } from 'node:test';
import { type Process, send, spawnService } from '../support/serving.ts';
import { plentifulKey } from './tools.ts';

const isInstalled = spawnSync('promtool', ['--version']).error === undefined;

describe('promtool', { skip: isInstalled ? false : 'left out: promtool is missing (package prometheus)' }, () => {
  let service: Process;

  before(async () => {
    service = await spawnService({ environment: { PETSTORE_METRICS_PORT: '0' } });
  });
  after(async () => {
    await service.stop();
    await service.remove();
  });

  test('finds nothing to improve in the metrics', async () => {
    const key = await plentifulKey(service, 'production');
    await send(`${service.urls.production}/pets`, { key });
    await send(`${service.urls.production}/nothing`, { key });
    const { text } = await send((service.urls as unknown as { metrics: string }).metrics);
    assert.match(text, /^petstore_http_errors_total/m);
    const check = spawnSync('promtool', ['check', 'metrics'], { input: text, encoding: 'utf8' });
    assert.deepEqual([check.status, check.stdout + check.stderr], [0, '']);
  });
});
