import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Engine, onEachEngine } from '../../../test/support/engines.ts';
import { addImporters } from '../../../test/support/import-accounts.ts';
import { testClock } from '../../lib/clock.ts';
import { DAY_MS, HOUR_MS } from '../../lib/time.ts';
import { recordUpgraded } from '../../model/facts.ts';
import { deleteOldEventBytes, eventBytesOf } from '../../model/log/bytes.ts';
import type { BoundSettings } from '../../model/plan.ts';
import { query, sql } from '../../model/schema.ts';
import { createPet, deletePet } from '../pets/pets.ts';
import { deleteOldImportedRows, rowsImported } from './budget.ts';
import { importErrors } from './errors.ts';
import type { ImportOptions } from './import.ts';
import { importJob } from './import-job.ts';
import { activateImport, cancelImport, getImport, importPreviewed } from './imports.ts';
import { discardImport, receiveImport } from './receive.ts';

const NOON = Date.UTC(2026, 10, 20, 12);
const owner = { accountId: 1, admin: false };
const origin = { accountId: 1, sessionId: 1, requestId: 'r', address: '192.0.2.1' };

async function openStore(engine: Engine, bounds: BoundSettings) {
  const clock = testClock(NOON);
  const database = await engine.open({ clock });
  await recordUpgraded(database);
  await addImporters(database);
  const job = importJob({
    database,
    accounts: database,
    rules: { categories: 'open', bounds },
    now: () => clock.now(),
  });
  const work = async (most = Number.POSITIVE_INFINITY) => {
    for (let done = 0; done < most && (await job.claim(1)).rows > 0; done++) clock.advance(1);
  };
  const begin = async (text: string, more: Partial<ImportOptions> = {}) => {
    const options: ImportOptions = {
      ...{ accountId: 1, plan: 'free', mode: 'upsert', preset: 'petstore', format: 'csv', dryRun: false, origin },
      ...{ confirmRemovals: undefined, currency: undefined, ...more },
    };
    const file = (async function* () {
      yield Buffer.from(text);
    })();
    const { id } = await receiveImport({ database, clock, bounds }, file, options);
    try {
      await database.write(tx => activateImport(tx, id, bounds));
    } catch (error) {
      await discardImport(database, id);
      throw error;
    }
    return id;
  };
  return {
    ...{ clock, database, begin, work },
    /** Imports a file. Returns its state, its code, and the number of charged rows. */
    async import(text: string, more: Partial<ImportOptions> = {}) {
      const id = await begin(text, more);
      await work();
      const { state, code, charged_rows } = await getImport(database, { accountId: null, admin: true }, id);
      return [state, code, charged_rows];
    },
    previewed: (id: number) => database.write(tx => importPreviewed(tx, owner, id, { origin, bounds })),
    used: (accountId = 1) => rowsImported(database, accountId, clock.now()),
    bytes: () => eventBytesOf(database, 1, clock.now()),
    pets: async () => (await database.first(countPets, {}))!.pets,
  };
}

const csv = (rows: number, name = 'Rex', from = 0) =>
  `externalId,name,categoryId\n${Array.from({ length: rows }, (_, row) => `A-${from + row},${name},1\n`).join('')}`;

const countPets = query(db => db.selectFrom('pets').select(sql<number>`count(*)`.as('pets')));

