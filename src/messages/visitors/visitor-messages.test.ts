import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Engine, onEachEngine, silent } from '../../../test/support/engines.ts';
import { testClock } from '../../lib/clock.ts';
import { createPet } from '../../pets/pets.ts';
import { type Database, query } from '../../schema.ts';
import type { Email, EmailFailure } from '../email-sender.ts';
import { inboxDelivery } from '../inbox-delivery.ts';
import { listMessages } from '../list.ts';
import { confirmPath, visitorEmails } from './email-job.ts';
import {
  deleteUnconfirmed,
  findWaiting,
  keepUntilConfirmed,
  sendConfirmed,
  sendUnconfirmed,
  visitorMessageErrors,
  WAITING_MS,
} from './visitor-messages.ts';

const NOON = Date.UTC(2026, 10, 21, 12);
const URL = 'https://shop.example/pets';
const owner = { accountId: 7, admin: false };

onEachEngine(engine => {
  describe('messages of visitors', () => {
    it('arrive at once in the inbox of the owner, marked as unconfirmed, with the address for replies', async () => {
      const { database, write } = await setUp(engine);
      await write(tx => sendUnconfirmed(tx, from('192.0.2.1')));
      assert.deepEqual(await inboxOf(database), [
        {
          accountId: null,
          petId: 1,
          replyTo: 'jo@example.org',
          message:
            'Jo <jo@example.org> wrote this on the page of animal 1. Nobody has confirmed this address.\n\nIs she fine with cats?',
        },
      ]);
    });

    it('wait until the secret of the e-mail comes back, and are sent once', async () => {
      const { database, write, clock, mail } = await setUp(engine);
      await write(tx => keepUntilConfirmed(tx, from('192.0.2.1'), URL));
      const [email] = await mail();
      assert.deepEqual(email!.to, ['jo@example.org']);
      assert.ok(!email!.text.includes('cats'), 'the e-mail contains what somebody typed');
      const secret = secretOf(email!);
      assert.deepEqual(await inboxOf(database), []);
      assert.equal((await findWaiting(database, secret, clock.now()))?.text, 'Is she fine with cats?');
      assert.equal(await findWaiting(database, `${secret.slice(1)}A`, clock.now()), undefined);
      const sent = await Promise.all([1, 2].map(() => write(tx => sendConfirmed(tx, secret))));
      assert.equal(sent.filter(message => message !== undefined).length, 1);
      const [message, ...others] = await inboxOf(database);
      assert.match(message!.message, /This address is confirmed\./);
      assert.deepEqual(others, []);
      assert.deepEqual(await mail(), []);
    });

    it('expire after two days', async () => {
      const { database, write, clock, mail } = await setUp(engine);
      await write(tx => keepUntilConfirmed(tx, from('192.0.2.1'), URL));
      const secret = secretOf((await mail())[0]!);
      clock.advance(WAITING_MS - 1);
      assert.notEqual(await findWaiting(database, secret, clock.now()), undefined);
      assert.equal(await write(tx => deleteUnconfirmed(tx, 100)), 0);
      clock.advance(1);
      assert.equal(await findWaiting(database, secret, clock.now()), undefined);
      assert.equal(await write(tx => sendConfirmed(tx, secret)), undefined);
      assert.equal(await write(tx => deleteUnconfirmed(tx, 100)), 1);
      assert.equal(await rows(database), 0);
    });

    it('are limited by network, by e-mail address and by owner', async () => {
      const { database, write, clock } = await setUp(engine);
      const keep = (address: string, email: string) => write(tx => keepUntilConfirmed(tx, from(address, email), URL));
      const tooMany = { code: 'too_many_attempts', status: 429 };
      for (let n = 0; n < 3; n++) await keep(`192.0.2.${n}`, 'jo@example.org');
      await assert.rejects(keep('192.0.2.9', 'JO@example.org'), tooMany);
      for (let n = 0; n < 10; n++) await keep('2001:db8::1', `a${n}@example.org`);
      await assert.rejects(keep('2001:db8::2', 'b@example.org'), tooMany);
      await keep('2001:db8:0:1::1', 'b@example.org');
      assert.equal(await rows(database), 14);
      for (let n = 0; n < 30; n++) await write(tx => sendUnconfirmed(tx, from(`198.51.100.${n}`)));
      await assert.rejects(
        write(tx => sendUnconfirmed(tx, from('198.51.100.99'))),
        tooMany,
      );
      clock.advance(60 * 60_000);
      await write(tx => sendUnconfirmed(tx, from('198.51.100.99')));
    });

    it('stay when the owner has too many messages, or the animal has gone, until they are opened again', async () => {
      const { write, database, clock, mail } = await setUp(engine);
      await write(tx => keepUntilConfirmed(tx, from('192.0.2.1'), URL));
      const secret = secretOf((await mail())[0]!);
      for (let n = 0; n < 30; n++) await write(tx => sendUnconfirmed(tx, from(`198.51.100.${n}`)));
      await assert.rejects(
        write(tx => sendConfirmed(tx, secret)),
        { code: 'too_many_attempts' },
      );
      clock.advance(60 * 60_000);
      await write(tx => tx.run(deletePets, {}));
      await assert.rejects(
        write(tx => sendConfirmed(tx, secret)),
        { code: 'pet_not_found' },
      );
      assert.equal(await rows(database), 1);
    });

    it('are mailed again after a temporary failure and a crash, and deleted after a permanent one', async () => {
      const { database, write, clock, mail } = await setUp(engine);
      await write(tx => keepUntilConfirmed(tx, from('192.0.2.1'), URL));
      const failure: EmailFailure = { reason: 'postponed', final: false, detail: '450' };
      const [first] = await mail(failure);
      assert.deepEqual(await mail(), [], 'it waits before the next attempt');
      clock.advance(10_000);
      const [second] = await mail({ crash: true });
      clock.advance(10 * 60_000);
      const [third] = await mail();
      assert.equal(new Set([first, second, third].map(email => secretOf(email!))).size, 3);
      assert.equal(new Set([first, second, third].map(email => email!.id)).size, 1);
      assert.equal(await findWaiting(database, secretOf(first!), clock.now()), undefined);
      assert.notEqual(await findWaiting(database, secretOf(third!), clock.now()), undefined);

      await write(tx => keepUntilConfirmed(tx, from('192.0.2.1', 'nobody@example.org'), URL));
      await mail({ reason: 'refused', final: true, detail: '550' });
      assert.equal(await rows(database), 1);
    });
  });
});

