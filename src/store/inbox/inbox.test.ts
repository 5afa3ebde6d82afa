import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Engine, onEachEngine, silent } from '../../../test/support/engines.ts';
import { storedBytes } from '../../access/plans/stored-bytes.ts';
import { canSee } from '../../events/public/visibility.ts';
import { testClock } from '../../lib/clock.ts';
import { eventsOf } from '../../model/log/log.ts';
import { type LoggedData, withOwners } from '../../model/log/owners.ts';
import type { ReceivedMessage } from '../../model/message.ts';
import { BLOCKED_SENDERS_MAX, NOTES_MAX } from '../../model/rules.ts';
import { type Database, type Params, query } from '../../model/schema.ts';
import { retentionJob } from '../../operate/retention.ts';
import { blockSender, listBlocked, unblockSender } from '../messages/blocks.ts';
import { emailDelivery } from '../messages/email-delivery.ts';
import type { Email } from '../messages/email-sender.ts';
import { inboxDelivery } from '../messages/inbox-delivery.ts';
import { getMessage, sendMessage, sendNotification } from '../messages/messages.ts';
import { createPet } from '../pets/pets.ts';
import { sendUnconfirmed } from '../visitor-messages/visitor-messages.ts';
import { deleteInboxOf, inboxPages } from './clean-up.ts';
import {
  countUnread,
  type InboxFolder,
  listInbox,
  markRead,
  markUnread,
  moveMessage,
  petsInInbox,
  UNREAD_COUNTED_MAX,
} from './list.ts';
import { addNote, deleteNote, listNotes } from './notes.ts';

const NOON = Date.UTC(2026, 10, 28, 12);
const DAY = 86_400_000;
const owner = { accountId: 7, admin: false };
const bob = { accountId: 2, admin: false };

