import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { onEachEngine } from '../../../test/support/engines.ts';
import { INTERRUPTED, interruptions } from '../../../test/support/interrupted.ts';
import { createAccount, getAccount, listAccounts, suspendAccount } from '../../access/accounts/accounts.ts';
import { searchAccounts } from '../../access/accounts/search.ts';
import { createKey, findKey, listKeys } from '../../access/keys/keys.ts';
import { createSandboxKey, endSandboxKey } from '../../access/keys/sandbox.ts';
import { sandboxDatabase } from '../../access/plans/sandbox.ts';
import { testClock } from '../../lib/clock.ts';
import { DAY_MS, formatTime } from '../../lib/time.ts';
import type { IssuedKey } from '../../model/key.ts';
import { assignPositions, lastPosition } from '../../model/log/ordering.ts';
import { type Database, query, sql, type Tables, type Transaction } from '../../model/schema.ts';
import { createCategory } from '../../store/categories/categories.ts';
import { createHold } from '../../store/holds/holds.ts';
import { sendMessage } from '../../store/messages/messages.ts';
import { countOpen } from '../../store/orders/open-orders.ts';
import { placeOrder } from '../../store/orders/orders.ts';
import { approveOrder } from '../../store/orders/steps.ts';
import { findOrganization, replaceOrganization } from '../../store/organizations/organizations.ts';
import { changedPets } from '../../store/pets/changed.ts';
import { createPet, deletePet, getPet, updatePet } from '../../store/pets/pets.ts';
import { retentionJob } from '../retention.ts';
import { checks } from '../verify/checks.ts';
import { deleteBatch, nextDeletion } from './deletion.ts';

const NOON = Date.UTC(2026, 10, 20, 12);
const MINUTE = 60_000;

/** The other accounts on staging. */
const ben = { accountId: 1, admin: false };

/** Fills staging: animals, categories, holds and orders of the sandbox and of Ben, some for each other's animals. */
async function fill(tx: Transaction, accountId: number) {
  const sandbox = { accountId, admin: false };
  for (const owner of [ben, ben, ben, ben, sandbox, sandbox, sandbox, sandbox]) {
    await createPet(tx, owner.accountId, { name: 'x', categoryId: 1 }, 'open');
  }
  const parent = await createCategory(tx, sandbox, { name: 'Above' });
  await createCategory(tx, sandbox, { name: 'Below', parentId: parent.id });
  const used = await createCategory(tx, sandbox, { name: 'Used by others' });
  await createPet(tx, accountId, { name: 'x', categoryId: 9000 }, 'open');
  await createPet(tx, ben.accountId, { name: 'x', categoryId: used.id }, 'open');
  const deleted = await createPet(tx, accountId, { name: 'x', categoryId: 1, description: '0' }, 'open');
  for (let line = 0; line < 600; line++) {
    await updatePet(tx, sandbox, deleted.id, { description: `${line} words`.padEnd(300, '.') }, 'open');
  }
  await deletePet(tx, sandbox, deleted.id);
  for (const phone of ['SECRET 1', 'SECRET 2']) {
    await replaceOrganization(tx, sandbox, accountId, { name: 'Sandbox', phone });
  }
  await placeOrder(tx, sandbox, { petId: 1, note: 'SECRET' });
  await createHold(tx, sandbox, { petIds: [2], note: 'SECRET' }, 100);
  // Both expire before the key ends, without a recorded expiry.
  await createHold(tx, sandbox, { petIds: [3], expiresAt: new Date(NOON + 5 * MINUTE).toISOString() }, 100);
  await placeOrder(tx, ben, { petId: 5 });
  await approveOrder(tx, sandbox, 2, { note: 'SECRET' });
  await createHold(tx, ben, { petIds: [4, 6] }, 100);
  await placeOrder(tx, sandbox, { petId: 7, note: 'SECRET' });
  await sendMessage(tx, sandbox, { petId: 5, message: 'SECRET' });
}