describe('visitorMessageErrors', () => {
  it('names what is wrong beside each field', () => {
    const valid = { name: 'Jo', email: 'jo@example.org', text: 'x'.repeat(2000) };
    assert.deepEqual(visitorMessageErrors(valid), {});
    assert.deepEqual(Object.keys(visitorMessageErrors({ name: '', email: 'jo', text: '' })), ['name', 'email', 'text']);
    assert.deepEqual(visitorMessageErrors({ ...valid, text: '😀'.repeat(2001) }), {
      text: 'Your message must have at most 2,000 characters.',
    });
    assert.ok('name' in visitorMessageErrors({ ...valid, name: 'Jo\nBcc: x@example.org' }));
    assert.ok('text' in visitorMessageErrors({ ...valid, text: 'a\0b' }));
  });
});

async function setUp(engine: Engine) {
  const clock = testClock(NOON);
  const database = await engine.open({ clock });
  await database.write(tx => createPet(tx, owner.accountId, { name: 'Bella', categoryId: 1 }, 'open'));
  return {
    clock,
    database,
    write: database.write.bind(database) as Database['write'],
    /** Runs the job once over everything that is due, and returns the e-mails that it tried to send. */
    async mail(result?: EmailFailure | { readonly crash: true }): Promise<Email[]> {
      const emails: Email[] = [];
      const sender = {
        async send(email: Email) {
          emails.push(email);
          if (result !== undefined && 'crash' in result) throw new Error('killed');
          return result;
        },
      };
      const job = visitorEmails({ database, sender, log: silent });
      const { jobs } = await job.claim(10);
      const runs = await Promise.allSettled(jobs.map(one => job.run(one, new AbortController().signal)));
      const isCrash = result !== undefined && 'crash' in result;
      for (const run of runs) assert.equal(run.status, isCrash ? 'rejected' : 'fulfilled');
      return emails;
    },
  };
}

function from(address: string, email = 'jo@example.org') {
  return { address, message: { petId: 1, name: 'Jo', email, text: 'Is she fine with cats?' } };
}

function secretOf({ text }: Email): string {
  const start = URL + confirmPath('');
  const link = text.split('\n').find(line => line.startsWith(start));
  assert.ok(link !== undefined, text);
  return link.slice(start.length);
}

/** Delivers what waits, and returns the inbox of the owner. */
async function inboxOf(database: Database) {
  await inboxDelivery({ database }).claim(1);
  const { rows } = await listMessages(database, owner, 'inbox', { limit: 100 });
  return rows.map(({ accountId, petId, replyTo, message }) => ({ accountId, petId, replyTo, message }));
}

async function rows(database: Database): Promise<number> {
  return (await database.first(waiting, {}))!.rows;
}

const waiting = query(db => db.selectFrom('visitor_messages').select(eb => eb.fn.countAll<number>().as('rows')));
const deletePets = query(db => db.deleteFrom('pets'));