onEachEngine(engine => {
  describe('the folders of an inbox', () => {
    it('begin with unread messages, which are read, unread, archived and put back', async () => {
      const { database, write, send, subjects } = await setUp(engine);
      const [one, two] = [await send('one'), await send('two')];
      assert.deepEqual(await subjects('open'), ['two', 'one']);
      assert.deepEqual(await subjects('unread'), ['two', 'one']);
      await write(tx => markRead(tx, one));
      assert.deepEqual([await subjects('unread'), await countUnread(database, 7)], [['two'], 1]);
      await write(tx => markUnread(tx, one));
      assert.equal(await countUnread(database, 7), 2);
      await write(tx => moveMessage(tx, two, 'archived'));
      assert.deepEqual([await subjects('open'), await subjects('archived')], [['one'], ['two']]);
      assert.equal(await countUnread(database, 7), 1);
      await write(async tx => moveMessage(tx, { ...two, folder: 'archived' }, null));
      assert.deepEqual([await subjects('open'), await subjects('archived')], [['two', 'one'], []]);
      assert.deepEqual(await subjects('unread'), ['one']);
    });

    it('are those of one account, and filter by animal', async () => {
      const { database, write, send, subjects } = await setUp(engine);
      await send('about 1', 1);
      await send('about 2', 2);
      await send('to another', 3);
      await write(tx => sendNotification(tx, 7, 'from the store'));
      await deliver(database);
      assert.deepEqual(await subjects('open'), ['from the store', 'about 2', 'about 1']);
      assert.deepEqual(await subjects('open', 1), ['about 1']);
      assert.deepEqual(await subjects('unread', 2), ['about 2']);
      assert.deepEqual(await petsInInbox(database, 7), [2, 1]);
    });

    it('have pages, newest first', async () => {
      const { database, send } = await setUp(engine);
      for (let n = 0; n < 5; n++) await send(`${n}`);
      const first = await listInbox(database, 7, { folder: 'unread' }, { limit: 3 });
      assert.deepEqual(textsOf(first.rows), ['4', '3', '2']);
      const second = await listInbox(database, 7, { folder: 'unread' }, { limit: 3, cursor: first.next! });
      assert.deepEqual(textsOf(second.rows), ['1', '0']);
      await assert.rejects(listInbox(database, 7, { folder: 'open' }, { limit: 3, cursor: first.next! }), {
        code: 'invalid_parameter',
      });
    });

    it('count unread messages up to a maximum', async () => {
      const { database, write } = await setUp(engine);
      await write(async tx => {
        for (let n = 0; n <= UNREAD_COUNTED_MAX; n++) await sendNotification(tx, 7, `${n}`);
      });
      await deliver(database);
      assert.equal(await countUnread(database, 7), UNREAD_COUNTED_MAX);
    });

    it('change nothing that the sender sees', async () => {
      const { database, write, send } = await setUp(engine);
      const message = await send('Hello');
      const seen = async () => {
        const { version, updatedAt, status } = await getMessage(database, bob, message.id);
        return [version, updatedAt, status, (await eventsOf(database, 'message', message.id)).length];
      };
      const before = await seen();
      await write(async tx => {
        await markRead(tx, message);
        await moveMessage(tx, message, 'spam');
        await addNote(tx, message, 'A note', 1000);
      });
      assert.deepEqual(await seen(), before);
    });
  });

  describe('spam', () => {
    it('blocks the account that sent it, until the message is put back', async () => {
      const { database, write, send, subjects } = await setUp(engine);
      const message = await send('Buy!');
      await write(tx => moveMessage(tx, message, 'spam'));
      await send('Buy now!');
      await send('Hello', 1, 3);
      assert.deepEqual([await subjects('open'), await subjects('spam')], [['Hello'], ['Buy now!', 'Buy!']]);
      assert.equal(await countUnread(database, 7), 1);
      await write(tx => moveMessage(tx, { ...message, folder: 'spam' }, null));
      assert.deepEqual(await listBlocked(database, 7), []);
      await send('I am back');
      assert.deepEqual(await subjects('open'), ['I am back', 'Hello', 'Buy!']);
    });

    it('blocks the address of a visitor, in any case of letters, for this account only', async () => {
      const { database, write, visit, subjects } = await setUp(engine);
      const message = await visit('jo@example.org', 1);
      await write(tx => moveMessage(tx, message, 'spam'));
      await visit('JO@Example.org', 1);
      await visit('ann@example.org', 1);
      await visit('jo@example.org', 3);
      assert.equal((await subjects('spam')).length, 2);
      assert.equal((await subjects('open')).length, 1);
      assert.equal((await listInbox(database, 8, { folder: 'open' }, { limit: 9 })).rows.length, 1);
      const [block] = await listBlocked(database, 7);
      assert.equal(block!.sender, 'jo@example.org');
      assert.equal(await write(tx => unblockSender(tx, 8, block!.id)), false, 'of another account');
      assert.equal(await write(tx => unblockSender(tx, 7, block!.id)), true);
      await visit('jo@example.org', 1);
      assert.equal((await subjects('open')).length, 2);
    });

    it('is neither mailed nor notified, and its sender sees the same as for other messages', async () => {
      const { database, write, send } = await setUp(engine, true);
      const sent: string[] = [];
      const mailed = async () => {
        const sender = {
          async send({ text }: Email) {
            sent.push(text);
            return undefined;
          },
        };
        const job = emailDelivery({ database, sender, log: silent });
        for (const one of (await job.claim(10)).jobs) await job.run(one, new AbortController().signal);
      };
      const wanted = await send('wanted');
      await mailed();
      await write(tx => blockSender(tx, 7, wanted));
      const spam = await send('spam');
      await mailed();
      assert.deepEqual(sent, ['wanted']);
      const seen = async ({ id }: ReceivedMessage) => {
        const { status, version, emailAttempts } = await getMessage(database, bob, id);
        return { status, version, attempts: emailAttempts.map(({ outcome, reason }) => ({ outcome, reason })) };
      };
      assert.deepEqual(await seen(spam), await seen(wanted));
      assert.deepEqual((await seen(spam)).attempts, [{ outcome: 'delivered', reason: null }]);
      const visible = async ({ id }: ReceivedMessage, accountId: number) => {
        const events = await eventsOf<LoggedData>(database, 'message', id);
        const owned = await withOwners(
          database,
          events.map(event => ({ ...event, position: event.id })),
        );
        return owned.filter(event => canSee({ accountId, admin: false }, event)).map(({ action }) => action);
      };
      assert.deepEqual([await visible(wanted, 7), await visible(spam, 7)], [['delivered'], []]);
      assert.deepEqual(await visible(spam, 2), await visible(wanted, 2));
    });

    it('never blocks the store itself', async () => {
      const { database, write, subjects } = await setUp(engine);
      const { id } = await write(tx => sendNotification(tx, 7, 'Dear owner'));
      await deliver(database);
      const message = (await getMessage(database, owner, id)) as ReceivedMessage;
      await write(tx => moveMessage(tx, message, 'spam'));
      assert.deepEqual(await listBlocked(database, 7), []);
      await write(tx => sendNotification(tx, 7, 'Again'));
      await deliver(database);
      assert.deepEqual(await subjects('open'), ['Again']);
    });

    it(`blocks at most ${BLOCKED_SENDERS_MAX} senders: the one that has not written for longest goes`, async () => {
      const { database, write, clock, visit } = await setUp(engine);
      const block = (email: string) => write(tx => blockSender(tx, 7, { accountId: null, petId: 1, replyTo: email }));
      for (const email of ['writes@example.org', 'silent@example.org']) {
        await block(email);
        clock.advance(1);
      }
      await visit('writes@example.org', 1);
      await write(async tx => {
        for (let n = 2; n < BLOCKED_SENDERS_MAX; n++) {
          await tx.run(insertBlock, { sender: `${n}@example.org`, at: tx.now });
        }
      });
      await block('last@example.org');
      const senders = new Set((await listBlocked(database, 7)).map(({ sender }) => sender));
      assert.equal(senders.size, BLOCKED_SENDERS_MAX);
      assert.ok(senders.has('writes@example.org') && senders.has('last@example.org'));
      assert.ok(!senders.has('silent@example.org'));
      await block('last@example.org');
      assert.equal((await listBlocked(database, 7)).length, BLOCKED_SENDERS_MAX);
    });
  });

  describe('notes on a message', () => {
    it('are added, listed and deleted, and count as stored bytes', async () => {
      const { database, write, send } = await setUp(engine);
      const [message, other] = [await send('one'), await send('two')];
      await write(tx => addNote(tx, message, 'Zwölf', 100));
      await write(tx => addNote(tx, message, 'Two', 100));
      const notes = await listNotes(database, message);
      assert.deepEqual(
        notes.map(({ text }) => text),
        ['Zwölf', 'Two'],
      );
      assert.equal(await storedBytes.read(database, 7), 9);
      await write(tx => deleteNote(tx, other, notes[0]!.id));
      assert.equal((await listNotes(database, message)).length, 2, 'a note of another message');
      await write(tx => deleteNote(tx, message, notes[0]!.id));
      assert.equal(await storedBytes.read(database, 7), 3);
      await assert.rejects(
        write(tx => addNote(tx, message, 'Four', 6)),
        { code: 'storage_limit_exceeded' },
      );
      assert.equal((await listNotes(database, message)).length, 1);
    });

    it(`are at most ${NOTES_MAX}, also for concurrent writers`, async () => {
      const { database, write, send } = await setUp(engine);
      const message = await send('one');
      const written = await Promise.allSettled(
        Array.from({ length: NOTES_MAX + 5 }, (_, n) => write(tx => addNote(tx, message, `${n}`, 1000))),
      );
      const refused = written.flatMap(result => (result.status === 'rejected' ? [result.reason.code] : []));
      assert.deepEqual(refused, Array(5).fill('note_limit_exceeded'));
      assert.equal((await listNotes(database, message)).length, NOTES_MAX);
    });
  });

  describe('retention and deletion', () => {
    it('delete notes with their message, and blocks of senders that have not written as long', async () => {
      const { database, write, send, clock } = await setUp(engine);
      const message = await send('old');
      await write(async tx => {
        await addNote(tx, message, 'A note', 100);
        await blockSender(tx, 7, message);
        await blockSender(tx, 7, { ...message, accountId: 99 });
      });
      clock.advance(20 * DAY);
      await send('renews the block');
      clock.advance(11 * DAY);
      const job = retentionJob({ database, messagesKeptMs: 30 * DAY });
      while ((await job.claim(1)).rows > 0);
      assert.deepEqual(await listNotes(database, message), []);
      assert.equal(await storedBytes.read(database, 7), 0);
      assert.deepEqual(
        (await listBlocked(database, 7)).map(({ sender }) => sender),
        ['account 2'],
      );
    });

    it('delete and export everything that an account stores about its messages, in batches', async () => {
      const { database, write, send } = await setUp(engine);
      const [message, other] = [await send('one'), await send('to another', 3)];
      await write(async tx => {
        for (let n = 0; n < 5; n++) await addNote(tx, message, `${n}`, 100);
        for (const blocker of [7, 8]) await blockSender(tx, blocker, message);
        await addNote(tx, other, 'of another', 100);
      });
      const exported = async (part: 'notes' | 'blockedSenders') => {
        const pages = await Array.fromAsync(inboxPages(database, part, 7));
        return pages.flat().length;
      };
      assert.deepEqual([await exported('notes'), await exported('blockedSenders')], [5, 1]);
      const sizes: number[] = [];
      while (sizes.at(-1) !== 0) sizes.push(await write(tx => deleteInboxOf(tx, 7, 3)));
      assert.deepEqual(sizes, [3, 2, 1, 0]);
      assert.deepEqual([await exported('notes'), await exported('blockedSenders')], [0, 0]);
      assert.deepEqual([await storedBytes.read(database, 7), await storedBytes.read(database, 8)], [0, 10]);
      assert.equal((await listBlocked(database, 8)).length, 1);
    });
  });
});