describe('the budget of imported rows', () => {
  onEachEngine(engine => {
    it('charges all rows until they are done, and then those that added or changed an animal', async () => {
      const store = await openStore(engine, {});
      assert.deepEqual(await store.import(csv(60)), ['completed', null, 60]);
      const file = `${csv(60).replaceAll('A-1,Rex', 'A-1,Max')}A-99,,1\n`;
      const id = await store.begin(file);
      assert.equal(await store.used(), 60 + 61);
      await store.work(1);
      assert.equal(await store.used(), 60 + 61);
      await store.work();
      const { updated, unchanged, failed, charged_rows } = await getImport(store.database, owner, id);
      assert.deepEqual([updated, unchanged, failed, charged_rows], [1, 59, 1, 1]);
      assert.deepEqual([await store.used(), await store.used(2)], [61, 0]);
    });

    it('refuses an import beyond it before the first row, until the UTC day ends', async () => {
      const store = await openStore(engine, { importedRows: 100 });
      await store.import(csv(60));
      await assert.rejects(store.begin(csv(41, 'Max')), {
        code: 'import_limit_exceeded',
        status: 409,
        headers: ['Retry-After', `${(12 * HOUR_MS) / 1000}`],
        message:
          'The file has 41 rows. Imports of the account can change 100 rows in a UTC day, and have changed 60. Wait until 00:00 UTC, or send fewer rows.',
      });
      await store.work();
      assert.deepEqual([await store.pets(), await store.used()], [60, 60]);
      assert.deepEqual(await store.import(csv(40, 'Max')), ['completed', null, 40]);
      assert.equal(await store.used(), 100);
      assert.deepEqual(await store.import(csv(1, 'Rex', 200), { accountId: 2 }), ['completed', null, 1]);
      await assert.rejects(store.begin(csv(101)), { code: 'import_limit_exceeded', headers: [] });
      await store.work();
      store.clock.advance(12 * HOUR_MS);
      assert.deepEqual(await store.import(csv(60, 'Max')), ['completed', null, 20]);
      assert.equal(await store.used(), 20);
      assert.deepEqual(await store.import(csv(80, 'Leo')), ['completed', null, 80]);
      const message = /^The file has 1 row\. Imports of the account can change 100 rows in a UTC day/;
      await assert.rejects(store.begin(csv(1, 'Mia')), { message });
    });

    it('is twice the bound of animals, unless it is set', async () => {
      const store = await openStore(engine, { pets: 30 });
      await store.import(csv(30));
      await assert.rejects(store.begin(csv(31)), { code: 'import_limit_exceeded' });
      assert.deepEqual(await store.import(csv(30, 'Max')), ['completed', null, 30]);
    });

    it('gets back the rows that a canceled import has not reached', async () => {
      const store = await openStore(engine, { importedRows: 60 });
      const id = await store.begin(csv(60));
      await store.work(1);
      const canceled = await store.database.write(tx => cancelImport(tx, owner, id));
      assert.deepEqual([canceled.state, canceled.charged_rows], ['canceled', 25]);
      assert.equal(await store.used(), 25);
      await store.work();
      assert.equal(await store.used(), 25);
    });

    it('never stops the removals of a file', async () => {
      const store = await openStore(engine, { importedRows: 61 });
      await store.import(csv(60));
      const options = { mode: 'replace', confirmRemovals: 59 } as const;
      assert.deepEqual(await store.import(csv(1), options), ['completed', null, 0]);
      assert.deepEqual([await store.pets(), await store.used()], [1, 60]);
    });

    it('is not charged for a dry run, which warns of a refusal; its file is imported on the next day', async () => {
      const store = await openStore(engine, { importedRows: 60 });
      store.clock.advance(11.5 * HOUR_MS);
      await store.import(csv(60));
      const id = await store.begin(csv(59, 'Max'), { dryRun: true, keepsFile: true });
      await store.work();
      const warnings = async () =>
        (await importErrors(store.database, id, 0, 9)).map(({ error }) => JSON.parse(error).code);
      assert.deepEqual([await store.used(), await warnings()], [60, ['import_limit_exceeded']]);
      const { warnings: counted, updated } = await getImport(store.database, owner, id);
      assert.deepEqual([counted, updated], [1, 59]);
      await assert.rejects(store.previewed(id), { code: 'import_limit_exceeded' });
      assert.equal((await getImport(store.database, owner, id)).state, 'completed');
      store.clock.advance(HOUR_MS / 2);
      await store.previewed(id);
      await store.work();
      assert.deepEqual([await store.used(), await warnings()], [59, []]);
    });

    it('is deleted two days later', async () => {
      const store = await openStore(engine, {});
      await store.import(csv(2));
      store.clock.advance(DAY_MS);
      assert.equal(await store.database.write(tx => deleteOldImportedRows(tx, 100)), 0);
      store.clock.advance(DAY_MS);
      assert.equal(await store.database.write(tx => deleteOldImportedRows(tx, 100)), 1);
    });
  });
});

