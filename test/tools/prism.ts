import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, describe, test } from 'node:test';
import { readConfig } from '../../src/model/config.ts';
import { configuredDocument } from '../../src/views/openapi.ts';
import { sendExamples } from '../support/examples.ts';
import { freePort } from '../support/free-port.ts';
import { installTools } from './tools.ts';

describe('Prism as a validating proxy in front of the service', () => {
  let directory: string;
  let prism: ChildProcess;
  /** Where every store of the examples listens, one after the other, and where Prism does. */
  let port: number;
  let through: string;

  before(async () => {
    const tools = await installTools();
    directory = await mkdtemp(join(tmpdir(), 'petstore-prism-'));
    const file = join(directory, 'openapi.json');
    port = await freePort();
    const config = readConfig({ PETSTORE_PORT: String(port) });
    await writeFile(file, JSON.stringify(await configuredDocument(config, 'production')));
    const own = await freePort();
    through = `http://127.0.0.1:${own}`;
    const cli = join(tools, 'node_modules/@stoplight/prism-cli/dist/index.js');
    const upstream = `http://localhost:${port}/v1`;
    prism = spawn(process.execPath, [cli, 'proxy', file, upstream, '--port', String(own)], { stdio: 'pipe' });
    for await (const line of createInterface(prism.stdout!)) if (/listening/i.test(line)) break;
    prism.stdout!.resume();
  });
  after(async () => {
    prism.kill();
    await once(prism, 'exit');
    await rm(directory, { recursive: true, force: true });
  });

  test('finds no answer that differs from the document', async t => {
    // Prism passes an answer on when it is over, and a stream is not. It never answers a body that it cannot parse.
    const sent = await sendExamples({
      port,
      through,
      where: (route, { code }) => code !== 'invalid_json' && (!route.streams || code !== undefined),
    });
    for (const { route, example, status, headers } of sent) {
      const label = `${route.operationId}, "${example.name}"`;
      const violations = JSON.parse(headers.get('sl-violations') ?? '[]') as { location: string[]; message: string }[];
      t.diagnostic(`${label}: ${status}, ${violations.length} remarks`);
      assert.equal(status, example.status, label);
      // What an example does wrong on purpose is the request's; the answer must be right.
      const ofTheAnswer = violations.filter(({ location }) => location[0] === 'response');
      assert.deepEqual(ofTheAnswer, [], label);
      if (example.code === undefined) assert.deepEqual(violations, [], label);
    }
  });
});
