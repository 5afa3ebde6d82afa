import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { describe, it, type TestContext } from 'node:test';
import { promisify } from 'node:util';
import { freePort } from '../support/free-port.ts';
import { spawnService } from '../support/serving.ts';

const launcher = new URL('../../bin/petstore', import.meta.url).pathname;
const ready = '{"status":"ready"}';

/** Runs `petstore health` with the port of production, and returns its exit code and output. */
async function health(port: number | string, ...args: string[]) {
  const env = { ...process.env, PETSTORE_PORT: String(port) };
  const failed = (error: { code: number; stdout: string; stderr: string }) => error;
  const {
    code = 0,
    stdout,
    stderr,
  } = await promisify(execFile)(launcher, ['health', ...args], { env }).then(
    output => ({ ...output, code: 0 }),
    failed,
  );
  return { code, stdout, stderr };
}

/** Listens with these responses to `/readyz`, the last one for all further requests. */
async function listen(t: TestContext, port: number, ...responses: readonly [status: number, body: string][]) {
  let requests = 0;
  const server = createServer((request, response) => {
    assert.equal(request.url, '/readyz');
    const [status, body] = responses[Math.min(requests++, responses.length - 1)]!;
    response.writeHead(status).end(body);
  });
  t.after(() => server.close());
  server.listen(port);
  await once(server, 'listening');
  return () => requests;
}

describe('petstore health', () => {
  it('exits with 0 while the server is ready, and with 1 once it has stopped', async t => {
    const port = await freePort();
    const service = await spawnService({ environment: { PETSTORE_PORT: String(port), PETSTORE_HOST: '0.0.0.0' } });
    t.after(async () => {
      await service.stop();
      await service.remove();
    });
    const { code, stdout } = await health(port, '--json');
    assert.deepEqual([code, JSON.parse(stdout).status], [0, 'ready']);
    await service.stop();
    const stopped = await health(port);
    assert.deepEqual([stopped.code, stopped.stdout], [1, '']);
    assert.match(stopped.stderr, /\/readyz cannot be reached \(ECONNREFUSED\)\.\n$/);
  });

  it('exits with 1 while the server is not ready, and says why', async t => {
    const port = await freePort();
    await listen(t, port, [503, '{"status":"stopping"}']);
    const { code, stderr } = await health(port);
    assert.equal(code, 1);
    assert.match(stderr, /\/readyz returned 503: \{"status":"stopping"\}\.\n$/);
  });

  it('with --wait asks again until the server is ready', async t => {
    const port = await freePort();
    const requests = await listen(t, port, [503, ''], [503, ''], [200, ready]);
    assert.deepEqual(await health(port, '--wait', '60s'), { code: 0, stdout: 'The server is ready.\n', stderr: '' });
    assert.equal(requests(), 3);
  });

  it('rejects a port that is not fixed, and an invalid duration', async () => {
    const free = await health(0);
    assert.deepEqual([free.code, free.stderr.includes('PETSTORE_PORT')], [1, true]);
    const invalid = await health(8080, '--wait', 'soon');
    assert.deepEqual([invalid.code, invalid.stderr.includes('--wait must be a duration')], [2, true]);
  });
});
