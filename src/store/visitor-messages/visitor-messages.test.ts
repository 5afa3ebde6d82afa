import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Engine, onEachEngine, silent } from '../../../test/support/engines.ts';
import { attemptLimits } from '../../access/sessions/attempts.ts';
import { testClock } from '../../lib/clock.ts';
import { type Database, type Params, query } from '../../model/schema.ts';
import type { Email, EmailFailure } from '../messages/email-sender.ts';
import { inboxDelivery } from '../messages/inbox-delivery.ts';
import { listMessages } from '../messages/list.ts';
import { createPet } from '../pets/pets.ts';
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
const UNCONFIRMED =
  'A visitor sent this from the page of animal 1. Nobody has confirmed the e-mail address. The visitor wrote all of the following text.';
const CONFIRMED =
  'A visitor sent this from the page of animal 1. The visitor has confirmed the e-mail address. The visitor wrote all of the following text.';

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
          message: `${UNCONFIRMED}\n\nJo <jo@example.org>\n\nIs she fine with cats?`,
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
      assert.equal(message!.message, `${CONFIRMED}\n\nJo <jo@example.org>\n\nIs she fine with cats?`);
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

    it('are limited by the network of the sender first: for one owner, in all, and in a day', async () => {
      const { database, write, clock } = await setUp(engine);
      await write(tx => createPet(tx, 8, { name: 'Rex', categoryId: 1 }, 'open'));
      let emails = 0;
      const keep = (address: string, petId = 1) =>
        write(tx => keepUntilConfirmed(tx, from(address, `a${emails++}@example.org`, petId), URL));
      const network = (petId = 1) => keep('192.0.2.1', petId);
      for (let n = 0; n < 5; n++) await network();
      await assert.rejects(network(), tooMany('Too many messages to this owner were sent from your network.', 60));
      for (let n = 0; n < 5; n++) await network(2);
      await assert.rejects(network(2), { status: 429 });
      clock.advance(60 * 60_000);
      for (let hour = 0; hour < 3; hour++) {
        for (let n = 0; n < 10; n++) await network(1 + (n % 2));
        await assert.rejects(network(), { status: 429 });
        clock.advance(60 * 60_000);
      }
      await assert.rejects(network(), tooMany('Too many messages were sent from your network.', '20 hours'));
      assert.equal(await rows(database), 40);
      await keep('192.0.2.2');
    });

    it('are limited by the /64 and the /48 of an IPv6 address', async () => {
      const { write } = await setUp(engine);
      const send = (address: string) => write(tx => sendUnconfirmed(tx, from(address)));
      for (let n = 0; n < 5; n++) await send(`2001:db8::${n}`);
      await assert.rejects(send('2001:db8::9'), { status: 429 });
      for (let n = 5; n < 40; n++) await send(`2001:db8:0:${n}::1`);
      await assert.rejects(send('2001:db8:0:99::1'), tooMany('Too many messages were sent from your network.', 60));
      await send('2001:db8:1::1');
    });

    it('that stay unconfirmed, from many networks, do not block other messages to the owner', async () => {
      const { database, write, mail } = await setUp(engine);
      for (let n = 0; n < 250; n++) {
        await write(tx => keepUntilConfirmed(tx, from(`192.0.2.${n}`, `a${n}@example.org`), URL));
      }
      await mail();
      await write(tx => keepUntilConfirmed(tx, from('198.51.100.1'), URL));
      const [email] = await mail();
      assert.notEqual(await write(tx => sendConfirmed(tx, secretOf(email!))), undefined);
      assert.equal((await inboxOf(database)).length, 1);
    });

    it('send at most three links a day to an e-mail address, unless its owner confirms', async () => {
      const { write, clock, mail } = await setUp(engine);
      const keep = (n: number, email: string) => write(tx => keepUntilConfirmed(tx, from(`192.0.2.${n}`, email), URL));
      for (const [n, email] of ['jo@example.org', 'JO@example.org', 'jo+1@example.org'].entries()) await keep(n, email);
      await assert.rejects(
        keep(4, 'jo+2@example.org'),
        tooMany('This e-mail address got too many links that nobody opened.', '24 hours'),
      );
      const [email] = await mail();
      await write(tx => sendConfirmed(tx, secretOf(email!)));
      await keep(4, 'jo+2@example.org');
      for (let n = 5; n < 7; n++) await keep(n, 'jo@example.org');
      await assert.rejects(keep(8, 'jo@example.org'), { status: 429 });
      clock.advance(24 * 60 * 60_000);
      await keep(8, 'jo@example.org');
    });

    it('wait for a confirmation up to a number in all, and name another way', async () => {
      const { write } = await setUp(engine);
      await write(tx => tx.run(countWaiting, { count: 9999, since: NOON }));
      const keep = (n: number) => write(tx => keepUntilConfirmed(tx, from(`192.0.2.${n}`, `a${n}@example.org`), URL));
      await keep(1);
      const reason = 'Too many messages of visitors wait for confirmation. Sign in to send your message now.';
      await assert.rejects(keep(2), tooMany(reason, '24 hours'));
    });

    it('to one owner are limited, unconfirmed ones apart from confirmed ones', async () => {
      const { write, clock, mail } = await setUp(engine);
      const send = (n: number) => write(tx => sendUnconfirmed(tx, from(`198.51.100.${n}`)));
      for (let n = 0; n < 200; n++) await send(n);
      const busy = tooMany('The owner of this animal got too many messages from visitors.', 60);
      await assert.rejects(send(201), busy);
      const confirm = async (n: number) => {
        await write(tx => keepUntilConfirmed(tx, from(`192.0.2.${n}`, `a${n}@example.org`), URL));
        const secret = secretOf((await mail())[0]!);
        return { secret, send: () => write(tx => sendConfirmed(tx, secret)) };
      };
      for (let n = 0; n < 60; n++) await (await confirm(n)).send();
      const late = await confirm(61);
      await assert.rejects(late.send(), busy);
      clock.advance(60 * 60_000);
      await send(201);
      assert.notEqual(await late.send(), undefined, 'it waited');
    });

    it('are limited over all nodes', async () => {
      const clock = testClock(NOON);
      const location = await engine.newLocation();
      const nodes = [await engine.open({ clock, location }), await engine.open({ clock, location, role: 'cli' })];
      await nodes[0]!.write(tx => createPet(tx, owner.accountId, { name: 'Bella', categoryId: 1 }, 'open'));
      const sent = await Promise.allSettled(
        Array.from({ length: 12 }, (_, n) =>
          nodes[n % 2]!.write(tx => keepUntilConfirmed(tx, from('192.0.2.1', `a${n}@example.org`), URL)),
        ),
      );
      assert.equal(sent.filter(({ status }) => status === 'fulfilled').length, 5);
    });

    it('begin with a paragraph that no visitor can imitate', async () => {
      const { database, write, mail } = await setUp(engine);
      const imitation = 'Jo <jo@example.org>. The visitor has confirmed the e-mail address.';
      const message = {
        ...from('192.0.2.1').message,
        name: imitation,
        text: `\u2028\u202e${imitation}\n\nA visitor sent this from the page of animal 1. ${imitation}`,
      };
      assert.deepEqual(visitorMessageErrors(message), {});
      await write(tx => sendUnconfirmed(tx, { address: '192.0.2.1', message }));
      await write(tx => keepUntilConfirmed(tx, { address: '192.0.2.1', message }, URL));
      const [email] = await mail();
      await write(tx => sendConfirmed(tx, secretOf(email!)));
      const firstParagraphs = (await inboxOf(database)).map(({ message }) => message.split('\n')[0]);
      assert.deepEqual(new Set(firstParagraphs), new Set([UNCONFIRMED, CONFIRMED]));
    });

    it('stay when the animal has gone', async () => {
      const { write, database, mail } = await setUp(engine);
      await write(tx => keepUntilConfirmed(tx, from('192.0.2.1'), URL));
      const secret = secretOf((await mail())[0]!);
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
  it('shows the error beside each field', () => {
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
    /** Runs the job once for all due messages. Returns the e-mails that it tried to send. */
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

/** @param wait minutes, or a text */
function tooMany(reason: string, wait: number | string) {
  const time = typeof wait === 'number' ? `${wait} minutes` : wait;
  return { code: 'too_many_attempts', status: 429, message: `${reason} Try again in ${time}.` };
}

function from(address: string, email = 'jo@example.org', petId = 1) {
  return { address, message: { petId, name: 'Jo', email, text: 'Is she fine with cats?' } };
}

function secretOf({ text }: Email): string {
  const start = URL + confirmPath('');
  const link = text.split('\n').find(line => line.startsWith(start));
  assert.ok(link !== undefined, text);
  return link.slice(start.length);
}

/** Delivers the waiting messages, and returns the inbox of the owner. */
async function inboxOf(database: Database) {
  await inboxDelivery({ database }).claim(1);
  const { rows } = await listMessages(database, owner, 'inbox', { limit: 100 });
  return rows.map(({ accountId, petId, replyTo, message }) => ({ accountId, petId, replyTo, message }));
}

async function rows(database: Database): Promise<number> {
  return (await database.first(waiting, {}))!.rows;
}

const waiting = query(db => db.selectFrom('visitor_messages').select(eb => eb.fn.countAll<number>().as('rows')));
const countWaiting = query((db, p: Params<{ count: number; since: number }>) =>
  db.insertInto('attempts').values({ subject: `${attemptLimits.askWaiting.action} `, since: p.since, count: p.count }),
);
const deletePets = query(db => db.deleteFrom('pets'));
