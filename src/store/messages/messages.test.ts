import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { onEachEngine, silent } from '../../../test/support/engines.ts';
import { waitUntil } from '../../../test/support/wait-until.ts';
import { createAccount } from '../../access/accounts/accounts.ts';
import { testClock } from '../../lib/clock.ts';
import { eventsOf } from '../../model/log/log.ts';
import { MESSAGE_LENGTH_MAX, type MessageEventData, type MessageRow, textError } from '../../model/message.ts';
import { type Database, query } from '../../model/schema.ts';
import { nextDueTimes, startJobs } from '../../operate/jobs.ts';
import { createPet } from '../pets/pets.ts';
import { emailDelivery } from './email-delivery.ts';
import type { Email, EmailFailure, EmailSender } from './email-sender.ts';
import { inboxDelivery } from './inbox-delivery.ts';
import { listMessages } from './list.ts';
import { getMessage, sendMessage, sendNotification } from './messages.ts';

const noon = Date.parse('2026-11-21T12:00:00Z');
const actor = (accountId: number, admin = false) => ({ accountId, admin });
const [ada, bob, root] = [actor(1), actor(2), actor(3, true)];

const anyQueued = query(db => db.selectFrom('messages').select('id').where('status', '=', 'queued').limit(1));
const untaken = query(db => db.selectFrom('messages').select('id').where('leased', '=', 0).limit(1));

const settled = (database: Database) => waitUntil(async () => (await database.first(anyQueued, {})) === undefined);

/** A sender that stores its e-mails and returns the given results. */
function mailbox(
  answer: (mail: Email) => EmailFailure | undefined | Promise<EmailFailure | undefined> = () => undefined,
) {
  const emails: Email[] = [];
  const sender: EmailSender = {
    async send(mail) {
      emails.push(mail);
      return answer(mail);
    },
  };
  return { emails, sender };
}

/** Creates two accounts, an admin, and a pet of the first account. */
async function fill(database: Database) {
  await database.write(async tx => {
    for (const [email, admin] of [
      ['ada@example.org', false],
      ['bob@example.org', false],
      ['root@example.org', true],
    ] as const) {
      await createAccount(tx, { email, name: 'x', admin });
    }
    await createPet(tx, 1, { name: 'Minka', categoryId: 2 }, 'open');
  });
}

describe('the text of a message', () => {
  it('has 1 to 10,000 characters of well-formed Unicode', () => {
    for (const text of ['x', ' ', '\n', '\t', 'a\r\nb', '🐈'.repeat(MESSAGE_LENGTH_MAX), '\u0007', '\ufeff', '<b>']) {
      assert.equal(textError(text), undefined, JSON.stringify(text.slice(0, 20)));
    }
    for (const text of ['', 'a\0b', '\ud800', 'x\udc00', 'x'.repeat(10_001), '🐈'.repeat(10_001)]) {
      assert.notEqual(textError(text), undefined, JSON.stringify(text.slice(0, 20)));
    }
  });
});

