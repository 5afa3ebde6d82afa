import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { confirmAddress } from '../../src/access/accounts/addresses.ts';
import { findPerson } from '../../src/access/accounts/people.ts';
import { type TestClock, testClock } from '../../src/lib/clock.ts';
import { query } from '../../src/model/schema.ts';
import { nextDueTimes } from '../../src/operate/jobs.ts';
import { overEachEngine, overPostgres } from '../support/engines-over-http.ts';
import { send, serve, type TestService } from '../support/serving.ts';
import { type SmtpServer, startSmtpServer } from '../support/smtp-server.ts';
import { valkeyUrl, withoutValkey } from '../support/valkey-server.ts';
import { waitUntil } from '../support/wait-until.ts';
import { signedIn, signedInAs, type Visitor } from './session.ts';

const PATH = '/account/notifications';
const NOON = Date.parse('2026-11-28T12:00:00Z');
const HOUR = 3_600_000;

overEachEngine(engine => {
  describe('the notifications of a member', () => {
    let service: TestService;
    let smtp: SmtpServer;
    let clock: TestClock;
    before(async () => {
      clock = testClock(NOON);
      smtp = await startSmtpServer();
      service = await serve({ clock, environment: { ...(await engine.settings()), ...mailSettings(smtp) } });
    });
    after(async () => {
      await service?.stop();
      await smtp?.close();
    });

    const mailsTo = (email: string) => smtp.mails.filter(({ to }) => to.includes(email));

    it('are chosen on a page, for each member alone, and stay', async () => {
      const { owner, member, email } = await shelter(service);
      const page = async (visitor: Visitor) => (await visitor.open(PATH)).text;
      assert.equal(chosenOn(await page(owner)), 'each');
      assert.equal(chosenOn(await page(member)), 'none');
      assert.ok((await page(member)).includes(`E-mail goes to <bdi>${email}</bdi>.`));
      assert.match(await page(owner), /also the address of the account/);
      const refused = await member.submit(PATH, { notices: 'toString' });
      assert.deepEqual(
        [refused.status, /id="notices-error">(.*?)</.exec(refused.text)?.[1]],
        [422, 'Choose one of the three.'],
      );
      await choose(member, 'daily');
      assert.deepEqual([chosenOn(await page(owner)), chosenOn(await page(member))], ['each', 'daily']);
      const { text } = await owner.submit('/account/export');
      assert.deepEqual(
        JSON.parse(text).members.map(({ notices }: { notices: string }) => notices),
        ['each', 'daily'],
      );
    });

    it('are e-mails, one for each message or one a day, or none', async () => {
      const { write, member, email, ownerEmail } = await shelter(service);
      await choose(member, 'each');
      await write('One');
      await arrived(service);
      assert.deepEqual([mailsTo(ownerEmail).length, mailsTo(email).length], [1, 1]);
      const { headers, text } = mailsTo(email)[0]!;
      assert.match(text, /^One\r?\n/);
      assert.equal(headers.get('subject'), 'A message about Bella');
      assert.equal(headers.get('auto-submitted'), 'auto-generated');
      await choose(member, 'daily');
      await write('Two');
      await write('Three');
      await arrived(service);
      clock.advance(24 * HOUR);
      await allSent(service);
      assert.deepEqual([mailsTo(ownerEmail).length, mailsTo(email).length], [3, 2]);
      assert.match(mailsTo(email)[1]!.text, /Bella: 2 messages/);
      await choose(member, 'none');
      await write('Four');
      await arrived(service);
      clock.advance(24 * HOUR);
      await allSent(service);
      assert.deepEqual([mailsTo(ownerEmail).length, mailsTo(email).length], [4, 2]);
    });

    it('end with one click in the e-mail program, for this member alone', async () => {
      const { write, member, email, owner } = await shelter(service);
      await choose(member, 'each');
      await write('One');
      await arrived(service);
      const { headers } = mailsTo(email)[0]!;
      assert.equal(headers.get('list-unsubscribe-post'), 'List-Unsubscribe=One-Click');
      const url = /^<(.*)>$/.exec(headers.get('list-unsubscribe')!)![1]!;
      const opened = await fetch(url);
      assert.match(await opened.text(), /sends you e-mail about new messages/);
      assert.equal(chosenOn((await member.open(PATH)).text), 'each', 'opening the page stops nothing');
      const body = new URLSearchParams({ 'List-Unsubscribe': 'One-Click' });
      const clicked = await fetch(url, { method: 'POST', body, redirect: 'error' });
      assert.deepEqual([clicked.status, /You get no more e-mail/.test(await clicked.text())], [200, true]);
      assert.equal(chosenOn((await member.open(PATH)).text), 'none');
      assert.equal(chosenOn((await owner.open(PATH)).text), 'each');
      await owner.submit(`/account/people/${member.personId}/removal`);
      assert.equal((await fetch(url)).status, 404, 'the link of a former member');
    });

    it('need a confirmed address', async () => {
      const { member } = await shelter(service, { isConfirmed: false });
      const { text } = await member.open(PATH);
      assert.match(text, /You can choose once your address is confirmed\./);
      assert.ok(!text.includes('name="notices"'));
      assert.equal((await member.submit(PATH, { notices: 'each' })).status, 200);
      const stored = await service.app.databases.production.all(allChoices, {});
      assert.ok(!stored.some(({ personId }) => personId === member.personId));
    });
  });
});

