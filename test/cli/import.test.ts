import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { type Environment, jsonOf, petstore, refused, textOf } from '../support/commands.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { waitUntil } from '../support/wait-until.ts';
import { onEachEngine } from './store-commands.ts';

const HEADER = 'externalId,name,categoryId,status';

async function fileWith(text: string, name = 'pets.csv'): Promise<string> {
  const file = join(temporaryDirectory(), name);
  await writeFile(file, text);
  return file;
}

async function petsOf(here: Environment, account: string, ...options: string[]): Promise<{ externalId: string }[]> {
  const text = await textOf(here, 'export', account, '--format', 'ndjson', ...options);
  return text
    .split('\n')
    .filter(line => line !== '')
    .map(line => JSON.parse(line));
}

/** More animals than an import adds before it is noticed, and fewer than a plan allows. */
const MANY = 4000;

function manyAnimals(prefix: string): string {
  const rows = Array.from({ length: MANY }, (_, index) => `${prefix}-${index},Bella,1,available\n`);
  return `${HEADER}\n${rows.join('')}`;
}

/** Starts an import in a process of its own, and waits until the account has more animals than before. */
async function startImport(here: Environment, account: string, file: string, before: number) {
  const main = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url));
  const child = spawn(process.execPath, [main, 'import', account, file], { env: { ...process.env, ...here } });
  let printed = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', text => {
      printed += text;
    });
  }
  const ended = once(child, 'close');
  await waitUntil(async () => (await petsOf(here, account)).length > before);
  return { child, ended, printed: () => printed };
}

onEachEngine(environment => {
  it('adds and changes the animals of one account and deployment, in each format', async () => {
    const here = environment();
    const file = await fileWith(`${HEADER}\nA-1,Bella,1,available\nA-2,Milo,2,available\n`);
    const tried = await textOf(here, 'import', '1', file, '--dry-run');
    assert.match(tried, /^Dry run, nothing was changed: 2 created, 0 updated/);
    assert.deepEqual(await petsOf(here, '1'), []);
    const { state, created, failed } = await jsonOf(here, 'import', '1', file);
    assert.deepEqual([state, created, failed], ['completed', 2, 0]);
    const lines = await fileWith('{"externalId":"A-1","name":"Bello"}\n', 'pets.ndjson');
    assert.match(await textOf(here, 'import', '1', lines), /^Import \d+: 0 created, 1 updated, 0 unchanged/);
    await textOf(here, 'import', '1', file, '--deployment', 'staging');
    assert.equal((await petsOf(here, '1', '--deployment', 'staging')).length, 2);
    assert.equal((await petsOf(here, '1')).length, 2);
    assert.deepEqual(await petsOf(here, '2'), []);
  });

  it('exits with 1 and prints the line, column and message of each error', async () => {
    const here = environment();
    const file = await fileWith(`${HEADER}\nB-1,Bella,1,available\nB-2,Milo,2,lost\n`);
    const { code, printed } = await petstore(here, 'import', '2', file);
    assert.equal(code, 1);
    assert.match(printed, /^Line 3, status: .+\n/);
    assert.match(printed, /\nImport \d+: 1 created, .* 1 failed; 0 warnings\.\n$/);
  });

  it('deletes more than a fifth of the animals only if their number is confirmed', async () => {
    const here = environment();
    await jsonOf(here, 'import', '2', await fileWith(`${HEADER}\nB-1,Bella,1,available\nB-3,Leo,1,available\n`));
    const file = await fileWith(`${HEADER}\nB-1,Bella,1,available\n`);
    const { code, printed } = await petstore(here, 'import', '2', file, '--mode', 'replace');
    assert.equal(code, 1);
    assert.match(printed, /add --confirm-removals 1\./);
    const { removed } = await jsonOf(here, 'import', '2', file, '--mode', 'replace', '--confirm-removals', '1');
    assert.equal(removed, 1);
  });

  it('is canceled by Ctrl-C, and does the rest when it runs again', async () => {
    const here = environment();
    const before = (await petsOf(here, '2')).length;
    const file = await fileWith(manyAnimals('C'));
    const { child, ended, printed } = await startImport(here, '2', file, before);
    child.kill('SIGINT');
    assert.deepEqual(await ended, [1, null]);
    assert.match(
      printed(),
      /The import was canceled\. The changes so far stay; run the command again to import the rest\./,
    );
    const [, created] = /Import \d+: (\d+) created/.exec(printed())!;
    assert.equal((await petsOf(here, '2')).length, before + Number(created));
    const again = await jsonOf(here, 'import', '2', file);
    assert.deepEqual([again.created, again.unchanged], [MANY - Number(created), Number(created)]);
  });

  it('is completed by the next one after a kill, without a server', async () => {
    const here = environment();
    const before = (await petsOf(here, '2')).length;
    const { child, ended } = await startImport(here, '2', await fileWith(manyAnimals('D')), before);
    child.kill('SIGKILL');
    assert.deepEqual(await ended, [null, 'SIGKILL']);
    assert.ok((await petsOf(here, '2')).length < before + MANY);
    const text = await textOf(here, 'import', '2', await fileWith(`${HEADER}\nB-1,Bella,1,sold\n`));
    assert.match(text, /^Import \d+, which was interrupted, was completed first\.\nImport \d+: 0 created, 1 updated/);
    const ids = (await petsOf(here, '2')).map(({ externalId }) => externalId);
    assert.deepEqual([ids.length, new Set(ids).size], [before + MANY, before + MANY]);
  });

  it('rejects unknown accounts and what is no file of animals, and changes nothing', async () => {
    const here = environment();
    const before = await petsOf(here, '2');
    const file = await fileWith('shape,size\nround,2\n');
    await refused(here, /no account 99/, 'import', '99', file);
    await refused(here, /cannot be read/, 'import', '2', join(temporaryDirectory(), 'absent.csv'));
    await refused(here, /is a directory/, 'import', '2', temporaryDirectory());
    await refused(here, /^Line 1: /, 'import', '2', file);
    await refused(here, /^Line 2: /, 'import', '2', await fileWith(`${HEADER}\nB-9,"Bella,1,available\n`));
    const { code, errors } = await petstore(here, 'import', '2', file, '--currency', 'euro');
    assert.deepEqual([code, errors.includes('--currency must be')], [2, true]);
    assert.deepEqual(await petsOf(here, '2'), before);
  });
});
