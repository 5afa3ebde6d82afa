import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Engine, onEachEngine, silent } from '../../../test/support/engines.ts';
import { createAccount, requestDeletion } from '../../access/accounts/accounts.ts';
import { storedBytes } from '../../access/plans/stored-bytes.ts';
import { attemptLimits } from '../../access/sessions/attempts.ts';
import { testClock } from '../../lib/clock.ts';
import type { ReceivedMessage } from '../../model/message.ts';
import { plans } from '../../model/plan.ts';
import { type Database, query } from '../../model/schema.ts';
import { retentionJob } from '../../operate/retention.ts';
import type { Email, EmailFailure } from '../messages/email-sender.ts';
import { inboxDelivery } from '../messages/inbox-delivery.ts';
import { getMessage, sendMessage } from '../messages/messages.ts';
import { replaceOrganization } from '../organizations/organizations.ts';
import { createPet } from '../pets/pets.ts';
import { visitorEmails } from '../visitor-messages/email-job.ts';
import { keepUntilConfirmed, sendConfirmed, sendUnconfirmed } from '../visitor-messages/visitor-messages.ts';
import { findMailStop, stopMail } from './mail-stops.ts';
import { listReplies, repliesToday, replyByEmail, replyState } from './replies.ts';
import { replyEmails } from './reply-job.ts';

const NOON = Date.UTC(2026, 10, 28, 12);
const DAY = 86_400_000;
const URL = 'https://shop.example/pets';
const QUESTION = 'Is she fine with cats?';