onEachEngine(engine => {
  describe('an account of the sandbox', () => {
    async function open() {
      const clock = testClock(NOON);
      const [accounts, staging] = [await engine.open({ clock }), await engine.open({ clock })];
      await accounts.write(tx => createAccount(tx, { email: 'ben@example.org', name: 'Ben' }));
      const before = await rowsOf(accounts);
      const key = (await accounts.write(tx => createSandboxKey(tx, '192.0.2.1'))) as IssuedKey;
      return { clock, accounts, staging, key, before };
    }

    it('records no event, and is on no list', async () => {
      const { accounts, key } = await open();
      assert.deepEqual(
        (await listAccounts(accounts)).map(({ email }) => email),
        ['ben@example.org'],
      );
      const searched = await searchAccounts(accounts, { text: 'sandbox', state: 'deleting' }, { limit: 20 });
      assert.deepEqual(searched.rows, []);
      assert.deepEqual(await listKeys(accounts), []);
      assert.equal((await accounts.all(allEvents, {})).length, 1, 'that of Ben');
      assert.equal(key.expiresAt, NOON + 15 * MINUTE);
      const { sandbox, email } = await getAccount(accounts, key.accountId);
      assert.ok(sandbox);
      assert.match(email, /^sandbox-\w{40}@account\.invalid$/);
      await assert.rejects(
        accounts.write(tx => suspendAccount(tx, key.accountId)),
        /belongs to the sandbox/,
      );
    });

    it('ends with its key and leaves no data, even after a crash at any point', async () => {
      const { clock, accounts, staging, key, before } = await open();
      const counted = sandboxDatabase(staging, { pets: 100, bytes: 10_000_000 });
      await counted.write(tx => fill(tx, key.accountId), {
        accountId: key.accountId,
        keyId: '',
        requestId: '',
        address: '',
      });
      const due = query((db, _, name) => db.selectNoFrom(nextDeletion(true)(db, name).as('dueAt')));
      assert.equal((await accounts.first(due, {}))!.dueAt, NOON + 16 * MINUTE);
      clock.advance(16 * MINUTE - 1);
      assert.equal(await deleteBatch({ accounts, staging }, clock.now()), 0, 'while requests may be in flight');
      clock.advance(1);
      const interrupted = interruptions();
      const databases = { accounts: interrupted(accounts), staging: interrupted(staging) };
      let crashes = 0;
      for (let rows = 1, batches = 0; rows > 0; batches++) {
        assert.ok(batches < 100, 'the deletion does not end');
        rows = await deleteBatch(databases, clock.now()).catch(({ message }) => {
          assert.equal(message, INTERRUPTED);
          return ++crashes;
        });
      }
      assert.ok(crashes > 3);
      assert.deepEqual(await rowsOf(accounts), before);
      await assertGone(staging, key.accountId, clock.now());
    });

    it('can be deleted by several processes at once', async () => {
      const { clock, accounts, staging, key, before } = await open();
      await staging.write(tx => fill(tx, key.accountId));
      clock.advance(16 * MINUTE);
      const finish = async () => {
        for (let tries = 0; tries < 100; tries++) {
          const rows = await deleteBatch({ accounts, staging }, clock.now()).catch(() => 1);
          if (rows === 0) return;
        }
        assert.fail('the deletion does not end');
      };
      await Promise.all([finish(), finish(), finish()]);
      assert.deepEqual(await rowsOf(accounts), before);
      await assertGone(staging, key.accountId, clock.now());
    });

    it('leaves only the deletions of its animals in the log, until mirrors have them', async () => {
      const { clock, accounts, staging, key } = await open();
      await staging.write(tx => fill(tx, key.accountId));
      const page = { limit: 100 };
      const before = await changedPets(staging, { updatedSince: formatTime(NOON) }, page, clock.now());
      clock.advance(16 * MINUTE);
      const longValues = checks.filter(({ name }) => name === 'long values of animals');
      while ((await deleteBatch({ accounts, staging }, clock.now())) > 0) {
        await assertConsistent(staging, clock.now(), longValues);
      }
      const left = async () =>
        (await staging.all(eventsOfOwner, {})).filter(ownedBy(key.accountId)).map(typeAndSubject);
      const pets = [11, 5, 6, 7, 8, 9].map(id => `pet.deleted ${id}`);
      // A category that other accounts use, and the ids of the other categories, which are never assigned again.
      const categories = ['category.created 1003', 'category.deleted 1002', 'category.deleted 1001'];
      const last = `organization.deleted ${key.accountId}`;
      assert.deepEqual((await left()).sort(), [...categories, last, ...pets].sort());
      assert.ok(!JSON.stringify(await staging.all(allEvents, {})).includes('599 words'), 'texts of deleted animals');

      const since = { updatedSince: before.token!, includeRemoved: true };
      const { rows } = await changedPets(staging, since, page, clock.now());
      const removed = rows.filter(row => 'deletedAt' in row).map(({ id }) => id);
      assert.deepEqual(removed, [5, 6, 7, 8, 9]);
      await assertConsistent(staging, clock.now());

      const position = await lastPosition(staging);
      const retention = retentionJob({ database: staging });
      const retain = async () => {
        while ((await retention.claim(1)).rows > 0);
      };
      await retain();
      assert.equal(await lastPosition(staging), position, 'the position of the last event is not assigned again');
      await staging.write(tx => createPet(tx, ben.accountId, { name: 'later', categoryId: 1 }, 'open'));
      await assignPositions(staging);
      clock.advance(30 * DAY_MS - 1);
      await retain();
      assert.deepEqual((await left()).sort(), [...categories, ...pets].sort());
      clock.advance(1);
      await retain();
      assert.deepEqual((await left()).sort(), categories.sort());
      await assertConsistent(staging, clock.now());
    });

    it('waits until a process serves staging', async () => {
      const { clock, accounts, key } = await open();
      clock.advance(60 * MINUTE);
      assert.equal(await deleteBatch({ accounts }, clock.now()), 0);
      assert.equal((await getAccount(accounts, key.accountId)).id, key.accountId);
    });

    it('is not created beyond 200 at a time, also by concurrent visitors', async () => {
      const { accounts } = await open();
      const keys = await Promise.all(
        Array.from({ length: 210 }, (_, number) => accounts.write(tx => createSandboxKey(tx, `192.0.2.${number}`))),
      );
      assert.equal(keys.filter(key => typeof key === 'object').length, 199, 'with the first');
      assert.equal(keys.filter(key => key === 'all').length, 11);
    });

    it('is not created beyond 40 at a time for one network', async () => {
      const { accounts } = await open();
      const create = (network: string) => accounts.write(tx => createSandboxKey(tx, network));
      const keys = await Promise.all(Array.from({ length: 50 }, () => create('198.51.100.7')));
      assert.equal(keys.filter(key => typeof key === 'object').length, 40);
      assert.equal(keys.filter(key => key === 'perNetwork').length, 10);
      assert.equal(typeof (await create('198.51.100.8')), 'object', 'another network');
    });

    it('can be ended only by the holder of its key', async () => {
      const { clock, accounts, staging, key } = await open();
      const other = await accounts.write(tx => createAccount(tx, { email: 'eve@example.org', name: 'Eve' }));
      const own = await accounts.write(tx => createKey(tx, { accountId: other.id, deployment: 'staging' }));
      for (const token of ['', 'x', `${key.token.slice(0, -7)}AAAAAAA`, own.token]) {
        await accounts.write(tx => endSandboxKey(tx, token));
      }
      assert.equal((await findKey(accounts, key.id))!.expiresAt, NOON + 15 * MINUTE);
      assert.equal((await findKey(accounts, own.id))!.expiresAt, null);
      await accounts.write(tx => endSandboxKey(tx, key.token));
      assert.equal((await findKey(accounts, key.id))!.expiresAt, NOON);
      clock.advance(MINUTE);
      while ((await deleteBatch({ accounts, staging }, clock.now())) > 0);
      assert.equal(await findKey(accounts, key.id), undefined);
    });
  });
});

