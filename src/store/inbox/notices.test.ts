import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Engine, onEachEngine, silent } from '../../../test/support/engines.ts';
import { createAccount, suspendAccount, updateAccount } from '../../access/accounts/accounts.ts';
import { confirmAddress } from '../../access/accounts/addresses.ts';
import { findPerson } from '../../access/accounts/people.ts';
import { acceptInvitation, invite } from '../../access/people/invitations.ts';
import { listMembers, removeMember } from '../../access/people/members.ts';
import { chooseNotices, noticesOf } from '../../access/people/notices.ts';
import { attemptLimits } from '../../access/sessions/attempts.ts';
import { testClock } from '../../lib/clock.ts';
import type { ReceivedMessage } from '../../model/message.ts';
import type { NoticeChoice } from '../../model/notices.ts';
import { type Database, query } from '../../model/schema.ts';
import { emailDelivery } from '../messages/email-delivery.ts';
import type { Email, EmailFailure } from '../messages/email-sender.ts';
import { inboxDelivery } from '../messages/inbox-delivery.ts';
import { getMessage, sendMessage, sendNotification } from '../messages/messages.ts';
import { createPet, deletePet } from '../pets/pets.ts';
import { markRead, moveMessage } from './list.ts';
import { findMailStop, stopMail } from './mail-stops.ts';
import { noticeEmails } from './notice-job.ts';

const NOON = Date.UTC(2026, 10, 28, 12);
const HOUR = 3_600_000;
/** The time until the next digest after noon. */
const UNTIL_DIGEST = 19 * HOUR;
const URL = 'https://shop.example/pets';
const OWNER = 'owner@example.org';
const DANA = 'dana@example.org';