/** Opens a database with the animals 1 and 2 of account 7, and 3 of account 8. @param mails whether messages are mailed */
async function setUp(engine: Engine, mails = false) {
  const clock = testClock(NOON);
  const database = await engine.open({ clock });
  const write = database.write.bind(database) as Database['write'];
  await write(async tx => {
    for (const accountId of [7, 7, 8]) await createPet(tx, accountId, { name: 'Bella', categoryId: 1 }, 'open');
    if (mails) await tx.run(insertAccount, {});
  });
  const received = async (id: number) => {
    await deliver(database, mails);
    return (await getMessage(database, { accountId: null, admin: true }, id)) as ReceivedMessage;
  };
  let addresses = 0;
  return {
    ...{ clock, database, write },
    /** Sends a message of an account and delivers it. */
    async send(message: string, petId = 1, accountId = bob.accountId) {
      const { id } = await write(tx => sendMessage(tx, { accountId, admin: false }, { message, petId }));
      return received(id);
    },
    /** The same for a visitor. */
    async visit(email: string, petId: number) {
      const message = { petId, name: 'Jo', email, text: 'Hello' };
      const { id } = await write(tx => sendUnconfirmed(tx, { address: `192.0.2.${++addresses}`, message }));
      return received(id);
    },
    /** The texts in a folder of account 7. */
    async subjects(folder: InboxFolder, petId?: number) {
      return textsOf((await listInbox(database, 7, { folder, petId }, { limit: 100 })).rows);
    },
  };
}

async function deliver(database: Database, mails = false): Promise<void> {
  await inboxDelivery({ database, ...(mails && { emailQueued() {} }) }).claim(1);
}

const textsOf = (rows: readonly ReceivedMessage[]) => rows.map(({ message }) => message);

const insertBlock = query((db, p: Params<{ sender: string; at: number }>) =>
  db.insertInto('blocked_senders').values({ account_id: 7, sender: p.sender, created_at: p.at, last_at: p.at }),
);

const insertAccount = query(db =>
  db
    .insertInto('accounts')
    .values({ id: 7, email: 'owner@example.org', name: 'Owner', plan: 'free', created_at: NOON, admin: 0 }),
);
