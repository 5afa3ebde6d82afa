import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { encryptor } from '../../../test/support/delivery-store.ts';
import { type Engine, onEachEngine } from '../../../test/support/engines.ts';
import { INTERRUPTED, interruptions } from '../../../test/support/interrupted.ts';
import { createAccount, getAccount, requestDeletion, resumeAccount } from '../../access/accounts/accounts.ts';
import { createKey, listKeys } from '../../access/keys/keys.ts';
import { storedBytes } from '../../access/plans/stored-bytes.ts';
import { createLink, findLink } from '../../access/sessions/links.ts';
import { findPassword, storePassword } from '../../access/sessions/passwords.ts';
import { listSessions, startSession } from '../../access/sessions/sessions.ts';
import { createWebhook, getWebhook } from '../../events/webhooks/webhooks.ts';
import { testClock } from '../../lib/clock.ts';
import { type Event, operator } from '../../model/log/event.ts';
import { eventsOf } from '../../model/log/log.ts';
import { type Database, query, type Transaction } from '../../model/schema.ts';
import { createHold, getHold } from '../../store/holds/holds.ts';
import { addNote, listNotes } from '../../store/inbox/notes.ts';
import { blockSender, listBlocked } from '../../store/messages/blocks.ts';
import { getMessage, sendMessage, sendNotification } from '../../store/messages/messages.ts';
import { getOrder, placeOrder } from '../../store/orders/orders.ts';
import { approveOrder, deliverOrder } from '../../store/orders/steps.ts';
import { getOrganization, replaceOrganization } from '../../store/organizations/organizations.ts';
import { createPet, getPet } from '../../store/pets/pets.ts';
import { addUsage, usageByHour } from '../usage/counts.ts';
import { addRequests, listRequests } from '../usage/log.ts';
import { deleteBatch, nextDeletion } from './deletion.ts';

const DAY = 24 * 60 * 60 * 1000;
const NOON = Date.UTC(2026, 10, 20, 12);

/** The account to delete, and another one. */
const ann = { accountId: 1, admin: false };
const ben = { accountId: 2, admin: false };

const SECRET = 'Ann Smith, 5 Elm Street';

/** Opens both databases with the accounts, each with a key. */
async function openStore(engine: Engine) {
  const clock = testClock(NOON);
  const [accounts, staging] = [await engine.open({ clock }), await engine.open({ clock })];
  await accounts.write(async tx => {
    await createAccount(tx, { email: 'ann@example.org', name: SECRET, admin: true });
    await createAccount(tx, { email: 'ben@example.org', name: 'Ben' });
    await createAccount(tx, { email: 'admin@example.org', name: 'The other admin', admin: true });
    for (const accountId of [1, 2]) await createKey(tx, { accountId, deployment: 'production' });
  });
  return {
    ...{ clock, accounts, staging },
    /** Requests the deletion of the account with a grace period of one day, and moves the clock to the end of that. */
    async due() {
      await accounts.write(tx => requestDeletion(tx, 1, DAY));
      clock.advance(DAY + 60_000);
    },
    /** Runs the deletion in a limited number of transactions. */
    async finish(databases: { accounts: Database; staging?: Database } = { accounts, staging }) {
      for (let batch = 0; batch < 200; batch++) if ((await deleteBatch(databases, clock.now())) === 0) return;
      assert.fail('the deletion does not end');
    },
  };
}

/** Fills a deployment: three animals of each account, and orders, holds and messages of the other account for them. */
async function fill(tx: Transaction) {
  for (const { accountId } of [ann, ann, ann, ben, ben, ben]) {
    await createPet(tx, accountId, { name: 'x', categoryId: 1 }, 'open');
  }
  await placeOrder(tx, ben, { petId: 1, note: 'Ben' });
  await createHold(tx, ben, { petIds: [2, 4] }, 100);
  await placeOrder(tx, ann, { petId: 5, note: SECRET });
  await createHold(tx, ann, { petIds: [6], note: SECRET }, 100);
  await placeOrder(tx, ben, { petId: 3 });
  await approveOrder(tx, ann, 3, { note: SECRET });
  await deliverOrder(tx, ann, 3, {});
  await sendMessage(tx, ann, { message: SECRET, petId: 4, replyTo: 'ann@example.org' });
  const { id } = await sendNotification(tx, ann.accountId, `Dear ${SECRET}`);
  await addNote(tx, { id, toAccountId: ann.accountId }, SECRET, 1000);
  await blockSender(tx, ann.accountId, { accountId: ben.accountId, petId: null, replyTo: null });
  // More events than one batch deletes.
  for (let line = 0; line < 60; line++) {
    await replaceOrganization(tx, ann, 1, {
      name: SECRET,
      phone: `${line}`,
      address: { line1: SECRET, country: 'US' },
    });
  }
  await replaceOrganization(tx, ben, 2, { name: 'Ben' });
  await createWebhook(tx, ann, { url: 'https://ann.example.org/' }, { max: 10, networks: [] }, encryptor);
}