describe('the bytes of events', () => {
  onEachEngine(engine => {
    const pet = { name: 'Rex', categoryId: 1 };

    it('count for 30 days, and are deleted afterwards', async () => {
      const store = await openStore(engine, {});
      await store.database.write(tx => createPet(tx, 1, pet, 'open'), origin);
      const first = await store.bytes();
      assert.ok(first > 100 && first < 1024, `${first}`);
      store.clock.advance(29 * DAY_MS);
      await store.database.write(tx => createPet(tx, 1, pet, 'open'), origin);
      assert.equal(await store.bytes(), 2 * first);
      assert.equal(await store.database.write(tx => deleteOldEventBytes(tx, 100)), 0);
      store.clock.advance(DAY_MS);
      assert.equal(await store.bytes(), first);
      store.clock.advance(DAY_MS);
      assert.equal(await store.database.write(tx => deleteOldEventBytes(tx, 100)), 1);
      assert.equal(await store.bytes(), first);
    });

    it('refuse an import whose file would exceed their bound, before its first row', async () => {
      const store = await openStore(engine, { eventBytes: 2000 });
      const [dog] = await Promise.all(
        Array.from({ length: 6 }, () => store.database.write(tx => createPet(tx, 1, pet, 'open'), origin)),
      );
      assert.ok((await store.bytes()) < 2000, `${await store.bytes()}`);
      await assert.rejects(store.begin(csv(60)), { code: 'event_storage_exceeded', status: 409 });
      assert.deepEqual([await store.pets(), await store.used()], [6, 0]);
      await store.import(csv(60), { dryRun: true });
      await store.database.write(tx => deletePet(tx, owner, dog!.id), origin);
    });

    it('are estimated for a file of new animals: at least 0.6 times, and at most 1.3 times what they are', async () => {
      const cells = 'B-1,Minka,2,female,yes,Maine Coon,Black,medium,12500,USD,2024-05-01';
      const columns =
        'externalId,name,categoryId,sex,goodWith.cats,breeds.primary,colors.primary,size,price.amount,price.currency,birthDate';
      const line = (row: number) => cells.replace('B-1', `B-${row}`);
      const description = 'A quiet animal. '.repeat(30);
      const json = (row: number) => JSON.stringify({ externalId: `C-${row}`, name: 'Rex', categoryId: 1, description });
      const rows = Array.from({ length: 50 }, (_, row) => row);
      const files: [string, Partial<ImportOptions>][] = [
        [csv(50), {}],
        [`${columns}\n${rows.map(line).join('\n')}`, {}],
        [rows.map(json).join('\n'), { format: 'ndjson' }],
      ];
      for (const [file, options] of files) {
        const free = await openStore(engine, {});
        assert.deepEqual(await free.import(file, options), ['completed', null, 50]);
        const bytes = await free.bytes();
        const low = await openStore(engine, { eventBytes: Math.floor(0.6 * bytes) });
        await assert.rejects(low.begin(file, options), { code: 'event_storage_exceeded', status: 409 });
        assert.equal(await low.pets(), 0);
        const high = await openStore(engine, { eventBytes: Math.ceil(1.3 * bytes) });
        assert.deepEqual(await high.import(file, options), ['completed', null, 50]);
      }
    });

    it('end an import between two chunks, and stop neither single requests nor removals', async () => {
      const store = await openStore(engine, { eventBytes: 20_000 });
      const id = await store.begin(csv(100));
      await store.work(1);
      const long = { ...pet, description: 'x'.repeat(10_000) };
      for (let number = 0; number < 2; number++) {
        await store.database.write(tx => createPet(tx, 1, long, 'open'), origin);
      }
      await store.work();
      const { state, code, charged_rows, message } = await getImport(store.database, owner, id);
      assert.deepEqual([state, code, charged_rows], ['failed', 'event_storage_exceeded', 25]);
      assert.match(message!, /^The events of the account have reached the bytes/);
      assert.deepEqual([await store.pets(), await store.used()], [27, 25]);
      await store.database.write(tx => createPet(tx, 1, pet, 'open'), origin);
      await assert.rejects(store.begin(csv(1)), { code: 'event_storage_exceeded' });
    });
  });
});
