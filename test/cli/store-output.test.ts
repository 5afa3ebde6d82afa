import assert from 'node:assert/strict';
import { before, it } from 'node:test';
import { widthOf } from '../../src/cli/terminal.ts';
import { query } from '../../src/model/schema.ts';
import { createPet } from '../../src/store/pets/pets.ts';
import { type Environment, jsonOf, petstore, refused, textOf } from '../support/commands.ts';
import { addPet, onData, onEachEngine, type PetOptions } from './store-commands.ts';

onEachEngine(environment => {
  let here: Environment;
  before(() => {
    here = environment();
  });

  const newPet = (overrides: PetOptions = {}) => addPet(here, overrides);

  it('prints what to do next when a list is empty', async () => {
    for (const [args, sentence] of [
      [['pet', 'list'], /^There are no animals; `petstore pet create .*--deployment staging\.\n$/],
      [['pet', 'list', '--deployment', 'staging'], /^There are no animals; `petstore staging reset`/],
      [['pet', 'list', '--status', 'sold'], /^There are no such animals; `petstore pet list`/],
      [['hold', 'list'], /^There are no holds; /],
      [['hold', 'list', '--status', 'active'], /^There are no such holds; /],
      [['hold', 'list', '--status', 'active,used'], /^There are no such holds; /],
      [['webhook', 'list'], /^There are no webhooks; /],
      [['order', 'list'], /^There are no orders; `petstore order place /],
      [['order', 'list', '--pet', '7'], /^There are no such orders; /],
      [['order', 'list', '--status', 'placed,approved'], /^There are no such orders; /],
      [['pet', 'list', '--id', '1,2'], /^There are no such animals; /],
      [['category', 'list', '--placeholders'], /^There are no such categories; /],
      [['message', 'list'], /^There are no messages; /],
      [['message', 'list', '--account', 'store'], /^There are no such messages; /],
    ] as const) {
      assert.match(await textOf(here, ...args), sentence);
      assert.deepEqual(await jsonOf(here, ...args), []);
    }
  });

  it('continues a long list at a cursor, without gaps or repetitions', async () => {
    await onData(here, 'staging', async database => {
      await database.write(async tx => {
        for (let count = 0; count < 250; count++) {
          const status = count % 5 === 0 ? 'sold' : 'available';
          await createPet(tx, 1, { name: `Rex ${count}`, categoryId: 7, status }, 'open');
        }
      });
    });
    const list = ['pet', 'list', '--deployment', 'staging', '--category', '7'];
    const first = await petstore(here, ...list, '--limit', '230', '--json');
    const cursor = /^There are more: run the same command with (--cursor=\S+) to continue\.\n$/.exec(first.errors)![1]!;
    const second = await petstore(here, ...list, '--limit', '230', cursor, '--json');
    assert.equal(second.errors, '');
    const ids = [first, second].flatMap(({ printed }) => JSON.parse(printed).map((pet: { id: number }) => pet.id));
    assert.deepEqual([ids.length, new Set(ids).size], [250, 250]);
    const sold = await jsonOf(here, ...list, '--status', 'sold', '--limit', '1000');
    assert.equal(sold.length, 50);
    const both = await jsonOf(here, ...list, '--status', 'sold,pending,sold', '--limit', '1000');
    assert.deepEqual(both, sold);
    const every = await jsonOf(here, ...list, '--status', 'sold,pending', '--status', 'available', '--limit', '1000');
    assert.equal(every.length, 250);
    const some = await jsonOf(here, ...list, '--id', `${ids[3]},${ids[249]}`, '--id', `${ids[0]}`);
    assert.deepEqual(
      some.map((pet: { id: number }) => pet.id),
      [ids[0], ids[3], ids[249]],
    );
    await refused(here, /^--cursor must be/, ...list, '--status', 'sold', cursor);
  });

  it('aligns names in every script', async () => {
    for (const name of ['小雪', '🐈‍⬛ Luna', 'Änn', 'Rex']) await newPet({ name, category: '6' });
    const lines = (await textOf(here, 'pet', 'list', '--category', '6')).trimEnd().split('\n');
    // Where the third column begins, on a terminal.
    const beginnings = lines.map(line => widthOf(/^.*?(?=(?:CATEGORY|6 {8}) )/.exec(line)![0]));
    assert.deepEqual([lines.length, new Set(beginnings).size], [5, 1]);
  });

  it('escapes control characters in stored text', async () => {
    const { id } = await newPet({ reason: 'x', category: '5' });
    const message = await jsonOf(here, 'message', 'send', '--to', '1', '--message', HOSTILE);
    await onData(here, 'production', database => database.write(tx => tx.run(spoil, {})));
    for (const args of [
      ['pet', 'list'],
      ['pet', 'show', String(id)],
      ['category', 'list'],
      ['category', 'show', '5'],
      ['category', 'merge', '5', '--into', '4'],
      ['pet', 'delete', String(id)],
      ['pet', 'show', String(id), '--history'],
      ['message', 'list'],
      ['message', 'show', message.id],
    ]) {
      for (const json of [[], ['--json']]) {
        const { printed, errors } = await petstore(here, ...args, ...json);
        assert.doesNotMatch(printed.replaceAll('\n', '') + errors.replaceAll('\n', ''), /[\p{Cc}\u202a-\u202e]/u);
      }
    }
    assert.equal((await jsonOf(here, 'pet', 'list', '--limit', '1'))[0].name, HOSTILE);
  });
});

/** Stores a name that the API rejects. */
const spoil = query(db => db.updateTable('pets').set({ name: HOSTILE }));
const HOSTILE = '\u001b[2J\u009b31m\u202eRex\u0007';
