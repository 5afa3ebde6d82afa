import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Engine, onEachEngine } from '../../../test/support/engines.ts';
import { addImporters } from '../../../test/support/import-accounts.ts';
import { storedBytes } from '../../access/plans/stored-bytes.ts';
import { testClock } from '../../lib/clock.ts';
import { StorageError } from '../../lib/storage/database.ts';
import { DAY_MS } from '../../lib/time.ts';
import { recordUpgraded } from '../../model/facts.ts';
import type { BoundSettings } from '../../model/plan.ts';
import { type Database, type Params, query, sql } from '../../model/schema.ts';
import { steps } from '../../operate/deletion/steps.ts';
import { findCategory } from '../categories/rows.ts';
import { createHold } from '../holds/holds.ts';
import { deleteOldImports } from './clean-up.ts';
import { importErrors } from './errors.ts';
import type { ImportOptions } from './import.ts';
import { importJob } from './import-job.ts';
import { activateImport, cancelImport, getImport, importPreviewed } from './imports.ts';
import { receiveImport } from './receive.ts';
import { FILE_KEPT_MS, runImportStep } from './steps.ts';

const NOON = Date.UTC(2026, 10, 20, 12);
const owner = { accountId: 1, admin: false };

async function openStore(engine: Engine, bounds: BoundSettings = {}) {
  const clock = testClock(NOON);
  const database = await engine.open({ clock });
  await recordUpgraded(database);
  const rules = { categories: 'open', bounds } as const;
  const job = importJob({ database, accounts: database, rules, now: () => clock.now() });
  const options: ImportOptions = {
    ...{ accountId: 1, plan: 'free', mode: 'upsert', preset: 'petstore', format: 'csv', dryRun: false },
    origin: await addImporters(database),
    ...{ confirmRemovals: undefined, currency: undefined },
  };
  return {
    ...{ clock, database },
    receive: (text: string, more: Partial<ImportOptions> = {}) =>
      receiveImport({ database, clock, bounds }, fileOf(text), { ...options, ...more }).then(({ id }) => id),
    async receiveSlowly(file: AsyncIterable<Buffer>) {
      return (await receiveImport({ database, clock, bounds }, file, options)).id;
    },
    async begin(text: string, more: Partial<ImportOptions> = {}) {
      const id = await this.receive(text, more);
      await database.write(tx => activateImport(tx, id, {}));
      return id;
    },
    /** Runs a number of steps, or all. Returns the number of steps. */
    async work(most = Number.POSITIVE_INFINITY) {
      let done = 0;
      while (done < most && (await job.claim(1)).rows > 0) {
        done++;
        clock.advance(1);
      }
      return done;
    },
  };
}

async function* fileOf(text: string) {
  yield Buffer.from(text);
}

function csv(rows: number): string {
  return `externalId,name,categoryId\n${Array.from({ length: rows }, (_, row) => `A-${row},Rex,1\n`).join('')}`;
}

/** The number of rows of imports in each table. */
const rowsLeft = query(db =>
  db.selectNoFrom([
    sql<number>`(select count(*) from imports)`.as('imports'),
    sql<number>`(select count(*) from import_chunks)`.as('chunks'),
    sql<number>`(select count(*) from import_keys)`.as('keys'),
    sql<number>`(select count(*) from import_errors)`.as('errors'),
  ]),
);
const left = async (database: Database) => Object.values((await database.first(rowsLeft, {}))!);
const countPets = query(db => db.selectFrom('pets').select(sql<number>`count(*)`.as('pets')));
const petsIn = async (database: Database) => (await database.first(countPets, {}))!.pets;

const breakChunk = query((db, p: Params<{ id: number }>) =>
  db.updateTable('import_chunks').set({ rows: sql`'x' || rows` }).where('import_id', '=', p.id),
);

