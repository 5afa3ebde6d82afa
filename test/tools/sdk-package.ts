import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { installTools } from './tools.ts';

const run = promisify(execFile);
const sdk = new URL('../../sdk', import.meta.url).pathname;

describe('the package of the SDK', () => {
  let tools: string;
  let directory: string;
  let tarball: string;
  before(async () => {
    tools = join(await installTools(), 'node_modules/.bin');
    directory = await mkdtemp(join(tmpdir(), 'petstore-sdk-'));
    const { stdout } = await run('npm', ['pack', '--json', '--pack-destination', directory], { cwd: sdk });
    const [{ filename }] = JSON.parse(stdout) as [{ filename: string }];
    tarball = join(directory, filename);
  });
  after(() => rm(directory, { recursive: true }));

  test('has no mistakes that publint knows', async () => {
    assert.match((await run(join(tools, 'publint'), [tarball, '--strict'])).stdout, /All good/);
  });

  // CommonJS programs load it with `import()`.
  test('resolves for every kind of program, as arethetypeswrong checks', async () => {
    await run(join(tools, 'attw'), [tarball, '--profile', 'esm-only']);
  });
});
