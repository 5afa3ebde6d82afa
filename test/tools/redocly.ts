import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { type Process, spawnService } from '../support/serving.ts';
import { installTools } from './tools.ts';

/** Redocly's strict rules refuse servers on localhost. */
const environment = {
  PETSTORE_PUBLIC_URL: 'https://api.petstore.test',
  PETSTORE_STAGING_PUBLIC_URL: 'https://staging.petstore.test',
  PETSTORE_MESSAGES_PUBLIC_URL: 'https://messages.petstore.test',
};

describe('Redocly with its strict rules', () => {
  let tools: string;
  let service: Process;
  let directory: string;

  before(async () => {
    tools = await installTools();
    directory = await mkdtemp(join(tmpdir(), 'petstore-redocly-'));
    service = await spawnService({ environment });
  });
  after(async () => {
    await service.stop();
    await service.remove();
    await rm(directory, { recursive: true, force: true });
  });

  for (const name of ['production', 'staging', 'messages'] as const) {
    test(`finds no error in the document of ${name}`, async t => {
      const file = join(directory, `${name}.json`);
      const response = await fetch(new URL('/openapi.json', service.urls[name]));
      await writeFile(file, await response.text());
      const redocly = join(tools, 'node_modules/@redocly/cli/bin/cli.js');
      const lint = spawnSync(
        process.execPath,
        [redocly, 'lint', '--extends', 'recommended-strict', '--format', 'json', file],
        {
          cwd: directory,
          encoding: 'utf8',
          env: { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' },
        },
      );
      const { totals, problems } = JSON.parse(lint.stdout);
      t.diagnostic(`errors ${totals.errors}, warnings ${totals.warnings}`);
      for (const problem of problems) t.diagnostic(`${problem.severity} ${problem.ruleId}: ${problem.message}`);
      assert.equal(totals.errors, 0);
    });
  }
});