async function assertGone(staging: Database, accountId: number, now: number) {
  const tables = [
    'pets',
    'orders',
    'holds',
    'messages',
    'order_counts',
    'stored_bytes',
    'event_bytes',
    'sandbox_accounts',
  ] as const;
  for (const table of [...tables, 'idempotency'] as const) {
    assert.deepEqual(await staging.all(rowsWith(table, 'account_id'), { id: accountId }), [], table);
  }
  for (const table of ['orders', 'reservations'] as const) {
    const kept = await staging.all(rowsWith(table, 'owner_id'), { id: accountId });
    // The hold of another account still shows that the pet was in it.
    assert.deepEqual(
      kept.filter(row => row['hold_id'] === undefined || row['hold_id'] === null),
      [],
      table,
    );
  }
  const names = (await staging.all(categoryNames, {})).map(({ name }) => name);
  assert.ok(names.includes('Used by others'), 'a category that others use stays');
  for (const gone of ['Above', 'Below', 'Category 9000']) assert.ok(!names.includes(gone), gone);
  assert.deepEqual(await staging.all(rowsWith('categories', 'creator_id'), { id: accountId }), []);
  for (const id of [1, 2, 3, 4]) assert.equal((await getPet(staging, id, now)).status, 'available', `pet ${id}`);
  assert.equal(await countOpen(staging, ben.accountId, now), 0);
  assert.equal(await findOrganization(staging, accountId), undefined);
  assert.deepEqual(await staging.all(facts, {}), []);
  assert.ok(!JSON.stringify(await staging.all(allEvents, {})).includes('SECRET'));
}

/** Returns all rows of the tables of accounts. */
async function rowsOf(accounts: Database) {
  return Promise.all(tablesOfAccounts.map(({ table, rows }) => Promise.all([table, accounts.all(rows, {})])));
}

const tablesOfAccounts = (['accounts', 'keys', 'bans', 'refusals', 'usage', 'requests', 'events'] as const).map(
  table => ({ table, rows: query(db => db.selectFrom(table as 'accounts').selectAll()) }),
);

const withColumn = new Map<string, ReturnType<typeof newRowsWith>>();
const newRowsWith = (table: keyof Tables, column: string) =>
  query<{ id: number }, Record<string, unknown>>(
    (db, p) => db.selectFrom(table).selectAll().where(sql.ref(column), '=', p.id) as never,
  );
function rowsWith(table: keyof Tables, column: string) {
  return withColumn.getOrInsertComputed(`${table} ${column}`, () => newRowsWith(table, column));
}

async function assertConsistent(staging: Database, now: number, some = checks) {
  for (const { name, query } of some) assert.deepEqual(await staging.all(query, { now, limit: 10 }), [], name);
}

const eventsOfOwner = query(db => db.selectFrom('events').select(['kind', 'action', 'subject_id as id', 'data']));
const ownedBy =
  (accountId: number) =>
  ({ data }: { data: string }) =>
    JSON.parse(data).ownerId === accountId;
const typeAndSubject = ({ kind, action, id }: { kind: string; action: string; id: number }) =>
  `${kind}.${action} ${id}`;
const allEvents = query(db => db.selectFrom('events').select('data').orderBy('id'));
const categoryNames = query(db => db.selectFrom('categories').select('name'));
const facts = query(db => db.selectFrom('facts').select('name').where('name', 'like', 'deletion%'));