onEachEngine(engine => {
  describe('e-mail to members about messages', () => {
    it('goes to the address of the account without a choice, and not twice with “each”', async () => {
      const { write, mail, notices, choose, ownerId } = await setUp(engine);
      await write('First');
      assert.deepEqual([addressesOf(await mail()), await notices()], [[OWNER], []]);
      await choose(ownerId, 'each');
      await write('Second');
      assert.deepEqual([addressesOf(await mail()), await notices()], [[OWNER], []]);
    });

    it('replaces that to the address of the account once the member with the address chooses otherwise', async () => {
      const { database, clock, write, arrive, mail, notices, choose, ownerId } = await setUp(engine);
      await choose(ownerId, 'none');
      await write('One');
      assert.deepEqual([await mail(), await notices()], [[], []]);
      const { status, emailAttempts } = await messageOf(database, 1);
      assert.deepEqual([status, emailAttempts], ['delivered', []]);
      await choose(ownerId, 'daily');
      await write('Two');
      assert.deepEqual([await mail(), await notices()], [[], []]);
      clock.advance(UNTIL_DIGEST);
      assert.deepEqual(addressesOf(await notices()), [OWNER]);
      // The store itself writes to the address of the account.
      await database.write(tx => sendNotification(tx, 1, 'You have used 80 %.'));
      await arrive();
      assert.deepEqual([addressesOf(await mail()), await notices()], [[OWNER], []]);
      // Another address of the account belongs to no member.
      await database.write(tx => updateAccount(tx, 1, { email: 'desk@example.org' }));
      await write('Three');
      assert.deepEqual(addressesOf(await mail()), ['desk@example.org']);
    });

    it('has the message and a link that stops it, with “each”', async () => {
      const { database, write, notices, choose, danaId } = await setUp(engine);
      await choose(danaId, 'each');
      await write('Is she fine with cats?');
      const [email, ...others] = await notices();
      assert.deepEqual(others, []);
      assert.match(email!.stopUrl!, new RegExp(`^${URL}/mail/stop/[\\w-]{43}$`));
      assert.deepEqual(email, {
        id: `notice-1.${NOON}`,
        to: [DANA],
        replyTo: 'jo@example.org',
        subject: 'A message about Bella',
        text: `Is she fine with cats?

--
Read it in the inbox of Riverside: ${URL}/shelter/messages/msg_1
You get this e-mail because you chose one for each message. After 50 of them within a day, further messages come in one e-mail at 07:00 UTC.
Choose another way: ${URL}/account/notifications
Want no more e-mail about messages? Open this link and press the button:
${email!.stopUrl}
`,
        at: NOON,
        stopUrl: email!.stopUrl,
        isAutomatic: true,
      });
      const secret = email!.stopUrl!.slice(-43);
      assert.equal((await findMailStop(database, secret))?.isStopped, false);
      assert.equal((await database.write(tx => stopMail(tx, secret)))?.isStopped, true);
      assert.deepEqual(await choices(database), { [OWNER]: 'each', [DANA]: 'none' });
      await write('Another');
      assert.deepEqual(await notices(), []);
      await choose(danaId, 'daily');
      assert.equal((await findMailStop(database, secret))?.isStopped, false, 'the link of an old e-mail works again');
    });

    it('comes once a day with “daily”, in whichever order nodes work, if there are unread messages', async () => {
      const { database, clock, write, notices, choose, danaId } = await setUp(engine);
      await choose(danaId, 'daily');
      await database.write(tx => createPet(tx, 1, { name: 'Max', categoryId: 1 }, 'open'));
      for (const petId of [1, 2, 1, 1, 1]) await write('Hello', petId);
      assert.deepEqual(await notices(), []);
      const message = (id: number) => messageOf(database, id);
      await database.write(async tx => markRead(tx, await message(3)));
      await database.write(async tx => moveMessage(tx, await message(4), 'archived'));
      await database.write(async tx => moveMessage(tx, await message(5), 'spam'));
      clock.advance(UNTIL_DIGEST - 1);
      assert.deepEqual(await notices(), []);
      clock.advance(1);
      const [email, ...others] = (await Promise.all([notices(), notices()])).flat();
      assert.deepEqual(others, []);
      const day = (await Promise.all([notices(), notices()])).flat();
      assert.deepEqual(day, []);
      assert.deepEqual([email!.to, email!.replyTo, email!.subject], [[DANA], null, '2 new messages to Riverside']);
      assert.match(email!.text, /\n\nMax: 1 message\nBella: 1 message\n\nRead them: /);
      // This unblocks the sender.
      await database.write(async tx => moveMessage(tx, await message(5), 'archived'));
      clock.advance(24 * HOUR);
      assert.deepEqual(await notices(), [], 'nothing new');
      await write('New');
      await notices();
      await database.write(async tx => markRead(tx, await message(6)));
      clock.advance(24 * HOUR);
      assert.deepEqual(await notices(), [], 'nothing unread');
      await write('Newer');
      await notices();
      clock.advance(24 * HOUR);
      const [next] = await notices();
      assert.match(next!.text, /\n\nBella: 1 message\n\n/, 'without those of an earlier digest');
    });

    it('lists a limited number of animals in a digest, and counts the messages about the others', async () => {
      const { database, clock, write, notices, choose, danaId } = await setUp(engine);
      await choose(danaId, 'daily');
      for (let petId = 2; petId <= 22; petId++) {
        await database.write(tx => createPet(tx, 1, { name: `Pet ${petId}`, categoryId: 1 }, 'open'));
      }
      for (let petId = 1; petId <= 22; petId++) await write('Hello', petId);
      await write('Hello', 1);
      await database.write(tx => deletePet(tx, { accountId: 1, admin: false }, 22));
      while ((await notices()).length > 0);
      clock.advance(UNTIL_DIGEST);
      const [email] = await notices();
      const lines = /opened yet:\n\n(.*)\n\nRead/s.exec(email!.text)![1]!.split('\n');
      assert.equal(lines.length, 21);
      assert.deepEqual(lines.slice(0, 2), ['Bella: 2 messages', 'An animal that is gone: 1 message']);
      assert.equal(lines.at(-1), 'Other animals: 2 messages');
      assert.equal(email!.subject, '23 new messages to Riverside');
    });

    it('is sent again after failures and crashes, and then has what arrived meanwhile, once', async () => {
      const { clock, write, notices, choose, danaId } = await setUp(engine);
      await choose(danaId, 'daily');
      await write('One');
      await notices();
      clock.advance(UNTIL_DIGEST);
      const [first] = await notices('crash');
      assert.deepEqual(await notices(), [], 'it is leased');
      await write('Two');
      await notices();
      clock.advance(10 * 60_000);
      const [second] = await notices({ reason: 'postponed', final: false, detail: '450' });
      clock.advance(HOUR);
      const [third] = await notices();
      assert.equal(new Set([first, second, third].map(email => email!.id)).size, 1);
      assert.deepEqual(
        [first, second, third].map(email => email!.subject),
        ['1 new message to Riverside', '2 new messages to Riverside', '2 new messages to Riverside'],
      );
      clock.advance(24 * HOUR);
      assert.deepEqual(await notices(), []);
    });

    it('stays at its hour when the service starts again', async () => {
      const { database, clock, write, notices, choose, danaId } = await setUp(engine);
      await choose(danaId, 'daily');
      await write('One');
      await notices();
      await noticeEmails({ database, sender: { send: async () => undefined }, log: silent, url: URL }).init!();
      assert.deepEqual(await notices(), []);
      clock.advance(UNTIL_DIGEST);
      assert.equal((await notices()).length, 1);
    });

    it('is limited within a day: further messages come in the digest, which says so', async () => {
      const { clock, write, notices, choose, danaId } = await setUp(engine);
      await choose(danaId, 'each');
      const { max } = attemptLimits.noticesToMember;
      for (let n = 0; n < max + 3; n++) await write(`${n}`);
      let sent = 0;
      for (let round = 0; round < max + 3; round += 10) sent += (await notices()).length;
      assert.equal(sent, max);
      clock.advance(UNTIL_DIGEST);
      const [email, ...others] = await notices();
      assert.deepEqual(others, []);
      assert.match(email!.text, /\n\nBella: 3 messages\n\n/);
      assert.match(email!.text, /You get at most 50 e-mails about single messages within a day\./);
      clock.advance(24 * HOUR);
      await write('Next day');
      assert.equal((await notices()).length, 1);
    });

    it('goes to confirmed addresses only, of members of accounts that are open', async () => {
      const { database, write, notices, choose, danaId, ownerId } = await setUp(engine, { isConfirmed: false });
      await choose(ownerId, 'none');
      await choose(danaId, 'each');
      await database.write(tx => suspendAccount(tx, 1));
      await write('Hello');
      assert.deepEqual(await notices(), []);
    });

    it('keeps going to the unconfirmed address of the account, whatever its member chose', async () => {
      const { write, mail, choose, ownerId } = await setUp(engine, { isConfirmed: false });
      await choose(ownerId, 'none');
      await write('Hello');
      assert.deepEqual(addressesOf(await mail()), [OWNER]);
    });

    it('ends with the membership, also what waits, and the choice does not come back with it', async () => {
      const { database, clock, write, notices, choose, danaId, join } = await setUp(engine);
      await choose(danaId, 'daily');
      await write('One');
      await notices();
      await write('Two');
      await database.write(tx => removeMember(tx, 1, danaId));
      assert.deepEqual(await database.all(allNotices, {}), []);
      clock.advance(UNTIL_DIGEST);
      assert.deepEqual(await notices(), []);
      await database.write(tx => chooseNotices(tx, { accountId: 1, personId: danaId }, 'each'));
      await join();
      assert.deepEqual(await choices(database), { [OWNER]: 'each', [DANA]: 'none' });
    });

    it('is not about spam, or what is archived before it is sent', async () => {
      const { database, write, notices, choose, danaId } = await setUp(engine);
      await choose(danaId, 'each');
      await write('One');
      await database.write(async tx => moveMessage(tx, await messageOf(database, 1), 'spam'));
      await write('Two');
      assert.deepEqual(await notices(), []);
    });
  });
});

