import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { onEachEngine, silent } from '../../test/support/engines.ts';
import { createAccount } from '../accounts/accounts.ts';
import { eventsOf } from '../events/log.ts';
import { workThatWaits } from '../jobs.ts';
import { testClock } from '../lib/clock.ts';
import { createPet } from '../pets/pets.ts';
import { type Database, query } from '../schema.ts';
import { arriving } from './arriving.ts';
import { listMessages } from './list-messages.ts';
import type { Mail, Mailer, MailRefusal } from './mail.ts';
import { mailing } from './mailing.ts';
import { MESSAGE_LENGTH_MAX, messageFault } from './message.ts';
import type { MessageEventData } from './message-log.ts';
import type { MessageRow } from './message-rows.ts';
import { getMessage, sendMessage } from './messages.ts';

const noon = Date.parse('2026-11-21T12:00:00Z');
const actor = (accountId: number, admin = false) => ({ accountId, admin });
const [ada, bob, root] = [actor(1), actor(2), actor(3, true)];

const anyQueued = query(db => db.selectFrom('messages').select('id').where('status', '=', 'queued').limit(1));
const untaken = query(db => db.selectFrom('messages').select('id').where('leased', '=', 0).limit(1));

/** Waits until a condition holds, by looking. */
async function until(met: () => boolean | Promise<boolean>): Promise<void> {
  for (let tries = 0; !(await met()); tries++) {
    if (tries > 2000) throw new Error('It never came.');
    await new Promise(resolve => setTimeout(resolve, 5));
  }
}

const settled = (database: Database) => until(async () => (await database.first(anyQueued, {})) === undefined);

/** A mail server that keeps what it is given, and answers as it is told. */
function mailbox(answer: (mail: Mail) => MailRefusal | undefined | Promise<MailRefusal | undefined> = () => undefined) {
  const mails: Mail[] = [];
  const mailer: Mailer = {
    async send(mail) {
      mails.push(mail);
      return answer(mail);
    },
  };
  return { mails, mailer };
}

/** Two accounts, an admin, and an animal of the first one. */
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
  it('is anything of 1 to 10,000 characters that is text', () => {
    for (const text of ['x', ' ', '\n', '\t', 'a\r\nb', '🐈'.repeat(MESSAGE_LENGTH_MAX), '\u0007', '\ufeff', '<b>']) {
      assert.equal(messageFault(text), undefined, JSON.stringify(text.slice(0, 20)));
    }
    for (const text of ['', 'a\0b', '\ud800', 'x\udc00', 'x'.repeat(10_001), '🐈'.repeat(10_001)]) {
      assert.notEqual(messageFault(text), undefined, JSON.stringify(text.slice(0, 20)));
    }
  });
});