/** The hours in which accounts send requests: more than a batch of the deletion. */
const HOURS = 60;

/** Counts and logs a request of each account to each deployment in each hour. */
async function useBothDeployments(tx: Transaction, accountIds: readonly number[]) {
  for (const deployment of ['production', 'staging'] as const) {
    for (const accountId of accountIds) {
      const of = { accountId, deployment, keyId: `key ${accountId}` };
      const hours = Array.from({ length: HOURS }, (_, hour) => hour);
      const counts = { succeeded: 1, clientErrors: 0, rateLimited: 0, banned: 0, serverErrors: 0, unlogged: 0 };
      await addUsage(
        tx,
        hours.map(hour => ({ ...of, ...counts, hour })),
      );
      const request = {
        method: 'GET',
        path: '/v1/pets',
        operation: 'listPets',
        status: 200,
        code: null,
        durationMs: 1,
      };
      await addRequests(
        tx,
        hours.map(hour => ({ ...of, ...request, requestId: `${hour}`, time: tx.now })),
      );
    }
  }
}

const usageRows = query(db =>
  db.selectNoFrom(({ selectFrom, fn }) => [
    selectFrom('usage').select(fn.countAll<number>().as('rows')).as('usage'),
    selectFrom('requests').select(fn.countAll<number>().as('rows')).as('requests'),
  ]),
);
const allEvents = query(db => db.selectFrom('events').select('data').orderBy('id'));
const facts = query(db => db.selectFrom('facts').select('name').where('name', 'like', 'deletion%'));