onEachEngine(engine => {
  describe('replies by e-mail', () => {
    it('name the account, quote the message, and have a link that stops further ones', async () => {
      const { reply, mail, ask, database } = await setUp(engine);
      const message = await ask('jo@example.org');
      await reply(message, 'Yes, she is.');
      const [email] = await mail();
      const stop = new RegExp(`^${URL}/mail/stop/[\\w-]{43}$`);
      assert.match(email!.stopUrl!, stop);
      assert.deepEqual(email, {
        id: `reply-1.${NOON}`,
        to: ['jo@example.org'],
        replyTo: 'owner@example.org',
        subject: 'Your message about Bella: a reply from Riverside',
        text: `Yes, she is.

Riverside

You wrote on 28 Nov 2026:
> ${QUESTION}

--
You get this e-mail because you wrote to Riverside through the Pet Store. Reply to it to write back.
Want no more replies by e-mail from anyone on the Pet Store? Open this link and press the button:
${email!.stopUrl}
`,
        at: NOON,
        stopUrl: email!.stopUrl,
      });
      const [sent] = await listReplies(database, message);
      assert.deepEqual([sent!.text, sent!.sentAt, sent!.dueAt], ['Yes, she is.', NOON, null]);
      assert.deepEqual(await mail(), []);
    });

    it('quote only the beginning of a long message, and use the name and address of the organization', async () => {
      const { reply, mail, ask, write } = await setUp(engine);
      await write(tx =>
        replaceOrganization(tx, { accountId: 1, admin: false }, 1, { name: 'Maple Lane', email: 'hi@maple.example' }),
      );
      await reply(await ask('jo@example.org', '😀'.repeat(600)), 'Yes');
      const [email] = await mail();
      assert.ok(email!.text.includes(`\n> ${'😀'.repeat(250)}…\n`));
      assert.match(email!.subject, /a reply from Maple Lane$/);
      assert.equal(email!.replyTo, 'hi@maple.example');
    });

    it('go to confirmed addresses of visitors only', async () => {
      const { reply, write, database, received } = await setUp(engine);
      const visitor = { petId: 1, name: 'Jo', email: 'jo@example.org', text: QUESTION };
      const unconfirmed = await write(tx => sendUnconfirmed(tx, { address: '192.0.2.1', message: visitor }));
      const ofAccount = await write(tx =>
        sendMessage(
          tx,
          { accountId: 2, admin: false },
          {
            petId: 1,
            replyTo: 'jo@example.org',
            message:
              'A visitor sent this from the page of animal 1. The visitor has confirmed the e-mail address.\n\nJo <jo@example.org>\n\nHi',
          },
        ),
      );
      for (const { id } of [unconfirmed, ofAccount]) {
        const message = await received(id);
        assert.equal(await replyState(database, message), 'unconfirmed');
        await assert.rejects(reply(message, 'Yes'), { code: 'reply_not_possible', status: 409 });
      }
    });

    it('end when the recipient stops them, also those that wait', async () => {
      const { reply, mail, ask, write, database, clock } = await setUp(engine);
      const message = await ask('jo@example.org');
      await reply(message, 'One');
      const [first] = await mail();
      await reply(message, 'Two');
      const secret = first!.stopUrl!.slice(`${URL}/mail/stop/`.length);
      assert.deepEqual(await findMailStop(database, secret), { isStopped: false });
      assert.equal(await write(tx => stopMail(tx, 'x'.repeat(43))), undefined);
      assert.deepEqual(await write(tx => stopMail(tx, secret)), { isStopped: true });
      assert.deepEqual(await write(tx => stopMail(tx, secret)), { isStopped: true });
      assert.deepEqual(await findMailStop(database, secret), { isStopped: true });
      assert.deepEqual(await mail(), []);
      const [, second] = await listReplies(database, message);
      assert.deepEqual([second!.sentAt, second!.dueAt], [null, null]);
      assert.equal(await replyState(database, message), 'stopped');
      await assert.rejects(reply(message, 'Three'), { code: 'reply_not_possible' });
      const other = await ask('JO+news@example.org');
      assert.equal(await replyState(database, other), 'stopped', 'the same mailbox');
      clock.advance(400 * DAY);
      await retain(database);
      assert.equal(await replyState(database, other), 'stopped', 'for ever');
    });

    it('store no secret and no address of those who stop', async () => {
      const { reply, mail, ask, database } = await setUp(engine);
      await reply(await ask('jo@example.org'), 'One');
      const [email] = await mail();
      const rows = JSON.stringify(await database.all(allStops, {}));
      assert.ok(!rows.includes('jo@') && !rows.includes(email!.stopUrl!.slice(-43)), rows);
    });

    it('are limited by account and UTC day', async () => {
      const { reply, ask, clock, database } = await setUp(engine);
      const messages = [await ask('jo@example.org'), await ask('ann@example.org')];
      const send = (n: number) => reply(messages[n % 2]!, `${n}`, 3);
      const sent = await Promise.allSettled([0, 1, 2, 3, 4].map(send));
      const refused = sent.flatMap(result => (result.status === 'rejected' ? [result.reason] : []));
      assert.deepEqual(
        refused.map(({ code, status, headers }) => [code, status, headers]),
        Array(2).fill(['reply_limit_exceeded', 409, ['Retry-After', `${12 * 3600}`]]),
      );
      assert.equal(await repliesToday(database, 1, clock.now()), 3);
      clock.advance(DAY / 2);
      assert.equal(await repliesToday(database, 1, clock.now()), 0);
      await send(1);
    });

    it('are limited by recipient over all accounts', async () => {
      const { reply, ask, write, clock, database } = await setUp(engine);
      await write(tx => createPet(tx, 2, { name: 'Max', categoryId: 1 }, 'open'));
      const [ofOne, ofOther] = [await ask('jo@example.org'), await ask('jo+2@example.org', QUESTION, 2)];
      const { max, periodMs } = attemptLimits.replyToRecipient;
      for (let n = 0; n < max; n++) await reply(n % 2 ? ofOne : ofOther, `${n}`);
      const refused = { code: 'too_many_attempts', status: 429, message: /^This person got too many e-mails/ };
      await assert.rejects(reply(ofOne, 'more'), refused);
      await assert.rejects(reply(ofOther, 'more'), refused);
      assert.equal((await listReplies(database, ofOne)).length + (await listReplies(database, ofOther)).length, max);
      clock.advance(periodMs);
      await reply(ofOne, 'more');
    });

    it('are sent again after a temporary failure and a crash, and fail after a permanent one', async () => {
      const { reply, mail, ask, clock, database } = await setUp(engine);
      const message = await ask('jo@example.org');
      await reply(message, 'One');
      const [first] = await mail({ reason: 'postponed', final: false, detail: '450' });
      assert.deepEqual(await mail(), [], 'it waits before the next attempt');
      clock.advance(10_000);
      const [second] = await mail('crash');
      clock.advance(10 * 60_000);
      const [third] = await mail({ reason: 'refused', final: true, detail: '550' });
      assert.equal(new Set([first, second, third].map(email => email!.id)).size, 1);
      assert.equal(new Set([first, second, third].map(email => email!.stopUrl)).size, 3);
      const [failed] = await listReplies(database, message);
      assert.deepEqual([failed!.sentAt, failed!.dueAt], [null, null]);
      // The link of an attempt that may have arrived works.
      assert.deepEqual(await findMailStop(database, second!.stopUrl!.slice(-43)), { isStopped: false });
    });

    it('are not sent for an account that is to be deleted', async () => {
      const { reply, mail, ask, write } = await setUp(engine);
      await reply(await ask('jo@example.org'), 'One');
      await write(tx => requestDeletion(tx, 1, DAY));
      assert.deepEqual(await mail(), []);
    });

    it('count as stored bytes, until they are deleted with their message', async () => {
      const { reply, mail, ask, clock, database } = await setUp(engine);
      const message = await ask('jo@example.org');
      await reply(message, 'Zwölf');
      await mail();
      assert.equal(await storedBytes.read(database, 1), 6);
      await assert.rejects(reply(message, 'More', 50, 7), { code: 'storage_limit_exceeded' });
      clock.advance(31 * DAY);
      await retain(database);
      assert.equal(await storedBytes.read(database, 1), 0);
      assert.deepEqual(await listReplies(database, message), []);
      assert.deepEqual(await database.all(allStops, {}), []);
    });
  });
});