onEachEngine(engine => {
  /** A filled database on a clock, and what delivers its messages until the work is over. */
  async function within(
    mailer: Mailer | undefined,
    work: (
      database: Database,
      clock: ReturnType<typeof testClock>,
      send: (from: typeof ada, text: string, more?: { petId?: number; replyTo?: string }) => Promise<MessageRow>,
    ) => Promise<void>,
  ) {
    const clock = testClock(noon);
    const database = await engine.open({ clock });
    await fill(database);
    const worker = workThatWaits({ database, clock, log: silent, mailer });
    try {
      await work(database, clock, async (from, message, more = {}) => {
        const row = await database.write(tx => sendMessage(tx, from, { message, ...more }));
        worker.nudge('messages');
        return row;
      });
    } finally {
      await worker.close(5000);
    }
  }

  const list = async (database: Database, who: typeof ada, box: 'sent' | 'inbox') =>
    (await listMessages(database, who, box, 100, undefined)).rows.map(({ id }) => id);

  describe('a message', () => {
    it('comes into the inbox of the owner of the animal, or of the store, and is seen by nobody else', async () => {
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
          [read.text, read.status, read.replyTo, read.petId, read.arrivedAt, read.version, read.mailed],
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

    it('about an animal that is not there is refused', async () => {
      await within(undefined, async (database, _, send) => {
        await assert.rejects(send(bob, 'Hello', { petId: 999 }), { code: 'pet_not_found' });
        assert.deepEqual(await list(database, bob, 'sent'), []);
      });
    });

    it('is in the log from being queued to being delivered, without what it says', async () => {
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

    it('is on one page only, however a list is read', async () => {
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
            const page = await listMessages(database, who, box, 4, cursor);
            ids.push(...page.rows.map(({ id }) => id));
            back = page.previous;
            if (page.next === undefined) break;
            cursor = page.next;
          }
          assert.deepEqual([ids.length, ids], [count, [...new Set(ids)].sort((a, b) => a - b)]);
          const before = await listMessages(database, who, box, 4, back);
          assert.ok(before.rows.every(({ id }) => id < ids.at(-1)!));
        }
      });
    });
  });

  describe('e-mail', () => {
    it('goes to the owner of the animal, and to the admins for the store', async () => {
      const { mails, mailer } = mailbox();
      await within(mailer, async (database, _, send) => {
        const toAda = await send(bob, 'Hello Ada', { petId: 1, replyTo: 'jo@example.org' });
        const toStore = await send(bob, 'Hello store');
        await settled(database);
        const [one, other] = mails.toSorted((a, b) => b.text.localeCompare(a.text)).toReversed();
        assert.deepEqual(
          [one!.to, one!.replyTo, one!.text, one!.subject],
          [['ada@example.org'], 'jo@example.org', 'Hello Ada', 'A message about your animal 1'],
        );
        assert.deepEqual([other!.to, other!.replyTo, other!.text], [['root@example.org'], null, 'Hello store']);
        assert.equal(mails.length, 2);
        assert.deepEqual((await getMessage(database, ada, toAda.id)).mailed, [
          { at: noon, outcome: 'delivered', reason: null },
        ]);
        assert.equal((await getMessage(database, bob, toStore.id)).status, 'delivered');
      });
    });

    it('that fails is tried again by the schedule, is in the inbox all the while, and is given up in the end', async () => {
      const { mails, mailer } = mailbox(() => ({ reason: 'postponed', final: false, detail: '' }));
      await within(mailer, async (database, clock, send) => {
        const { id } = await send(bob, 'Hello', { petId: 1 });
        const attempts = async () => (await getMessage(database, bob, id)).mailed.length;
        await until(async () => (await attempts()) === 1);
        assert.deepEqual(await list(database, ada, 'inbox'), [id]);
        assert.equal((await getMessage(database, ada, id)).status, 'queued');
        clock.advance(4000);
        await new Promise(resolve => setTimeout(resolve, 20));
        assert.equal(mails.length, 1, 'nothing before its time');
        for (const [index, wait] of [6, 330, 2000, 8000, 20_000, 40_000, 40_000].entries()) {
          clock.advance(wait * 1000);
          await send(bob, 'another');
          await until(async () => (await attempts()) === index + 2);
        }
        const given = await getMessage(database, ada, id);
        assert.deepEqual([given.status, given.mailed.length], ['failed', 8]);
        assert.deepEqual(await list(database, ada, 'inbox'), [id]);
        const events = await eventsOf<MessageEventData>(database, 'message', id);
        assert.deepEqual(
          events.map(({ action }) => action),
          ['queued', 'failed'],
        );
      });
    });

    it('that some have is tried again for the others alone, and delivered whatever becomes of them', async () => {
      const later = { reason: 'postponed', final: false, detail: '' } as const;
      const never = { reason: 'refused', final: true, detail: '' } as const;
      const outcomeOf = ({ reason }: MailRefusal) => ({ outcome: 'failed', reason });
      const delivered = { outcome: 'delivered', reason: null };
      const [two, three] = ['two@example.org', 'three@example.org'];
      for (const [answers, mailedTo, outcomes] of [
        [
          [{ ...later, left: [two, three] }, later, { ...later, left: [three] }, undefined],
          [[two, three], [two, three], [three]],
          [outcomeOf(later), outcomeOf(later), outcomeOf(later), delivered],
        ],
        [[{ ...never, left: [] }], [], [delivered]],
        [[{ ...later, left: [three] }, never], [[three]], [outcomeOf(later), outcomeOf(never)]],
        [
          [{ ...later, left: [three] }, ...new Array(7).fill(later)],
          new Array(7).fill([three]),
          new Array(8).fill(outcomeOf(later)),
        ],
      ] as [(MailRefusal | undefined)[], string[][], object[]][]) {
        const { mails, mailer } = mailbox(() => answers.shift());
        const clock = testClock(noon);
        const database = await engine.open({ clock });
        await fill(database);
        await database.write(async tx => {
          for (const email of [two, three]) await createAccount(tx, { email, name: 'x', admin: true });
        });
        const { id } = await database.write(tx => sendMessage(tx, bob, { message: 'Hello store' }));
        await arriving({ database, toMail() {} }).take(1);
        for (const _ of outcomes) {
          const work = mailing({ database, mailer, log: silent });
          const { jobs } = await work.take(1);
          assert.equal(jobs.length, 1);
          await work.work(jobs[0]!, new AbortController().signal);
          clock.advance(50_000_000);
        }
        assert.deepEqual(
          mails.map(({ to }) => to),
          [['root@example.org', two, three], ...mailedTo],
        );
        const { status, mailed } = await getMessage(database, bob, id);
        assert.deepEqual([status, mailed.map(({ at, ...outcome }) => outcome)], ['delivered', outcomes]);
      }
    });

    it('that is refused for good is not tried again', async () => {
      const { mails, mailer } = mailbox(() => ({ reason: 'refused', final: true, detail: '' }));
      await within(mailer, async (database, clock, send) => {
        const { id } = await send(bob, 'Hello', { petId: 1 });
        await settled(database);
        clock.advance(100_000_000);
        const read = await getMessage(database, bob, id);
        assert.deepEqual([read.status, read.mailed], ['failed', [{ at: noon, outcome: 'failed', reason: 'refused' }]]);
        assert.equal(mails.length, 1);
      });
    });

    it('to nobody is none', async () => {
      const { mails, mailer } = mailbox();
      const clock = testClock(noon);
      const database = await engine.open({ clock });
      const { id } = await database.write(tx => sendMessage(tx, bob, { message: 'Is anybody there?' }));
      const worker = workThatWaits({ database, clock, log: silent, mailer });
      await settled(database);
      await worker.close(5000);
      const { status, mailed } = await getMessage(database, bob, id);
      assert.deepEqual([status, mailed, mails], ['delivered', [], []]);
    });

    it('has failed as often as a mail server did not take it, however often somebody was killed who had it in hand', async () => {
      const clock = testClock(noon);
      const database = await engine.open({ clock });
      await fill(database);
      const { id } = await database.write(tx => sendMessage(tx, bob, { message: 'Hello', petId: 1 }));
      await arriving({ database, toMail() {} }).take(1);
      const { mailer } = mailbox(() => ({ reason: 'unreachable', final: false, detail: '' }));
      const work = mailing({ database, mailer, log: silent });
      for (let killed = 0; killed < 8; killed++) {
        assert.equal((await work.take(1)).jobs.length, 1);
        clock.advance(21_000);
      }
      const { jobs } = await work.take(1);
      await work.work(jobs[0]!, new AbortController().signal);
      const { status, mailed } = await getMessage(database, bob, id);
      assert.deepEqual([status, mailed.length], ['queued', 1]);
      clock.advance(6000);
      assert.equal((await work.take(1)).jobs.length, 1, 'five seconds later, as after the first failure');
    });

    it('that is slow holds up no inbox', async () => {
      const gate = Promise.withResolvers<undefined>();
      const { mails, mailer } = mailbox(() => gate.promise);
      await within(mailer, async (database, _, send) => {
        for (let index = 0; index < 20; index++) await send(bob, `${index}`, { petId: 1 });
        await until(async () => (await list(database, ada, 'inbox')).length === 20);
        await until(() => mails.length === 8);
        assert.equal((await getMessage(database, bob, 1)).status, 'queued');
        gate.resolve(undefined);
        await settled(database);
        assert.equal(mails.length, 20);
      });
    });

    it('is sent by one of several at a time, each once', async t => {
      if (engine.name === 'sqlite') return t.skip('one process serves a file');
      const place = await engine.place();
      const clock = testClock(noon);
      const databases = [await engine.open({ place, clock }), await engine.open({ place, clock })];
      await fill(databases[0]!);
      const { mails, mailer } = mailbox(async () => {
        await new Promise(resolve => setTimeout(resolve, 2));
        return undefined;
      });
      const workers = databases.map(database => workThatWaits({ database, clock, log: silent, mailer }));
      await Promise.all(
        Array.from({ length: 60 }, async (_, index) => {
          await databases[index % 2]!.write(tx => sendMessage(tx, bob, { message: `${index}`, petId: 1 }));
          for (const worker of workers) worker.nudge('messages');
        }),
      );
      await settled(databases[0]!);
      for (const worker of workers) await worker.close(5000);
      assert.deepEqual(
        mails.map(({ text }) => Number(text)).sort((a, b) => a - b),
        Array.from({ length: 60 }, (_, index) => index),
      );
      return undefined;
    });

    it('that somebody had in hand who was killed is sent by the next, when its time is over or at once', async () => {
      const place = await engine.place();
      const clock = testClock(noon);
      const first = await engine.open({ place, clock });
      await fill(first);
      const stuck = mailbox(() => new Promise(() => {}));
      const { id } = await first.write(tx => sendMessage(tx, bob, { message: 'Hello', petId: 1 }));
      const killed = workThatWaits({ database: first, clock, log: silent, mailer: stuck.mailer });
      await until(() => stuck.mails.length === 1);
      assert.equal(await first.first(untaken, {}), undefined);
      // It takes nothing any more, and never comes back with what it has.
      void killed.close(5000);
      if (engine.name === 'sqlite') await first.close();

      const next = await engine.open({ place, clock });
      const { mails, mailer } = mailbox();
      const worker = workThatWaits({ database: next, clock, log: silent, mailer });
      if (engine.name === 'postgres') {
        await new Promise(resolve => setTimeout(resolve, 50));
        assert.equal(mails.length, 0, 'it is in another hand');
        clock.advance(21_000);
      }
      await settled(next);
      assert.deepEqual([mails.length, (await getMessage(next, bob, id)).status], [1, 'delivered']);
      await worker.close(5000);
    });
  });
});