describe('the job of imports', () => {
  onEachEngine(engine => {
    it('deletes the rows and identifiers of an import once it ends, and counts their bytes down', async () => {
      const store = await openStore(engine);
      const { database } = store;
      const id = await store.begin(csv(60));
      assert.deepEqual(await left(database), [1, 3, 60, 0]);
      assert.ok((await storedBytes.read(database, 1)) > 60 * 10);
      await store.work();
      assert.deepEqual(await left(database), [1, 0, 0, 0]);
      assert.equal(await storedBytes.read(database, 1), 0);
      assert.deepEqual([(await getImport(database, owner, id)).state, await petsIn(database)], ['completed', 60]);
      assert.equal(await store.work(), 0);
    });

    it('pauses after each step while requests are served', async () => {
      const store = await openStore(engine);
      const { clock, database } = store;
      await store.begin(csv(100));
      const askedMs: number[] = [];
      const isServing = () => askedMs.push(performance.now()) < 3;
      const job = importJob({
        database,
        accounts: database,
        rules: { categories: 'open', bounds: {} },
        isServing,
        now: () => clock.now(),
      });
      for (const paused of [true, true, false]) {
        assert.equal((await job.claim(1)).rows, 1);
        // A timer of 2 ms may fire a little early.
        if (paused) assert.ok(performance.now() - askedMs.at(-1)! > 1);
      }
      assert.equal(askedMs.length, 3);
    });

    it('waits for a file that arrives slowly, while rows arrive', async () => {
      const store = await openStore(engine);
      const { clock, database } = store;
      const slow = async function* () {
        for (const line of csv(12).split(/(?<=\n)/)) {
          yield Buffer.from(line);
          clock.advance(60_000);
          await store.work();
        }
      };
      const id = await store.receiveSlowly(slow());
      await database.write(tx => activateImport(tx, id, {}));
      await store.work();
      const { state, created } = await getImport(database, owner, id);
      assert.deepEqual([state, created], ['completed', 12]);
    });

    it('keeps the file of a dry run for an hour if it is to, and imports it once', async () => {
      const store = await openStore(engine);
      const { clock, database } = store;
      const origin = { accountId: 1, sessionId: 1, requestId: 'r', address: '192.0.2.1' };
      const go = (id: number, confirmRemovals?: number) =>
        database.write(tx =>
          importPreviewed(tx, owner, id, { origin, bounds: {}, ...(confirmRemovals && { confirmRemovals }) }),
        );
      const kept = { dryRun: true, keepsFile: true } as const;
      await store.begin(csv(4).replaceAll('A-', 'B-'));
      await store.work();

      const first = await store.begin(csv(3), kept);
      await assert.rejects(go(first), { code: 'import_running' });
      await store.work();
      const file = `${csv(60).replaceAll(',1\n', ',1,red\n').replace('\n', ',paint\n')}A-99,,1,red\n`;
      const id = await store.begin(file, { ...kept, mode: 'replace' });
      await store.work();
      await assert.rejects(go(first), { code: 'import_file_deleted' });
      await assert.rejects(
        database.write(tx => importPreviewed(tx, { ...owner, accountId: 2 }, id, { origin, bounds: {} })),
        {
          code: 'import_not_found',
        },
      );
      assert.deepEqual(await left(database), [3, 3, 61, 3]);
      const preview = await getImport(database, owner, id);
      assert.deepEqual([preview.created, preview.removals, preview.warnings, preview.failed], [60, 4, 2, 1]);
      assert.ok((await storedBytes.read(database, 1)) > 60 * 10);
      assert.equal(await petsIn(database), 4);

      assert.equal((await go(id, 4)).dry_run, 0);
      assert.equal((await go(id, 4)).id, id);
      await store.work();
      const { state, created, removed, failed, warnings, rows_read } = await getImport(database, owner, id);
      assert.deepEqual([state, created, removed, failed, warnings, rows_read], ['completed', 60, 4, 1, 1, 61]);
      assert.deepEqual(
        (await importErrors(database, id, 0, 9)).map(({ error }) => JSON.parse(error).code),
        ['unknown_column', 'required'],
      );
      assert.deepEqual([await petsIn(database), ...(await left(database))], [60, 3, 0, 0, 2]);
      assert.equal(await storedBytes.read(database, 1), 0);

      const late = await store.begin(csv(1), kept);
      await store.work();
      clock.advance(FILE_KEPT_MS);
      await assert.rejects(go(late), { code: 'import_file_deleted' });
      await store.work();
      assert.deepEqual((await left(database)).slice(1, 3), [0, 0]);
    });

    it('imports a previewed file once for several requests at the same moment', async () => {
      const store = await openStore(engine);
      const { database } = store;
      const origin = { accountId: 1, sessionId: 1, requestId: 'r', address: '192.0.2.1' };
      for (let round = 0; round < 5; round++) {
        const id = await store.begin(csv(1), { dryRun: true, keepsFile: true });
        await store.work();
        const requests = Array.from({ length: 5 }, () =>
          database.write(tx => importPreviewed(tx, owner, id, { origin, bounds: {} })),
        );
        for (const row of await Promise.all(requests)) assert.deepEqual([row.id, row.dry_run], [id, 0]);
        await store.work();
      }
      assert.equal(await petsIn(database), 1);
    });

    it('finds unknown values of a previewed file again, after its first errors', async () => {
      const store = await openStore(engine);
      const { database } = store;
      const origin = { accountId: 1, sessionId: 1, requestId: 'r', address: '192.0.2.1' };
      const file = 'externalId,name,categoryId,coulour,breeds.primary\nA,,1,red,\nB,Rex,1,red,Beagel\n';
      const id = await store.begin(file, { dryRun: true, keepsFile: true });
      await store.work();
      const errors = async () =>
        (await importErrors(database, id, 0, 9)).map(({ number, error }) => [number, JSON.parse(error).code]);
      const found = [
        [1, 'unknown_column'],
        [2, 'required'],
        [3, 'unknown_value'],
      ];
      assert.deepEqual(await errors(), found);
      await database.write(tx => importPreviewed(tx, owner, id, { origin, bounds: {} }));
      await store.work();
      assert.deepEqual(await errors(), found);
    });

    it('records no step of a dry run for the import of its file', async () => {
      const store = await openStore(engine);
      const { database } = store;
      const origin = { accountId: 1, sessionId: 1, requestId: 'r', address: '192.0.2.1' };
      const id = await store.begin(csv(1), { dryRun: true, keepsFile: true });
      const seen = await getImport(database, owner, id);
      await store.work();
      await database.write(tx => importPreviewed(tx, owner, id, { origin, bounds: {} }));
      assert.equal(await runImportStep(database, seen, async () => ({ next_chunk: 1 })), 0);
    });

    it('fails the same rows in a dry run when the account may have no more animals', async () => {
      const store = await openStore(engine, { pets: 40 });
      for (const dryRun of [true, false]) {
        const id = await store.begin(csv(60), { dryRun });
        await store.work();
        const { created, failed } = await getImport(store.database, owner, id);
        assert.deepEqual([created, failed], [40, 20]);
        const { code, message } = JSON.parse((await importErrors(store.database, id, 0, 1))[0]!.error);
        assert.equal(code, 'pet_limit_exceeded');
        assert.match(message, /^The account has 40 animals, and its plan allows 40\./);
      }
    });

    it('fails the same rows in a dry run when the account may create no more categories', async () => {
      const store = await openStore(engine, { categories: 30 });
      // Each category is in two chunks; one row changes an animal.
      const row = (number: number, id = number) => `A-${id},Rex,${1000 + number}\n`;
      const numbers = Array.from({ length: 35 }, (_, number) => number);
      const lines = [...numbers.map(number => row(number)), ...numbers.map(number => row(number, number + 100))];
      await store.begin('externalId,name,categoryId\nOLD,Rex,1000\nA-129,Rex,1\n');
      await store.work();
      for (const dryRun of [true, false]) {
        const id = await store.begin(`externalId,name,categoryId\n${lines.join('')}`, { dryRun });
        await store.work();
        const { created, updated, failed } = await getImport(store.database, owner, id);
        assert.deepEqual([created, updated, failed], [59, 1, 10]);
        const errors = (await importErrors(store.database, id, 0, 99)).map(({ error }) => JSON.parse(error));
        assert.ok(errors.every(({ code }) => code === 'category_limit_exceeded'));
        assert.match(errors[0].message, /^The account has created 30 categories, the maximum/);
        assert.deepEqual([errors[0].line, errors[9].line], [32, 71]);
        assert.equal((await left(store.database))[2], 0);
      }
    });

    it('deletes animals that the file lacks before rows need their room, also in a dry run', async () => {
      const store = await openStore(engine, { pets: 120 });
      const { database } = store;
      await store.begin(csv(120));
      await store.work();
      // One of the animals to delete is on hold.
      const held = await database.write(tx => createHold(tx, owner, { petIds: [100] }, 1));
      assert.deepEqual(held.petIds, [100]);
      // 20 animals stay, and 100 are new.
      const file = csv(20) + csv(100).replace(/^.*\n/, '').replaceAll('A-', 'B-');
      const counts: number[] = [];
      for (const dryRun of [true, false]) {
        const id = await store.begin(file, { mode: 'replace', dryRun, confirmRemovals: 100 });
        while ((await store.work(1)) > 0) counts.push(await petsIn(database));
        const { state, created, unchanged, removed, failed } = await getImport(database, owner, id);
        assert.deepEqual([state, created, unchanged, removed, failed], ['completed', 99, 20, 99, 2]);
        const codes = (await importErrors(database, id, 0, 9)).map(({ error }) => JSON.parse(error).code);
        assert.deepEqual(codes, ['pet_reserved', 'pet_limit_exceeded']);
      }
      assert.equal(await petsIn(database), 120);
      assert.deepEqual([Math.max(...counts), Math.min(...counts) >= 120 - 50], [120, true], counts.join());
    });

    it('deletes nothing if it is not clear which animal a row is', async () => {
      const store = await openStore(engine);
      const { database } = store;
      const line = (row: number) => JSON.stringify({ externalId: `A-${row}`, name: 'Rex', categoryId: 1 });
      const files: [string, Partial<ImportOptions>][] = [
        [csv(10).replace('A-3', ''), {}],
        [csv(10).replace('A-3,', ''), {}],
        [`${line(0)}\n{"externalId":"A-1"`, { format: 'ndjson' }],
      ];
      for (const [file, more] of files) {
        await store.begin(csv(10));
        await store.work();
        for (const dryRun of [true, false]) {
          const id = await store.begin(file, { ...more, mode: 'replace', dryRun });
          await store.work();
          const { state, removed, failed, warnings } = await getImport(database, owner, id);
          assert.deepEqual([state, removed, failed, warnings], ['completed', 0, 1, 1]);
          const codes = (await importErrors(database, id, 0, 9)).map(({ error }) => JSON.parse(error).code);
          assert.equal(codes[0], 'removals_skipped');
        }
        assert.equal(await petsIn(database), 10);
      }
    });

    it('begins one of two imports at the same moment, also if one was previewed', async () => {
      const store = await openStore(engine);
      const { database } = store;
      const origin = { accountId: 1, sessionId: 1, requestId: 'r', address: '192.0.2.1' };
      for (let round = 0; round < 10; round++) {
        const id = await store.begin(csv(1), { dryRun: true, keepsFile: true });
        await store.work();
        const outcomes = await Promise.allSettled([
          database.write(tx => importPreviewed(tx, owner, id, { origin, bounds: {} })),
          store.begin(csv(1)),
        ]);
        const codes = outcomes.flatMap(one => (one.status === 'rejected' ? [one.reason.code] : []));
        assert.equal(codes.length, 1, JSON.stringify(codes));
        assert.match(codes[0], /^import_(running|file_deleted)$/);
        await store.work();
      }
    });

    it('reports lines beyond the bounds, and imports the others', async () => {
      const store = await openStore(engine);
      const deep = `{"externalId":"A","extra":${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}}`;
      const nested = '{"externalId":"B","extra":{"a":{"a":{"a":{"a":{"a":{"a":{"a":{}}}}}}}}}';
      const wide = JSON.stringify(Object.fromEntries(Array.from({ length: 1001 }, (_, name) => [`m${name}`, 1])));
      const file = [deep, nested, wide, '{"externalId":"C","name":"Rex","categoryId":1}'].join('\n');
      for (const preset of ['petstore', 'petfinder'] as const) {
        const id = await store.begin(file, { format: 'ndjson', preset });
        await store.work();
        const { state, failed } = await getImport(store.database, owner, id);
        assert.deepEqual([state, failed], ['completed', preset === 'petstore' ? 3 : 4]);
        const errors = (await importErrors(store.database, id, 0, 3)).map(({ error }) => JSON.parse(error));
        assert.deepEqual(
          errors.map(({ line, code }) => [line, code]),
          [1, 2, 3].map(line => [line, 'invalid_json']),
        );
      }
      assert.equal(await petsIn(store.database), 1);
    });

    it('fails an import with an internal error, and continues with the others', async () => {
      const store = await openStore(engine);
      const { database } = store;
      const [broken, sound] = [await store.begin(csv(60)), await store.begin(csv(1), { accountId: 2 })];
      await store.work(1);
      await database.write(tx => tx.run(breakChunk, { id: broken }));
      await assert.rejects(store.work(), SyntaxError);
      await store.work();
      assert.equal((await getImport(database, { accountId: 2, admin: false }, sound)).state, 'completed');
      const { state, code, created } = await getImport(database, owner, broken);
      assert.deepEqual([state, code, created], ['failed', 'internal_error', 25]);
      assert.equal((await left(database))[1], 0, 'its file is deleted');
    });

    it('goes on with other imports while the database fails for one, and tries again after a minute', async () => {
      const store = await openStore(engine);
      const { database, clock } = store;
      const waiting = await store.begin(csv(1));
      let fails = true;
      const rules = {
        bounds: {},
        get categories() {
          if (fails) throw new StorageError('unavailable', 'for the test');
          return 'open' as const;
        },
      };
      const job = importJob({ database, accounts: database, rules, now: () => clock.now() });
      await assert.rejects(job.claim(1), { reason: 'unavailable' });
      fails = false;
      const other = await store.begin(csv(1), { accountId: 2 });
      await store.work();
      assert.equal((await getImport(database, { accountId: 2, admin: false }, other)).state, 'completed');
      assert.equal((await getImport(database, owner, waiting)).state, 'applying');
      clock.advance(60_000);
      await store.work();
      assert.equal((await getImport(database, owner, waiting)).state, 'completed');
    });

    it('stops at once when an import is canceled; completed changes stay', async () => {
      const store = await openStore(engine);
      const id = await store.begin(csv(60));
      await store.work(1);
      await store.database.write(tx => cancelImport(tx, owner, id));
      await store.work();
      const { state, rows_read } = await getImport(store.database, owner, id);
      assert.deepEqual([state, rows_read, await petsIn(store.database)], ['canceled', 25, 25]);
      assert.deepEqual(await left(store.database), [1, 0, 0, 0]);
      assert.equal(await storedBytes.read(store.database, 1), 0);
      assert.ok(await store.begin(csv(1)), 'the next import may begin');
    });

    it('discards a file that stops arriving after two minutes', async () => {
      const store = await openStore(engine);
      const id = await store.receive(csv(60));
      await assert.rejects(store.receive(csv(1)), { code: 'import_running' });
      store.clock.advance(119_000);
      assert.equal(await store.work(), 0);
      store.clock.advance(2000);
      await store.work();
      assert.deepEqual(await left(store.database), [0, 0, 0, 0]);
      assert.equal(await storedBytes.read(store.database, 1), 0);
      await assert.rejects(getImport(store.database, owner, id), { code: 'import_not_found' });
    });

    it('keeps nothing of a file beyond the bytes that the account may store', async () => {
      const store = await openStore(engine, { storedBytes: 20_000 });
      await assert.rejects(store.receive(csv(2000)), { code: 'storage_limit_exceeded' });
      await store.work();
      assert.deepEqual(await left(store.database), [0, 0, 0, 0]);
      assert.equal(await storedBytes.read(store.database, 1), 0);
    });

    it('keeps the last 20 imports of an account for 30 days', async () => {
      const store = await openStore(engine);
      for (let number = 0; number < 22; number++) {
        await store.begin('externalId,name,categoryId\nA,,1\n');
        await store.work();
      }
      assert.deepEqual(await left(store.database), [20, 0, 0, 20]);
      await assert.rejects(getImport(store.database, owner, 2), { code: 'import_not_found' });
      const expire = () => store.database.write(tx => deleteOldImports(tx, 100));
      store.clock.advance(30 * DAY_MS - 1000);
      assert.equal(await expire(), 0);
      store.clock.advance(2000);
      while ((await expire()) > 0);
      assert.deepEqual(await left(store.database), [0, 0, 0, 0]);
    });

    it('undoes what a row has written before it fails, and applies the others', async () => {
      const store = await openStore(engine);
      const id = await store.begin(
        'externalId,name,categoryId,birthDate\nA,Rex,1,\nB,Mia,7777,2999-01-01\nC,Leo,1,2999-01-01\nD,Tom,1,\n',
      );
      await store.work();
      const { created, failed } = await getImport(store.database, owner, id);
      assert.deepEqual([created, failed, await petsIn(store.database)], [2, 2, 2]);
      const lines = (await importErrors(store.database, id, 0, 10)).map(({ error }) => JSON.parse(error));
      assert.deepEqual(
        lines.map(({ line, column, code, message }) => [line, column, code, message]),
        [
          [3, 'birthDate', 'out_of_range', 'Must not be in the future.'],
          [4, 'birthDate', 'out_of_range', 'Must not be in the future.'],
        ],
      );
      assert.equal(await findCategory(store.database, 7777), undefined);
    });

    it('reports objects that are nested deeply, and members with long names, as short errors of their rows', async () => {
      const store = await openStore(engine);
      const errors = async (text: string, more: Partial<ImportOptions>) => {
        const id = await store.begin(text, more);
        await store.work();
        const { state, failed } = await getImport(store.database, owner, id);
        const found = (await importErrors(store.database, id, 0, 10)).map(({ error }) => JSON.parse(error));
        assert.deepEqual([state, failed], ['completed', 1]);
        return found.map(({ column, code }) => [column, code]);
      };
      const deep = `${'{""a"":'.repeat(50_000)}1${'}'.repeat(50_000)}`;
      const csv = `externalId,name,categoryId,extra\nA,Rex,1,"${deep}"\n`;
      assert.deepEqual(await errors(csv, {}), [['extra', 'invalid_type']]);
      const long = 'k'.repeat(1000);
      const line = JSON.stringify({ externalId: 'A', name: 'Rex', categoryId: 1, extra: { [long]: 'x' } });
      const column = `extra.${'k'.repeat(94)}…`;
      assert.deepEqual(await errors(line, { format: 'ndjson' }), [[column, 'invalid_value']]);
      const options = { format: 'ndjson', preset: 'petfinder' } as const;
      const name = `${'k'.repeat(100)}…`;
      assert.deepEqual(await errors(JSON.stringify({ ID: 'A', [long]: 1 }), options), [[name, 'invalid_type']]);
    });

    it('runs the imports of accounts in turn', async () => {
      const store = await openStore(engine);
      const first = await store.begin(csv(100));
      const second = await store.begin(csv(10), { accountId: 2 });
      await store.work(3);
      assert.equal((await getImport(store.database, { accountId: 2, admin: false }, second)).rows_read, 10);
      assert.ok((await getImport(store.database, owner, first)).rows_read < 100);
    });

    it('runs each step once when several processes run the job', async () => {
      const store = await openStore(engine);
      const id = await store.begin(csv(200));
      await Promise.all([store.work(), store.work(), store.work()]);
      await store.work();
      const { created, failed } = await getImport(store.database, owner, id);
      assert.deepEqual([created, failed, await petsIn(store.database)], [200, 0, 200]);
    });

    it('loses an import that is deleted with its account', async () => {
      const store = await openStore(engine);
      await store.begin(csv(60));
      await store.work(1);
      let after: number | undefined = 0;
      while (after !== undefined) {
        after = await store.database.write(tx => steps.imports(tx, 1, after!));
      }
      assert.equal(await store.work(), 0);
      assert.deepEqual(await left(store.database), [0, 0, 0, 0]);
      assert.equal(await storedBytes.read(store.database, 1), 0);
    });
  });
});