overPostgres(engine => {
  describe('the daily e-mail', { skip: withoutValkey }, () => {
    it('is sent once by two nodes', async t => {
      const smtp = await startSmtpServer();
      t.after(() => smtp.close());
      const environment = { ...(await engine.settings()), ...mailSettings(smtp), PETSTORE_VALKEY_URL: valkeyUrl };
      const nodes = await Promise.all([serve({ environment }), serve({ environment })]);
      for (const node of nodes) t.after(() => node.stop());
      const [service] = nodes;
      const { production } = service!.app.databases;
      const shelters = await Promise.all([1, 2, 3, 4, 5].map(() => shelter(service!)));
      for (const { member, write } of shelters) {
        await choose(member, 'daily');
        await write('Hello');
      }
      await waitUntil(async () => (await production.all(allDigests, {})).length === shelters.length);
      await production.write(tx => tx.run(setDue, {}));
      await allSent(service!);
      for (const { email } of shelters) assert.equal(smtp.mails.filter(({ to }) => to.includes(email)).length, 1);
    });
  });
});

describe('the notifications of a member, where no message leaves', () => {
  for (const [where, environment, reason] of [
    ['without a mail server', {}, /This store sends no e-mail/],
    ['on staging', { PETSTORE_PORT: '' }, /This is staging: it never sends messages by e-mail\./],
  ] as const) {
    it(`cannot be chosen ${where}`, async t => {
      const service = await serve({ environment });
      t.after(() => service.stop());
      const urls = { ...service.urls, production: service.urls.production ?? service.urls.staging };
      const person = await signedIn({ ...service, urls });
      const { text, status } = await person.open(PATH);
      assert.equal(status, 200);
      assert.match(text, reason);
      assert.ok(!text.includes('name="notices"'));
    });
  }
});

const mailSettings = (smtp: SmtpServer) => ({
  ...{ PETSTORE_SMTP_URL: smtp.url, PETSTORE_MAIL_FROM: 'store@example.org' },
});

let shelters = 0;

/** Returns an account with an animal and two members, and a function with which a developer's key writes about it. */
async function shelter(service: TestService, { isConfirmed = true } = {}) {
  const { production } = service.app.databases;
  const ownerEmail = `shelter-${++shelters}@example.org`;
  const owner = await signedIn(service, { name: 'Riverside', email: ownerEmail });
  const member = await signedInAs(service, owner.accountId, 'staff');
  if (isConfirmed) {
    await production.write(async tx => {
      for (const id of [owner.accountId, member.personId]) await confirmAddress(tx, (await findPerson(tx, id))!);
    });
  }
  const post = async (url: string, key: { readonly token: string }, body: object) =>
    (await send(url, { method: 'POST', key, body })).body.id;
  const key = await service.newKey({ accountId: owner.accountId });
  const petId = await post(`${service.urls.production}/pets`, key, { name: 'Bella', categoryId: 2 });
  const otherKey = await service.newKey();
  return {
    ...{ owner, member, ownerEmail, email: member.email },
    write: (message: string) => post(`${service.urls.production}/messages`, otherKey, { message, petId }),
  };
}

/** Chooses on the page, once no older release can serve the database. */
async function choose(member: Visitor, notices: string): Promise<void> {
  await waitUntil(async () => {
    const { status, headers } = await member.submit(PATH, { notices });
    return status === 303 && headers.location === `${PATH}?done=${notices}`;
  });
}

function chosenOn(text: string): string | undefined {
  return /name="notices" value="(\w+)" checked/.exec(text)?.[1];
}

/** Resolves when all messages have arrived and every e-mail has been sent, but for digests that still collect. */
async function arrived({ app }: TestService): Promise<void> {
  const { production } = app.databases;
  await waitUntil(async () => {
    const { messages, mail } = await nextDueTimes(production);
    return messages === null && mail === null && (await production.all(pendingNotices, {})).length === 0;
  });
}

/** Resolves when every e-mail has been sent, also digests. */
async function allSent({ app }: TestService): Promise<void> {
  await waitUntil(async () => (await nextDueTimes(app.databases.production)).notice_emails === null);
}

const pendingNotices = query(db => db.selectFrom('message_notices').select('id').where('collects', 'is', null));
const allDigests = query(db => db.selectFrom('message_notices').select('id').where('collects', '=', 1));
const setDue = query(db => db.updateTable('message_notices').set({ due_at: 0 }));
const allChoices = query(db =>
  db.selectFrom('members').select('person_id as personId').where('notices', 'is not', null),
);
