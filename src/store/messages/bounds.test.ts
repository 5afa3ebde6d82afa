import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { randomFrom } from '../../../test/model/requests.ts';
import { onEachEngine } from '../../../test/support/engines.ts';
import { requestWithKey } from '../../../test/support/keyed-request.ts';
import { withIdempotency } from '../../access/idempotency/idempotency.ts';
import { storedBytes } from '../../access/plans/stored-bytes.ts';
import { testClock } from '../../lib/clock.ts';
import { Problem } from '../../lib/http/problem.ts';
import { type Bounds, plans } from '../../model/plan.ts';
import { type Params, query, sql, type Transaction } from '../../model/schema.ts';
import { retentionJob } from '../../operate/retention.ts';
import { createPet } from '../pets/pets.ts';
import { inboxDelivery } from './inbox-delivery.ts';
import { getMessage, sendMessage } from './messages.ts';
import { deleteMessages } from './retention.ts';
import { bytesStored, messageValues } from './rows.ts';

const noon = Date.parse('2026-11-21T12:00:00Z');
const bob = { accountId: 2, admin: false };
const eve = { accountId: 3, admin: false };

onEachEngine(engine => {
  /** Opens a database with pets 1 and 2 of account 1, and pet 3 of account 4. */
  async function setUp(bounds: Partial<Bounds> = {}) {
    const clock = testClock(noon);
    const database = await engine.open({ clock });
    for (const owner of [1, 1, 4]) {
      await database.write(tx => createPet(tx, owner, { name: 'Minka', categoryId: 2 }, 'open'));
    }
    const max = { ...plans.enterprise.bounds, ...bounds };
    /** Sends a message, and returns `sent` or the error code with its Retry-After. */
    const send = (petId?: number, from = bob, message = 'Hello') =>
      database
        .write(tx => sendMessage(tx, from, { message, ...(petId !== undefined && { petId }) }, max))
        .then(() => 'sent', codeOf);
    return { clock, database, send };
  }

  describe('the bound of messages to one recipient', () => {
    it('is exact for many concurrent messages', async () => {
      const { send } = await setUp({ messagesPerRecipient: 7 });
      const results = await Promise.all(Array.from({ length: 40 }, (_, n) => send(1 + (n % 2))));
      assert.equal(results.filter(result => result === 'sent').length, 7);
      assert.equal(results.filter(result => result === 'message_limit_exceeded 60').length, 33);
    });

    it('counts each sender and each recipient for itself, the store included', async () => {
      const { send } = await setUp({ messagesPerRecipient: 1 });
      const recipients = [1, 3, undefined];
      for (const petId of recipients) assert.equal(await send(petId), 'sent', `${petId}`);
      for (const petId of [2, ...recipients]) assert.equal(await send(petId), 'message_limit_exceeded 60', `${petId}`);
      for (const petId of recipients) assert.equal(await send(petId, eve), 'sent', `${petId}`);
    });

    it('holds in any 60 seconds, and says when the next message is accepted', async () => {
      const { clock, send } = await setUp({ messagesPerRecipient: 3 });
      for (let n = 0; n < 3; n++) {
        assert.equal(await send(1), 'sent');
        clock.advance(10_000);
      }
      assert.equal(await send(1), 'message_limit_exceeded 30');
      clock.advance(29_999);
      assert.equal(await send(1), 'message_limit_exceeded 1');
      clock.advance(1);
      assert.equal(await send(1), 'sent');
      assert.equal(await send(1), 'message_limit_exceeded 10');
      // Rejected messages do not count.
      for (const wait of [10_000, 10_000, 40_000, 10_000]) {
        clock.advance(wait);
        assert.equal(await send(1), 'sent');
      }
    });
  });

  describe('the bound of stored bytes', () => {
    it('counts the bytes of texts, exactly for many concurrent messages', async () => {
      const { database, send } = await setUp({ storedBytes: 100 });
      // Two characters with four bytes each.
      const results = await Promise.all(Array.from({ length: 20 }, () => send(1, bob, '🐈🐈')));
      assert.equal(results.filter(result => result === 'sent').length, 12);
      assert.equal(results.filter(result => result === 'storage_limit_exceeded').length, 8);
      assert.equal(await storedBytes.read(database, bob.accountId), 96);
      assert.equal(await send(1, bob, 'four'), 'sent');
      assert.equal(await send(1, bob, '!'), 'storage_limit_exceeded');
      assert.equal(await send(1, eve, '!'), 'sent');
      await assert.rejects(getMessage(database, bob, 15), { code: 'message_not_found' });
    });

    it('agrees with the rows after random messages, responses, expiries and deletions', async t => {
      const { clock, database } = await setUp();
      const seed = Number(process.env['PETSTORE_TEST_SEED'] ?? Date.now() % 1_000_000);
      t.diagnostic(`PETSTORE_TEST_SEED=${seed}`);
      const random = randomFrom(seed);
      const bounds = { messagesPerRecipient: 5, storedBytes: 3000 };

      /** Sends a message of some account, usually with one of few keys. */
      const send = async () => {
        const accountId = 1 + random(3);
        const key = `${random(8)}`;
        const body = {
          message: ['x', 'ß', '🐈', '"\n'][random(4)]!.repeat(1 + random(200)),
          ...(random(2) === 0 && { replyTo: 'jo@example.org' }),
        };
        const request = requestWithKey(random(5) > 0 ? key : '', { database, clock, accountId, body, bounds });
        const handler = async (tx: Transaction) => ({
          body: messageValues.plainOf(await sendMessage(tx, { accountId, admin: false }, body, bounds)),
        });
        await withIdempotency(request, handler, random(2) === 0 ? { echoed: ['message'] } : {}).catch(codeOf);
      };
      const wait = async () => clock.advance(random(20 * HOUR));
      const deliver = () => inboxDelivery({ database }).claim(1);
      const retain = () => retentionJob({ database, messagesKeptMs: 48 * HOUR }).claim(1);
      const deleteSome = () => database.write(tx => deleteMessages(tx, [{ id: random(200) }, { id: random(200) }]));

      for (let round = 0; round < 60; round++) {
        await Promise.all(Array.from({ length: random(6) }, send));
        await [wait, deliver, retain, deleteSome][random(4)]!();
        for (const { accountId, bytes } of await database.all(bytesOfRows, {})) {
          assert.equal(await storedBytes.read(database, accountId), bytes, `account ${accountId}, round ${round}`);
          assert.ok(bytes <= 3000);
        }
      }
      const [{ sent }] = (await database.all(lastSent, {})) as [{ sent: number }];
      assert.ok(sent > 20, `${sent} messages`);
    });
  });
});

const HOUR = 60 * 60 * 1000;

const bytesOfRows = query((db, _: Params<Record<never, never>>) =>
  db.selectFrom('stored_bytes').select(({ selectFrom }) => [
    'account_id as accountId',
    sql<number>`(${selectFrom('messages')
      .select(({ fn }) => fn.coalesce(fn.sum<number>(bytesStored), sql.lit(0)).as('bytes'))
      .whereRef('messages.account_id', '=', 'stored_bytes.account_id')})
        + (${selectFrom('idempotency')
          .select(({ fn }) => fn.coalesce(fn.sum<number>(sql`octet_length(body)`), sql.lit(0)).as('bytes'))
          .whereRef('idempotency.account_id', '=', 'stored_bytes.account_id')})`.as('bytes'),
  ]),
);

const lastSent = query(db => db.selectFrom('messages').select(({ fn }) => fn.max('id').as('sent')));

function codeOf(error: unknown): string {
  if (!(error instanceof Problem)) throw error;
  return [error.code, error.headers?.[1]].filter(Boolean).join(' ');
}