onEachEngine(engine => {
  /** Runs `work` on a filled database while its messages are delivered. */
  async function within(
    sender: EmailSender | undefined,
    work: (
      database: Database,
      clock: ReturnType<typeof testClock>,
      send: (from: typeof ada, text: string, more?: { petId?: number; replyTo?: string }) => Promise<MessageRow>,
    ) => Promise<void>,
  ) {
    const clock = testClock(noon);
    const database = await engine.open({ clock });
    await fill(database);
    const worker = startJobs({ database, clock, log: silent, emailSender: sender });
    try {
      await work(database, clock, async (from, message, more = {}) => {
        const row = await database.write(tx => sendMessage(tx, from, { message, ...more }));
        worker.wake('messages');
        return row;
      });
    } finally {
      await worker.close(5000);
    }
  }

  const list = async (database: Database, who: typeof ada, box: 'sent' | 'inbox') =>
    (await listMessages(database, who, box, { limit: 100 })).rows.map(({ id }) => id);

  describe('a message', () => {
    it('is delivered to the inbox of the owner of the pet or of the store, and visible to nobody else', async () => {
      await within(undefined, async (database, _, send) => {
        const toAda = await send(bob, 'Is Minka\tnice?\n🐈', { petId: 1, replyTo: 'jo@example.org' });
        const toStore = await send(bob, 'Hello');
        assert.deepEqual([toAda.status, toAda.toAccountId, toStore.toAccountId], ['queued', 1, null]);
        await settled(database);
        assert.deepEqual(await list(database, bob, 'sent'), [toAda.id, toStore.id]);
        assert.deepEqual(await list(database, bob, 'inbox'), []);
        assert.deepEqual(await list(database, ada, 'inbox'), [toAda.id]);
        assert.deepEqual(await list(database, root, 'inbox'), [toStore.id]);
        assert.deepEqual(await list(database, ada, 'sent'), []);
        const read = await getMessage(database, ada, toAda.id);
        assert.deepEqual(
          [read.message, read.status, read.replyTo, read.petId, read.arrivedAt, read.version, read.emailAttempts],
          ['Is Minka\tnice?\n🐈', 'delivered', 'jo@example.org', 1, noon, 2, []],
        );
        assert.equal((await getMessage(database, bob, toAda.id)).id, toAda.id);
        assert.equal((await getMessage(database, root, toStore.id)).id, toStore.id);
        for (const [who, id] of [
          [root, toAda.id],
          [ada, toStore.id],
          [bob, 999],
          [bob, 2 ** 53],
        ] as const) {
          await assert.rejects(getMessage(database, who, id), { code: 'message_not_found' });
        }
      });
    });

    it('is rejected if it is about an unknown pet', async () => {
      await within(undefined, async (database, _, send) => {
        await assert.rejects(send(bob, 'Hello', { petId: 999 }), { code: 'pet_not_found' });
        assert.deepEqual(await list(database, bob, 'sent'), []);
      });
    });

    it('has events from queued to delivered, without its text', async () => {
      await within(undefined, async (database, _, send) => {
        const { id } = await send(bob, 'a secret', { petId: 1 });
        await settled(database);
        const events = await eventsOf<MessageEventData>(database, 'message', id);
        assert.deepEqual(
          events.map(({ action, accountId, data }) => [action, accountId, data.message.status, data.was]),
          [
            ['queued', 2, 'queued', undefined],
            ['delivered', null, 'delivered', { status: 'queued' }],
          ],
        );
        assert.deepEqual([events[0]!.data.message.toAccountId, events[0]!.data.message.petId], [1, 1]);
        assert.doesNotMatch(JSON.stringify(events), /secret/);
      });
    });

    it('is on one page only, in both directions', async () => {
      await within(undefined, async (database, _, send) => {
        for (let index = 0; index < 12; index++) await send(root, `${index}`, index % 2 === 0 ? {} : { petId: 1 });
        await settled(database);
        for (const [who, box, count] of [
          [root, 'sent', 12],
          [root, 'inbox', 6],
          [ada, 'inbox', 6],
        ] as const) {
          const ids: number[] = [];
          let back: string | undefined;
          for (let cursor: string | undefined; ; ) {
            const page = await listMessages(database, who, box, { limit: 4, cursor });
            ids.push(...page.rows.map(({ id }) => id));
            back = page.previous;
            if (page.next === undefined) break;
            cursor = page.next;
          }
          assert.deepEqual([ids.length, ids], [count, [...new Set(ids)].sort((a, b) => a - b)]);
          const before = await listMessages(database, who, box, { limit: 4, cursor: back });
          assert.ok(before.rows.every(({ id }) => id < ids.at(-1)!));
        }
      });
    });
  });

  describe('e-mail', () => {
    it('is sent to the owner of the pet, and to the admins for the store', async () => {
      const { emails, sender } = mailbox();
      await within(sender, async (database, _, send) => {
        const toAda = await send(bob, 'Hello Ada', { petId: 1, replyTo: 'jo@example.org' });
        const toStore = await send(bob, 'Hello store');
        await settled(database);
        const [one, other] = emails.toSorted((a, b) => b.text.localeCompare(a.text)).toReversed();
        assert.deepEqual(
          [one!.to, one!.replyTo, one!.text, one!.subject],
          [['ada@example.org'], 'jo@example.org', 'Hello Ada', 'A message about your animal 1'],
        );
        assert.deepEqual([other!.to, other!.replyTo, other!.text], [['root@example.org'], null, 'Hello store']);
        assert.equal(emails.length, 2);
        assert.deepEqual((await getMessage(database, ada, toAda.id)).emailAttempts, [
          { at: noon, outcome: 'delivered', reason: null },
        ]);
        assert.equal((await getMessage(database, bob, toStore.id)).status, 'delivered');
      });
    });

    it('is retried on schedule while the message is in the inbox, and finally given up', async () => {
      const { emails, sender } = mailbox(() => ({ reason: 'postponed', final: false, detail: '' }));
      await within(sender, async (database, clock, send) => {
        const { id } = await send(bob, 'Hello', { petId: 1 });
        const attempts = async () => (await getMessage(database, bob, id)).emailAttempts.length;
        await waitUntil(async () => (await attempts()) === 1);
        assert.deepEqual(await list(database, ada, 'inbox'), [id]);
        assert.equal((await getMessage(database, ada, id)).status, 'queued');
        clock.advance(4000);
        await new Promise(resolve => setTimeout(resolve, 20));
        assert.equal(emails.length, 1, 'no attempt before it is due');
        for (const [index, wait] of [6, 330, 2000, 8000, 20_000, 40_000, 40_000].entries()) {
          clock.advance(wait * 1000);
          await send(bob, 'another');
          await waitUntil(async () => (await attempts()) === index + 2);
        }
        const given = await getMessage(database, ada, id);
        assert.deepEqual([given.status, given.emailAttempts.length], ['failed', 8]);
        assert.deepEqual(await list(database, ada, 'inbox'), [id]);
        const events = await eventsOf<MessageEventData>(database, 'message', id);
        assert.deepEqual(
          events.map(({ action }) => action),
          ['queued', 'failed'],
        );
      });
    });

    it('is retried only for recipients that were deferred, and delivered whatever their outcome', async () => {
      const later = { reason: 'postponed', final: false, detail: '' } as const;
      const never = { reason: 'refused', final: true, detail: '' } as const;
      const outcomeOf = ({ reason }: EmailFailure) => ({ outcome: 'failed', reason });
      const delivered = { outcome: 'delivered', reason: null };
      const [two, three] = ['two@example.org', 'three@example.org'];
      for (const [answers, mailedTo, outcomes] of [
        [
          [{ ...later, deferred: [two, three] }, later, { ...later, deferred: [three] }, undefined],
          [[two, three], [two, three], [three]],
          [outcomeOf(later), outcomeOf(later), outcomeOf(later), delivered],
        ],
        [[{ ...never, deferred: [] }], [], [delivered]],
        [[{ ...later, deferred: [three] }, never], [[three]], [outcomeOf(later), outcomeOf(never)]],
        [
          [{ ...later, deferred: [three] }, ...new Array(7).fill(later)],
          new Array(7).fill([three]),
          new Array(8).fill(outcomeOf(later)),
        ],
      ] as [(EmailFailure | undefined)[], string[][], object[]][]) {
        const { emails, sender } = mailbox(() => answers.shift());
        const clock = testClock(noon);
        const database = await engine.open({ clock });
        await fill(database);
        await database.write(async tx => {
          for (const email of [two, three]) await createAccount(tx, { email, name: 'x', admin: true });
        });
        const { id } = await database.write(tx => sendMessage(tx, bob, { message: 'Hello store' }));
        await inboxDelivery({ database, emailQueued() {} }).claim(1);
        for (const _ of outcomes) {
          const work = emailDelivery({ database, sender, log: silent });
          const { jobs } = await work.claim(1);
          assert.equal(jobs.length, 1);
          await work.run(jobs[0]!, new AbortController().signal);
          clock.advance(50_000_000);
        }
        assert.deepEqual(
          emails.map(({ to }) => to),
          [['root@example.org', two, three], ...mailedTo],
        );
        const { status, emailAttempts } = await getMessage(database, bob, id);
        assert.deepEqual([status, emailAttempts.map(({ at, ...outcome }) => outcome)], ['delivered', outcomes]);
      }
    });

    it('is not retried after a permanent rejection', async () => {
      const { emails, sender } = mailbox(() => ({ reason: 'refused', final: true, detail: '' }));
      await within(sender, async (database, clock, send) => {
        const { id } = await send(bob, 'Hello', { petId: 1 });
        await settled(database);
        clock.advance(100_000_000);
        const read = await getMessage(database, bob, id);
        assert.deepEqual(
          [read.status, read.emailAttempts],
          ['failed', [{ at: noon, outcome: 'failed', reason: 'refused' }]],
        );
        assert.equal(emails.length, 1);
      });
    });

    it('is not sent without a recipient', async () => {
      const { emails, sender } = mailbox();
      const clock = testClock(noon);
      const database = await engine.open({ clock });
      const { id } = await database.write(tx => sendMessage(tx, bob, { message: 'Is anybody there?' }));
      const worker = startJobs({ database, clock, log: silent, emailSender: sender });
      await settled(database);
      await worker.close(5000);
      const { status, emailAttempts } = await getMessage(database, bob, id);
      assert.deepEqual([status, emailAttempts, emails], ['delivered', [], []]);
    });

    it('counts the rejections of the mail server as failures, not the crashes of processes', async () => {
      const clock = testClock(noon);
      const database = await engine.open({ clock });
      await fill(database);
      const { id } = await database.write(tx => sendMessage(tx, bob, { message: 'Hello', petId: 1 }));
      await inboxDelivery({ database, emailQueued() {} }).claim(1);
      const { sender } = mailbox(() => ({ reason: 'unreachable', final: false, detail: '' }));
      const work = emailDelivery({ database, sender, log: silent });
      for (let killed = 0; killed < 8; killed++) {
        assert.equal((await work.claim(1)).jobs.length, 1);
        clock.advance(21_000);
      }
      const { jobs } = await work.claim(1);
      await work.run(jobs[0]!, new AbortController().signal);
      const { status, emailAttempts } = await getMessage(database, bob, id);
      assert.deepEqual([status, emailAttempts.length], ['queued', 1]);
      clock.advance(6000);
      assert.equal((await work.claim(1)).jobs.length, 1, 'due five seconds later, as after the first failure');
    });

    it('mails what the store itself writes in order, one at a time, with its first line as the subject', async () => {
      const held = Promise.withResolvers<undefined>();
      const postponed: EmailFailure = { reason: 'postponed', final: false, detail: '' };
      const answers = [postponed, held.promise];
      const { emails, sender } = mailbox(({ subject }) => (subject === 'Used 80 %' ? answers.shift() : undefined));
      const clock = testClock(noon);
      const database = await engine.open({ clock });
      await fill(database);
      const write = (to: number, text: string) => database.write(tx => sendNotification(tx, to, text));
      const toAda = ['Used 80 %.\n\nMore', 'Used all.\n\nMore', `${'x'.repeat(151)}\n\nMore`];
      for (const text of toAda) await write(1, text);
      await write(2, 'To Bob.\nMore');
      await inboxDelivery({ database, emailQueued() {} }).claim(10);
      const work = emailDelivery({ database, sender, log: silent });
      const round = async () => {
        const { jobs } = await work.claim(8);
        return Promise.all(jobs.map(job => work.run(job, new AbortController().signal)));
      };
      const subjects = () => emails.map(({ subject }) => subject);
      await round();
      assert.deepEqual(subjects().sort(), ['To Bob', 'Used 80 %']);
      // The first message is due again in about five seconds, and the others wait for it.
      assert.equal((await work.claim(8)).rows, 0);
      assert.ok((await nextDueTimes(database)).mail! > noon + 4000);
      clock.advance(6000);
      const second = round();
      await waitUntil(() => emails.length === 3);
      assert.equal((await work.claim(8)).rows, 0);
      held.resolve(undefined);
      await second;
      for (let more = 0; more < 3; more++) await round();
      assert.deepEqual(subjects().slice(2), ['Used 80 %', 'Used all', 'A message from the pet store']);
      assert.equal((await nextDueTimes(database)).mail, null);
    });

    it('does not delay inboxes while the mail server is slow', async () => {
      const gate = Promise.withResolvers<undefined>();
      const { emails, sender } = mailbox(() => gate.promise);
      await within(sender, async (database, _, send) => {
        for (let index = 0; index < 20; index++) await send(bob, `${index}`, { petId: 1 });
        await waitUntil(async () => (await list(database, ada, 'inbox')).length === 20);
        await waitUntil(() => emails.length === 8);
        assert.equal((await getMessage(database, bob, 1)).status, 'queued');
        gate.resolve(undefined);
        await settled(database);
        assert.equal(emails.length, 20);
      });
    });

    it('is sent once by several processes', async t => {
      if (engine.name === 'sqlite') return t.skip('one process per file');
      const location = await engine.newLocation();
      const clock = testClock(noon);
      const databases = [await engine.open({ location, clock }), await engine.open({ location, clock })];
      await fill(databases[0]!);
      const { emails, sender } = mailbox(async () => {
        await new Promise(resolve => setTimeout(resolve, 2));
        return undefined;
      });
      const workers = databases.map(database => startJobs({ database, clock, log: silent, emailSender: sender }));
      await Promise.all(
        Array.from({ length: 60 }, async (_, index) => {
          await databases[index % 2]!.write(tx => sendMessage(tx, bob, { message: `${index}`, petId: 1 }));
          for (const worker of workers) worker.wake('messages');
        }),
      );
      await settled(databases[0]!);
      for (const worker of workers) await worker.close(5000);
      assert.deepEqual(
        emails.map(({ text }) => Number(text)).sort((a, b) => a - b),
        Array.from({ length: 60 }, (_, index) => index),
      );
      return undefined;
    });

    it('is sent by another process after a crash: once the lease expires, or at once on SQLite', async () => {
      const location = await engine.newLocation();
      const clock = testClock(noon);
      const first = await engine.open({ location, clock });
      await fill(first);
      const stuck = mailbox(() => new Promise(() => {}));
      const { id } = await first.write(tx => sendMessage(tx, bob, { message: 'Hello', petId: 1 }));
      const killed = startJobs({ database: first, clock, log: silent, emailSender: stuck.sender });
      await waitUntil(() => stuck.emails.length === 1);
      assert.equal(await first.first(untaken, {}), undefined);
      // It claims no further messages, and never finishes those it has.
      void killed.close(5000);
      if (engine.name === 'sqlite') await first.close();

      const next = await engine.open({ location, clock });
      const { emails, sender } = mailbox();
      const worker = startJobs({ database: next, clock, log: silent, emailSender: sender });
      if (engine.name === 'postgres') {
        await new Promise(resolve => setTimeout(resolve, 50));
        assert.equal(emails.length, 0, 'leased by the other process');
        clock.advance(21_000);
      }
      await settled(next);
      assert.deepEqual([emails.length, (await getMessage(next, bob, id)).status], [1, 'delivered']);
      await worker.close(5000);
    });
  });
});
