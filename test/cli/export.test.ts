import assert from 'node:assert/strict';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { it } from 'node:test';
import { jsonOf, petstore, refused, textOf } from '../support/commands.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { addPet, onEachEngine } from './store-commands.ts';

onEachEngine(environment => {
  it('exports the animals of one account and deployment, in each format and in the columns of another program', async () => {
    const here = environment();
    await addPet(here, { name: 'Zoë, "Zo"' });
    await addPet(here, { account: '2', name: 'Other' });
    await addPet(here, { deployment: 'staging', name: 'Staged' });
    const [names, pet, ...rest] = (await textOf(here, 'export', '1')).split('\n');
    assert.match(names!, /^id,.*\bname\b/);
    assert.match(pet!, /"Zoë, ""Zo"""/);
    assert.deepEqual(rest, ['']);
    const lines = (await textOf(here, 'export', '1', '--format', 'ndjson')).trimEnd().split('\n');
    assert.deepEqual(
      lines.map(line => JSON.parse(line).name),
      ['Zoë, "Zo"'],
    );
    assert.match(
      await textOf(here, 'export', '1', '--preset', 'petfinder'),
      /^ID,Internal,AnimalName,.*\r\n(\d+),\1,"Zoë/,
    );
    const staged = await textOf(here, 'export', '1', '--deployment', 'staging', '--format', 'ndjson');
    assert.equal(JSON.parse(staged).name, 'Staged');
  });

  it('shows its progress', async () => {
    const here = environment();
    const account = String((await jsonOf(here, 'account', 'create', '--email', 'many@example.org', '--name', 'M')).id);
    const file = join(temporaryDirectory(), 'pets.csv');
    const progressOf = async (...args: string[]) => (await petstore(here, ...args)).progress;
    assert.deepEqual(await progressOf('export', account, '--output', file), []);
    await writeFile(
      file,
      `externalId,name,categoryId\n${Array.from({ length: 150 }, (_, n) => `${n},Minka,2\n`).join('')}`,
    );
    assert.ok((await progressOf('import', account, file)).includes('Importing 50 %'));
    assert.deepEqual(await progressOf('export', account, '--output', file), ['Exporting 66 %', 'Exporting 100 %']);
    assert.deepEqual(await progressOf('export', account), []);
    assert.deepEqual(await progressOf('export', account, '--output', file, '--json'), []);
  });

  it('replaces the file of --output, and nothing that is no file', async () => {
    const here = environment();
    const directory = temporaryDirectory();
    const file = join(directory, 'pets.csv');
    await writeFile(file, 'old');
    const printed = await textOf(here, 'export', '2');
    assert.deepEqual(await jsonOf(here, 'export', '2', '--output', file), { file, bytes: Buffer.byteLength(printed) });
    assert.equal(await readFile(file, 'utf8'), printed);
    await refused(here, /is not a file/, 'export', '2', '--output', directory);
    await refused(here, /cannot be written/, 'export', '2', '--output', join(directory, 'absent', 'pets.csv'));
    await refused(here, /no account 99/, 'export', '99', '--output', file);
    assert.equal(await readFile(file, 'utf8'), printed);
    assert.deepEqual(await readdir(directory), ['pets.csv']);
  });
});