async function setUp(engine: Engine, { isConfirmed = true } = {}) {
  const clock = testClock(NOON);
  const database = await engine.open({ clock });
  const join = async () => {
    const added = await database.write(async tx => {
      const secret = await invite(tx, { accountId: 1, invitedBy: 1, role: 'viewer', email: DANA }, undefined);
      return acceptInvitation(tx, secret!, { name: 'Dana', hash: 'x' }, undefined);
    });
    return added!.id;
  };
  const arrive = () => inboxDelivery({ database, emailQueued: () => {} }).claim(1);
  await database.write(async tx => {
    await createAccount(tx, { email: OWNER, name: 'Riverside' });
    await createAccount(tx, { email: 'other@example.org', name: 'Other' });
    await createPet(tx, 1, { name: 'Bella', categoryId: 1 }, 'open');
  });
  const danaId = await join();
  if (isConfirmed) {
    await database.write(async tx => {
      for (const id of [1, danaId]) await confirmAddress(tx, (await findPerson(tx, id))!);
    });
  }
  return {
    ...{ clock, database, danaId, ownerId: 1, join, arrive },
    /** Sends a message about an animal, which arrives in the inbox. */
    async write(message: string, petId = 1) {
      const sent = { petId, message, replyTo: 'jo@example.org' };
      await database.write(tx => sendMessage(tx, { accountId: 2, admin: false }, sent));
      await arrive();
    },
    choose: (personId: number, notices: NoticeChoice) =>
      database.write(tx => chooseNotices(tx, { accountId: 1, personId }, notices)),
    /** Runs the job that sends messages to the addresses of accounts. */
    mail: () => sentBy(emailDelivery, database),
    /** Runs the job that sends e-mail to members. */
    notices: (result?: EmailFailure | 'crash') => sentBy(noticeEmails, database, result),
  };
}

/** Runs a job once for all due e-mails. Returns those that it tried to send. */
async function sentBy(
  jobOf: typeof noticeEmails | typeof emailDelivery,
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
  const job = (jobOf as typeof noticeEmails)({ database, sender, log: silent, url: URL });
  const { jobs } = await job.claim(100);
  for (const one of jobs) await job.run(one, new AbortController().signal).catch(() => undefined);
  return emails;
}

function addressesOf(emails: readonly Email[]): string[] {
  return emails.flatMap(({ to }) => to);
}

async function messageOf(database: Database, id: number): Promise<ReceivedMessage> {
  return (await getMessage(database, { accountId: null, admin: true }, id)) as ReceivedMessage;
}

/** Returns the choices of the members of the first account. */
async function choices(database: Database): Promise<Record<string, NoticeChoice>> {
  const members = await listMembers(database, 1);
  return Object.fromEntries(members.map(member => [member.email, noticesOf({ email: OWNER }, member)]));
}

const allNotices = query(db => db.selectFrom('message_notices').select('id'));