async function setUp(engine: Engine) {
  const clock = testClock(NOON);
  const database = await engine.open({ clock });
  const write = database.write.bind(database) as Database['write'];
  await write(async tx => {
    await createAccount(tx, { email: 'owner@example.org', name: 'Riverside' });
    await createAccount(tx, { email: 'other@example.org', name: 'Other' });
    await createPet(tx, 1, { name: 'Bella', categoryId: 1 }, 'open');
  });
  const received = async (id: number) => {
    await inboxDelivery({ database }).claim(1);
    return (await getMessage(database, { accountId: null, admin: true }, id)) as ReceivedMessage;
  };
  let addresses = 0;
  let asked = 0;
  return {
    ...{ clock, database, write, received },
    /** Sends a message of a visitor who confirms the address. */
    async ask(email: string, text = QUESTION, petId = 1) {
      const message = { petId, name: 'Jo', email, text };
      await write(tx => keepUntilConfirmed(tx, { address: `192.0.2.${++addresses}`, message }, URL));
      const [link] = await sentBy(visitorEmails, database);
      await write(tx => sendConfirmed(tx, /\/confirm-message\/(\S+)/.exec(link!.text)![1]!));
      return received(++asked);
    },
    reply(message: ReceivedMessage, text: string, emailReplies = 50, storedBytes = plans.free.bounds.storedBytes) {
      return write(tx => replyByEmail(tx, { message, text, url: URL, bounds: { emailReplies, storedBytes } }));
    },
    mail: (result?: EmailFailure | 'crash') => sentBy(replyEmails, database, result),
  };
}

/** Runs a job once for all due e-mails. Returns those that it tried to send. */
async function sentBy(
  jobOf: typeof replyEmails | typeof visitorEmails,
  database: Database,
  result?: EmailFailure | 'crash',
): Promise<Email[]> {
  const emails: Email[] = [];
  const sender = {
    async send(email: Email) {
      emails.push(email);
      if (result === 'crash') throw new Error('killed');
      return result;
    },
  };
  const job = (jobOf as typeof replyEmails)({ database, sender, log: silent });
  const { jobs } = await job.claim(10);
  const runs = await Promise.allSettled(jobs.map(one => job.run(one, new AbortController().signal)));
  for (const { status } of runs) assert.equal(status, result === 'crash' ? 'rejected' : 'fulfilled');
  return emails;
}

async function retain(database: Database): Promise<void> {
  const job = retentionJob({ database, messagesKeptMs: 30 * DAY });
  while ((await job.claim(1)).rows > 0);
}

const allStops = query(db => db.selectFrom('mail_stops').select(['hash', 'recipient']));
