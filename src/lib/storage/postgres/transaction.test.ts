import assert from 'node:assert/strict';
import { describe, it, mock } from 'node:test';
import pg from 'pg';
import { type Engine, onPostgres } from '../../../../test/support/engines.ts';
import type { Database } from '../database.ts';
import type { Migration } from '../migration.ts';
import { createQueryFactory, type Params } from '../query.ts';

onPostgres(engine => {
  describe('Transaction.queue', () => {
    it('sends a statement with the next one that returns a result, and the last ones with the commit', async t => {
      const database = await openNotes(engine);
      const roundTrips = mock.method(pg.Client.prototype, 'query').mock;
      t.after(() => mock.restoreAll());
      await database.write(async tx => {
        tx.queue(add, { text: 'one' });
        tx.queue(add, { text: 'two' });
        assert.equal((await tx.first(named, { text: 'one' }))?.text, 'one');
        tx.queue(remove, { text: 'two' });
        tx.queue(add, { text: 'three' });
      });
      assert.equal(roundTrips.callCount(), 2);
      assert.deepEqual(await textsIn(database), ['one', 'three']);
    });

    it('sends reads that are awaited together in one round trip', async t => {
      const database = await openNotes(engine);
      const roundTrips = mock.method(pg.Client.prototype, 'query').mock;
      t.after(() => mock.restoreAll());
      await database.write(async tx => {
        await Promise.all(['one', 'two', 'three'].map(name => tx.first(named, { text: name })));
        assert.equal(roundTrips.callCount(), 1);
      });
    });

    it('fails the transaction and the statements after a queued one that fails', async () => {
      const database = await openNotes(engine);
      await database.write(tx => tx.run(add, { text: 'one' }));
      const isDuplicate = { code: '23505' };
      const ended = database.write(async tx => {
        tx.queue(add, { text: 'two' });
        tx.queue(add, { text: 'one' });
      });
      await assert.rejects(ended, isDuplicate);
      const caught = database.write(async tx => {
        tx.queue(add, { text: 'one' });
        await assert.rejects(async () => tx.first(named, { text: 'one' }), isDuplicate);
      });
      await assert.rejects(caught, isDuplicate);
      assert.deepEqual(await textsIn(database), ['one']);
      // The connection works, and the statements that did not run can be prepared.
      await database.write(tx => tx.queue(add, { text: 'two' }));
      assert.deepEqual(await textsIn(database), ['one', 'two']);
    });

    it('fails the transaction with the error of a check, before the commit', async () => {
      const database = await openNotes(engine);
      const none = new Error('no row');
      const requireOne = (rows: number) => {
        if (rows === 0) throw none;
      };
      const write = (name: string) =>
        database.write(async tx => {
          tx.queue(add, { text: `${name} deleted` });
          tx.queue(remove, { text: name }, requireOne);
        });
      await assert.rejects(write('absent'), none);
      assert.deepEqual(await textsIn(database), []);
      await database.write(tx => tx.run(add, { text: 'one' }));
      await write('one');
      assert.deepEqual(await textsIn(database), ['one deleted']);
    });
  });
});

interface Tables {
  notes: { text: string };
}

const query = createQueryFactory<Tables>();
const add = query((db, p: Params<{ text: string }>) => db.insertInto('notes').values({ text: p.text }));
const remove = query((db, p: Params<{ text: string }>) => db.deleteFrom('notes').where('text', '=', p.text));
const named = query((db, p: Params<{ text: string }>) =>
  db.selectFrom('notes').select('text').where('text', '=', p.text),
);
const all = query(db => db.selectFrom('notes').select('text').orderBy('text'));

const migrations: Migration[] = [
  { name: '0001-notes', up: ({ text, end }) => [`create table notes (text ${text} not null unique) ${end}`] },
];

async function openNotes(engine: Engine): Promise<Database> {
  return engine.open({ role: 'cli', location: await engine.newLocation({ empty: true }), migrations });
}

const textsIn = async (database: Database) => (await database.all(all, {})).map(({ text }) => text);