onEachEngine(engine => {
  describe('the deletion of an account', () => {
    it('deletes its password, sessions and links', async () => {
      const { accounts, due, finish, clock } = await openStore(engine);
      const { email } = await getAccount(accounts, 1);
      const { secret } = await accounts.write(async tx => {
        await storePassword(tx, 1, 'a hash');
        await startSession(tx, 1, { address: '', userAgent: '' });
        return createLink(tx, { personId: 1, purpose: 'confirm', email });
      });
      await due();
      assert.notEqual(await findLink(accounts, secret, clock.now()), undefined);
      await finish();
      assert.equal(await findPassword(accounts, 1), undefined);
      assert.deepEqual(await listSessions(accounts, 1, clock.now()), []);
      assert.equal(await findLink(accounts, secret, clock.now()), undefined);
    });

    it('deletes its usage and request log of both deployments, and keeps those of others', async () => {
      const { accounts, due, finish } = await openStore(engine);
      await accounts.write(tx => useBothDeployments(tx, [ann.accountId, ben.accountId]));
      assert.deepEqual(await accounts.first(usageRows, {}), { usage: 240, requests: 240 });
      await due();
      await finish();
      assert.deepEqual(await accounts.first(usageRows, {}), { usage: 120, requests: 120 });
      for (const deployment of ['production', 'staging'] as const) {
        const range = { accountId: ben.accountId, deployment, from: 0, until: HOURS };
        assert.equal((await usageByHour(accounts, range)).length, HOURS);
      }
      const { rows } = await listRequests(accounts, ben.accountId, {}, { limit: 1000 });
      assert.equal(rows.length, 2 * HOURS);
    });

    it('ends its orders and holds and deletes its animals, webhooks and texts on both deployments', async () => {
      const { accounts, staging, clock, due, finish } = await openStore(engine);
      await accounts.write(fill);
      await staging.write(fill);
      await due();
      await finish();
      const now = clock.now();
      for (const database of [accounts, staging]) {
        for (const id of [1, 2, 3]) await assert.rejects(getPet(database, id, now), { code: 'pet_not_found' });
        for (const id of [4, 5, 6]) assert.equal((await getPet(database, id, now)).status, 'available');
        const orders = await Promise.all([1, 2, 3].map(id => getOrder(database, operator, id, now)));
        assert.deepEqual(
          orders.map(({ status, note }) => [status, note]),
          [
            ['cancelled', 'Ben'],
            ['cancelled', null],
            ['delivered', null],
          ],
        );
        assert.equal((await getHold(database, operator, 1, now)).status, 'expired');
        assert.equal((await getHold(database, operator, 2, now)).note, null);
        const message = await getMessage(database, operator, 1);
        assert.deepEqual([message.message, message.replyTo], ['[deleted]', null]);
        // The count that retention subtracts once it deletes the message.
        assert.equal(await storedBytes.read(database, ann.accountId), Buffer.byteLength('[deleted]'));
        assert.deepEqual(await listNotes(database, { id: 2, toAccountId: ann.accountId }), []);
        assert.deepEqual(await listBlocked(database, ann.accountId), []);
        await assert.rejects(getWebhook(database, operator, 1), { code: 'webhook_not_found' });
        await assert.rejects(getOrganization(database, operator, 1), { code: 'organization_not_found' });
        assert.equal((await getOrganization(database, operator, 2)).name, 'Ben');
        const events = JSON.stringify(await database.all(allEvents, {}));
        assert.ok(!events.includes('Ann Smith') && events.includes('Ben'));
        assert.deepEqual(await database.all(facts, {}), []);
      }
    });

    it('revokes its keys, and replaces its name and e-mail address, which can be used again', async () => {
      const { accounts, clock, due, finish } = await openStore(engine);
      await due();
      await finish();
      const { deletedAt, ...account } = await getAccount(accounts, 1);
      assert.deepEqual(
        [account.email, account.name, account.admin, deletedAt, account.deleteAt],
        ['deleted-1@account.invalid', 'Deleted account', false, clock.now(), undefined],
      );
      assert.deepEqual(
        (await listKeys(accounts)).map(({ accountId, revokedAt }) => [accountId, revokedAt !== null]).sort(),
        [
          [1, true],
          [2, false],
        ],
      );
      const events: Event<{ was?: object }>[] = await eventsOf(accounts, 'account', 1);
      assert.deepEqual(
        events.map(({ action }) => action),
        ['created', 'deletion_requested', 'deleted'],
      );
      await accounts.write(tx => createAccount(tx, { email: 'ann@example.org', name: 'Ann' }));
      for (const change of [resumeAccount, (tx: Transaction) => requestDeletion(tx, 1, 0)]) {
        await assert.rejects(
          accounts.write(tx => change(tx, 1)),
          /account 1 was deleted/,
        );
      }
      await assert.rejects(
        accounts.write(tx => createKey(tx, { accountId: 1, deployment: 'production' })),
        /account 1 was deleted/,
      );
    });

    it('begins after the grace period, and not at all if the account is resumed', async () => {
      const { accounts, staging, clock } = await openStore(engine);
      const account = await getAccount(accounts, 1);
      const requested = await accounts.write(tx => requestDeletion(tx, 1, DAY));
      assert.deepEqual(requested, { ...account, suspendedAt: NOON, deleteAt: NOON + DAY });
      const dueAt = query((db, _, name) => db.selectNoFrom(nextDeletion(true)(db, name).as('dueAt')));
      assert.equal((await accounts.first(dueAt, {}))!.dueAt, NOON + DAY + 60_000);
      clock.advance(DAY + 59_999);
      assert.equal(await deleteBatch({ accounts, staging }, clock.now()), 0);
      await assert.rejects(
        accounts.write(tx => resumeAccount(tx, 1)),
        /grace period of account 1 is over/,
      );
      await accounts.write(tx => requestDeletion(tx, 2, DAY));
      await accounts.write(tx => resumeAccount(tx, 2));
      clock.advance(2 * DAY);
      for (let batch = 0; batch < 100; batch++) await deleteBatch({ accounts, staging }, clock.now());
      assert.equal((await getAccount(accounts, 2)).name, 'Ben');
      assert.equal((await accounts.first(dueAt, {}))!.dueAt, null);
    });

    it('continues after an interruption at any point', async () => {
      const { accounts, staging, clock, due } = await openStore(engine);
      await accounts.write(fill);
      await staging.write(fill);
      await due();
      const interrupted = interruptions();
      const databases = { accounts: interrupted(accounts), staging: interrupted(staging) };
      let rows = 1;
      for (let attempt = 0; rows > 0; attempt++) {
        assert.ok(attempt < 200, 'the deletion does not end');
        rows = await deleteBatch(databases, clock.now()).catch(error => {
          assert.equal(error.message, INTERRUPTED);
          return 1;
        });
      }
      assert.ok((await getAccount(accounts, 1)).deletedAt);
      for (const database of [accounts, staging]) {
        assert.ok(!JSON.stringify(await database.all(allEvents, {})).includes('Ann Smith'));
      }
    });

    it('waits with staging until a process serves it', async () => {
      const { accounts, staging, clock, due, finish } = await openStore(engine);
      await staging.write(fill);
      await due();
      await finish({ accounts });
      assert.ok((await getAccount(accounts, 1)).deletedAt);
      assert.equal((await getPet(staging, 1, clock.now())).accountId, 1);
      await finish();
      await assert.rejects(getPet(staging, 1, clock.now()), { code: 'pet_not_found' });
    });

    it('can run in several processes', async () => {
      const { accounts, staging, clock, due, finish } = await openStore(engine);
      await accounts.write(fill);
      await staging.write(fill);
      await due();
      await Promise.all([finish(), finish(), finish()]);
      const events = await eventsOf(accounts, 'account', 1);
      assert.equal(events.filter(({ action }) => action === 'deleted').length, 1);
      assert.equal(await deleteBatch({ accounts, staging }, clock.now()), 0);
    });
  });
});
