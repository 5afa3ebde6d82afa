import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, describe, test } from 'node:test';
import {
  blocksOf,
  commandsOf,
  type FirstServer,
  readPage,
  skip,
  startFirstServer,
} from '../support/pages-as-scripts.ts';
import { withoutProgram } from '../support/programs.ts';

const [guide, quickstart, events] = (await Promise.all(
  ['docs/sdk.md', 'docs/quickstart.md', 'docs/events.md'].map(readPage),
)) as [string, string, string];

describe('the programs of the guides that use the SDK', { skip }, () => {
  let server: FirstServer;
  before(async () => {
    server = await startFirstServer();
    // The packages of a project are in its directory, not in one above it.
    await writeFile(join(server.directory, 'package.json'), '{"private":true}');
  });
  after(async () => {
    assert.deepEqual(await server.stop(), [0, null]);
  });

  const staging = () => /Staging +http:\/\/([^/\s]+)/.exec(server.printed)![1]!;

  /** Saves a block under the name that the text before it gives. */
  async function save(page: string, file: string): Promise<void> {
    const after = page.slice(page.indexOf(`as \`${file}\``));
    const { text } = blocksOf(after).find(({ language }) => language === 'js' || language === 'py')!;
    await writeFile(join(server.directory, file), text.replaceAll('localhost:8081', staging()));
  }

  const command = (page: string, pattern: RegExp) => commandsOf(page).find(line => pattern.test(line))!;

  test('docs/sdk.md installs the package and runs its programs', async () => {
    await server.run(command(guide, /petstore-[\d.]+\.tgz$/));
    await server.run(command(guide, /^npm install/).replace('install', 'install --offline --no-audit --no-fund'));
    await save(guide, 'pets.mjs');
    await save(guide, 'errors.mjs');
    const pets = await server.run(command(guide, /node pets\.mjs/));
    assert.match(pets, /^Added Mia with id \d+\.\n5 of \d+ available animals\.\n\d+ cats on all pages\.\n$/);
    assert.equal(await server.run(command(guide, /node errors\.mjs/)), '404 pet_not_found\n');
  });

  test('docs/sdk.md runs its program in Python', { skip: withoutProgram('python3') }, async () => {
    await server.run(command(guide, /petstore\.py$/));
    await save(guide, 'pets.py');
    const printed = await server.run(command(guide, /python3 pets\.py/));
    assert.match(printed, /^1 Bella\n/);
    assert.match(printed, /\n404 pet_not_found\n$/);
  });

  test('docs/quickstart.md lists the available cats', async () => {
    await server.run(command(quickstart, /petstore\.mjs/));
    await save(quickstart, 'pets.mjs');
    assert.match(await server.run(command(quickstart, /node pets\.mjs/)), /^(\d+ .+\n){20,}$/);
  });

  test('docs/events.md prints a new order', async t => {
    await server.run(command(events, /petstore\.mjs/));
    await save(events, 'orders.mjs');
    await server.run(
      `curl -sSf -H "Authorization: Bearer $KEY" -H "Content-Type: application/json" -d '{"petId":39}' http://localhost:8081/v1/store/orders`,
    );
    const KEY = /petstore_test_\w+/.exec(server.printed)![0];
    const program = spawn('node', ['orders.mjs', 'evt_1'], { cwd: server.directory, env: { ...process.env, KEY } });
    t.after(() => program.kill());
    const [line] = await once(createInterface(program.stdout), 'line');
    assert.match(line, /^evt_\d+ \{$/);
  });
});
