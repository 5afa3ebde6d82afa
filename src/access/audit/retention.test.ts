import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { onEachEngine, onPostgres } from '../../../test/support/engines.ts';
import { testClock } from '../../lib/clock.ts';
import { DAY_MS } from '../../lib/time.ts';
import { factNamed, insertFact, storeFact } from '../../model/facts.ts';
import { operator } from '../../model/log/event.ts';
import { eventsOf } from '../../model/log/log.ts';
import { type Database, query, sql } from '../../model/schema.ts';
import { retentionJob } from '../../operate/retention.ts';
import { createPet } from '../../store/pets/pets.ts';
import { listAuditEntries } from './list.ts';
import { convertErasure, eraseOrigins } from './retention.ts';

const YEAR = 365 * DAY_MS;
const cat = { name: 'Minka', categoryId: 2 };

onEachEngine(engine => {
  describe('retention of the audit log', () => {
    it('erases the origins of changes after a year, a hundred at a time, and keeps the events', async () => {
      const clock = testClock(Date.parse('2026-11-21T12:00:00Z'));
      const database = await engine.open({ clock });
      for (let pet = 1; pet <= 250; pet++) {
        if (pet === 241) clock.advance(DAY_MS);
        await database.write(tx => createPet(tx, 1, cat, 'open'), request(`r${pet}`));
      }
      clock.advance(YEAR - DAY_MS - 1);
      assert.deepEqual(await retain(database), []);
      assert.equal(await entries(database), 250);

      clock.advance(1);
      assert.deepEqual(await retain(database), [100, 100, 40]);
      assert.equal(await entries(database), 10);
      assert.equal((await eventsOf(database, 'pet', 1)).length, 1);
      const origins = (await database.all(originsOfAll, {})).filter(row => row.origin ?? row.accountId);
      assert.equal(origins.length, 10);

      clock.advance(DAY_MS);
      assert.deepEqual(await retain(database), [10]);
      assert.equal(await entries(database), 0);
      assert.deepEqual(await retain(database), []);
    });
  });
});

onPostgres(engine => {
  it('continues after a copy to SQLite before every event that was not passed', async () => {
    const database = await engine.open();
    for (const _ of [1, 2, 3, 4]) await database.write(tx => createPet(tx, 1, cat, 'open'));
    const passed = async () => (await database.first(factNamed, { name: 'origins-erased' }))?.value;
    await database.write(convertErasure);
    assert.equal(await passed(), undefined);

    await database.write(tx => tx.run(insertFact, { name: 'origins-erased', value: '2' }));
    // The event with the id 3 is the second one in the log.
    await database.write(tx => tx.run(reorder, {}));
    await database.write(convertErasure);
    assert.equal(await passed(), '1');
    await database.write(tx => tx.run(storeFact, { name: 'origins-erased', value: '4' }));
    await database.write(convertErasure);
    assert.equal(await passed(), '4');
  });
});

const reorder = query(db =>
  db.updateTable('events').set({ seq: sql<number>`case id when 1 then 1 when 2 then 3 when 3 then 2 else 4 end` }),
);

function request(requestId: string) {
  return { accountId: 1, keyId: 'key', requestId, address: '192.0.2.1' };
}

/** Runs the retention job, and returns the number of rows of each transaction. */
async function retain(database: Database): Promise<number[]> {
  const job = retentionJob({ database, retention: [(tx, limit) => eraseOrigins(tx, YEAR, limit)] });
  const sizes: number[] = [];
  for (;;) {
    const { rows } = await job.claim(1);
    if (rows === 0) return sizes;
    sizes.push(rows);
  }
}

async function entries(database: Database): Promise<number> {
  return (await listAuditEntries(database, operator, {}, { limit: 1000 })).rows.length;
}

const originsOfAll = query(db => db.selectFrom('events').select(['origin', 'audit_account_id as accountId']));
