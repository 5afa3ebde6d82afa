import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Browser } from 'playwright-core';
import { createAccount, suspendAccount } from '../../src/access/accounts/accounts.ts';
import { findPersonByEmail } from '../../src/access/accounts/people.ts';
import { listKeys } from '../../src/access/keys/keys.ts';
import { listMembers } from '../../src/access/people/members.ts';
import { send, serve, type TestService } from '../support/serving.ts';
import { type SmtpServer, startSmtpServer } from '../support/smtp-server.ts';
import { waitUntil } from '../support/wait-until.ts';
import { assertFits, launchBrowser, skipBrowser } from './browser.ts';
import { anonymous, signedIn, signedInAs, signedInTo, type Visitor } from './session.ts';

const PASSWORD = 'correct horse battery';

/** Returns the path of the link that a page shows once. */
function linkOn(text: string): string {
  return /(\/invitations\/[\w-]{43})/.exec(text)![1]!;
}

describe('people, where the store sends no e-mail', () => {
  let service: TestService;
  let owner: Visitor;
  before(async () => {
    service = await serve();
    owner = await signedIn(service, { name: 'Riverside Shelter' });
  });
  after(() => service.stop());
  const database = () => service.app.databases.production;
  const invite = async (email: string, role = 'staff') => {
    const reply = await owner.submit('/account/people', { email, role });
    assert.equal(reply.status, 200, reply.text);
    return linkOn(reply.text);
  };

  it('join by a link that is shown once, and only with its address', async () => {
    const path = await invite('Dana@example.org');
    assert.doesNotMatch((await owner.open('/account/people')).text, /\/invitations\/[\w-]{43}/);
    const stranger = anonymous(service);
    assert.match((await stranger.open(path)).text, /Join Riverside Shelter/);
    assert.doesNotMatch((await stranger.open(path)).text, /dana@example\.org/i, 'the page does not reveal the address');
    const form = { name: 'Dana', password: PASSWORD };
    const wrong = await stranger.submit(path, { ...form, email: 'eve@example.org' });
    assert.equal(wrong.status, 422);
    assert.match(wrong.text, /for another e-mail address/);
    const joined = await stranger.submit(path, { ...form, email: 'dana@example.org' });
    assert.equal(joined.status, 303);
    assert.match(String(joined.headers['set-cookie']), /session/);
    assert.equal((await anonymous(service).open(path)).status, 410);
    const signIn = await anonymous(service).submit('/sign-in', { email: 'dana@example.org', password: PASSWORD });
    assert.equal(signIn.status, 303);
  });

  it('who exist already sign in to join, and then switch between their accounts', async () => {
    const ben = await signedIn(service, { email: 'ben@example.org', name: 'Ben’s shop' });
    const path = await invite('ben@example.org', 'viewer');
    assert.match((await anonymous(service).open(path)).text, /\/sign-in\?next=%2Finvitations/);
    const refused = await anonymous(service).submit(path, { name: 'x', email: 'ben@example.org', password: PASSWORD });
    assert.equal(refused.status, 422, 'nobody takes the place of Ben');
    assert.match(refused.text, /has a sign-in already/);
    assert.equal(refused.headers['set-cookie'], undefined);
    assert.match((await owner.open(path)).text, /another e-mail address than/);
    assert.equal((await owner.submit(path)).status, 200);
    assert.equal((await ben.submit(path)).status, 303);
    assert.equal((await ben.open('/keys')).status, 403, 'Ben sees Riverside now, as a viewer');
    assert.equal((await ben.submit('/account/switch', { account: String(ben.accountId) })).status, 303);
    assert.equal((await ben.open('/keys')).status, 200);
    assert.equal((await ben.submit('/account/switch', { account: String(owner.accountId) })).status, 303);
    assert.equal((await ben.submit('/account/switch', { account: '999' })).status, 404);
    await database().write(async tx => {
      await createAccount(tx, { email: 'other@example.org', name: 'Other' });
    });
    const other = (await findPersonByEmail(database(), 'other@example.org'))!;
    assert.equal((await ben.submit('/account/switch', { account: String(other.id) })).status, 404);
  });

  it('have an invitation whose page does not show whether the address can sign in', async () => {
    await signedIn(service, { email: 'known@example.org' });
    const seen = async (email: string, form?: Record<string, string>) => {
      const [path, visitor] = [await invite(email), anonymous(service)];
      const { status, text } = form === undefined ? await visitor.open(path) : await visitor.submit(path, form);
      return { status, text: text.replaceAll(path.slice(-43), '').replace(/name="token" value="[^"]+"/g, '') };
    };
    for (const form of [undefined, { name: '', email: '', password: '' }, { email: 'x@example.org', name: 'Eve' }]) {
      assert.deepEqual(await seen('known@example.org', form), await seen('new@example.org', form));
    }
  });

  it('have one name for each change in the audit log', async () => {
    const account = await signedIn(service, { name: 'Audited' });
    const staff = await signedInAs(service, account.accountId, 'staff');
    const invitation = await account.submit('/account/people', { email: 'eve@example.org', role: 'staff' });
    const eve = { name: 'Eve', email: 'eve@example.org', password: PASSWORD };
    assert.equal((await anonymous(service).submit(linkOn(invitation.text), eve)).status, 303);
    const added = await staff.submit('/shelter/animals/new', { name: 'Rex', categoryId: '1' });
    assert.equal(added.status, 303, added.text);
    const key = await service.newKey({ accountId: account.accountId });
    const { body } = await send(`${service.urls.production}/audit`, { key });
    const entry = body.find(({ type }: { type: string }) => type === 'pet.created');
    assert.equal(entry.personId, staff.personId);
    const joined = body.find(({ type }: { type: string }) => type === 'account.member_joined');
    assert.ok(joined, 'joining is recorded');
  });

  it('are removed with what they began; their keys stay unless the owner revokes them', async () => {
    const account = await signedIn(service, { name: 'Leaving' });
    const dana = await signedInAs(service, account.accountId, 'developer');
    const made = async () =>
      (await listKeys(database(), account.accountId)).filter(({ revokedAt }) => revokedAt === null).length;
    const newKey = { name: 'Site', deployment: 'staging', access: 'read' };
    assert.equal((await dana.submit('/keys/new', newKey)).status, 200);
    assert.equal((await dana.submit('/keys/new', { ...newKey, access: 'all' })).status, 422);
    assert.equal(await made(), 1);
    for (const deployment of ['staging', 'production']) {
      const form = { url: `https://${deployment}.example/`, events: 'all' };
      assert.equal((await dana.submit(`/webhooks/new?deployment=${deployment}`, form)).status, 200);
    }
    const page = await account.open(`/account/people/${dana.personId}/removal`);
    assert.match(page.text, /They made these API keys/);
    assert.match(page.text, /href="\/webhooks\/\d+\?deployment=staging"><bdi>https:\/\/staging\.example\//);
    assert.match(page.text, /href="\/webhooks\/\d+"><bdi>https:\/\/production\.example\//);
    assert.doesNotMatch((await dana.open(`/account/people/${dana.personId}/removal`)).text, /href="\/webhooks\/\d/);
    assert.equal((await account.submit(`/account/people/${dana.personId}/removal`, {})).status, 303);
    assert.equal(await made(), 1);
    assert.match(String((await dana.open('/shelter/animals')).headers.location), /^\/sign-in/);
    const eve = await signedInAs(service, account.accountId, 'developer');
    assert.equal((await eve.submit('/keys/new', newKey)).status, 200);
    assert.equal((await account.submit(`/account/people/${eve.personId}/removal`, { revoke: 'keys' })).status, 303);
    assert.equal(await made(), 1, 'the key of Eve is revoked, that of Dana is not');
  });

  it('have a name of their own, which each can change', async () => {
    const account = await signedIn(service, { name: 'Names' });
    const staff = await signedInAs(service, account.accountId, 'staff');
    assert.equal((await staff.submit('/account/own-name', { ownName: 'דנה' })).status, 303);
    assert.match((await account.open('/account/people')).text, /<bdi>דנה<\/bdi>/);
    assert.equal((await staff.submit('/account/own-name', { ownName: ' ' })).status, 422);
    assert.equal((await staff.submit('/account/name', { name: 'x' })).status, 403);
  });

  it('rotate only keys with scopes of their role', async () => {
    const account = await signedIn(service, { name: 'Scopes' });
    const dana = await signedInAs(service, account.accountId, 'developer');
    const { id } = await service.newKey({ accountId: account.accountId });
    assert.equal((await dana.submit(`/keys/${id}/rotate`, {})).status, 403);
    const read = await service.newKey({ accountId: account.accountId, scopes: ['pets:read'] });
    assert.equal((await dana.submit(`/keys/${read.id}/rotate`, {})).status, 200);
  });

  it('keep one owner', async () => {
    const account = await signedIn(service, { name: 'Owners' });
    const dana = await signedInAs(service, account.accountId, 'staff');
    const leave = await account.submit(`/account/people/${account.accountId}/removal`, {});
    assert.match(leave.text, /needs an owner/);
    assert.equal((await account.submit(`/account/people/${account.accountId}`, { role: 'viewer' })).status, 422);
    assert.equal((await account.submit(`/account/people/${dana.personId}`, { role: 'owner' })).status, 303);
    assert.equal((await account.submit(`/account/people/${account.accountId}/removal`, {})).status, 303);
    const members = await listMembers(database(), account.accountId);
    assert.deepEqual(
      members.map(({ id, role }) => [id, role]),
      [[dana.personId, 'owner']],
    );
  });

  it('leave by themselves, but remove nobody else', async () => {
    const account = await signedIn(service, { name: 'Staff leaves' });
    const [dana, eve] = [
      await signedInAs(service, account.accountId, 'staff'),
      await signedInAs(service, account.accountId, 'staff'),
    ];
    assert.equal((await dana.submit(`/account/people/${eve.personId}/removal`, {})).status, 403);
    assert.equal((await listMembers(database(), account.accountId)).length, 3);
    const left = await dana.submit(`/account/people/${dana.personId}/removal`, {});
    assert.equal(left.headers.location, '/sign-in?done=left');
    assert.equal((await listMembers(database(), account.accountId)).length, 2);
  });

  it('are refused roles that do not exist, addresses that are none, and too many changes', async () => {
    const account = await signedIn(service, { name: 'Refusals' });
    const send = (form: Record<string, string>) => account.submit('/account/people', form);
    assert.equal((await send({ email: 'a@example.org', role: 'constructor' })).status, 422);
    assert.equal((await send({ email: 'nobody', role: 'staff' })).status, 422);
    let last = 0;
    for (let i = 0; i < 61; i++) last = (await send({ email: `p${i}@example.org`, role: 'viewer' })).status;
    assert.equal(last, 429);
  });

  it('of a suspended account change nothing', async () => {
    const account = await signedIn(service, { name: 'Suspended' });
    await database().write(tx => suspendAccount(tx, account.accountId));
    assert.equal((await account.submit('/account/people', { email: 'a@example.org', role: 'staff' })).status, 403);
  });
});

describe('people, where the store sends e-mail', { skip: skipBrowser }, () => {
  let mail: SmtpServer;
  let service: TestService;
  let browser: Browser;
  before(async () => {
    mail = await startSmtpServer();
    service = await serve({ environment: { PETSTORE_SMTP_URL: mail.url, PETSTORE_MAIL_FROM: 'store@example.org' } });
    browser = await launchBrowser();
  });
  after(async () => {
    await browser?.close();
    await service?.stop();
    await mail?.close();
  });

  const mailTo = async (to: string, subject: RegExp) => {
    const find = () => mail.mails.find(one => one.to.includes(to) && subject.test(one.headers.get('subject')!));
    await waitUntil(() => find() !== undefined);
    return find()!.text.replaceAll('\r', '');
  };

  it('join by the link in an e-mail, and the owner gets an e-mail about it', async () => {
    const email = 'owner@example.org';
    const { id } = await service.app.databases.production.write(tx =>
      createAccount(tx, { email, name: 'Visit www.example.com now' }),
    );
    const owner = await signedInTo(service, id);
    const page = await owner.newPage(browser);
    await page.goto(`${new URL(service.urls.production).origin}/account/people`);
    await assertFits(page);
    await page.getByLabel('E-mail address', { exact: true }).fill('volunteer@example.org');
    await page.getByRole('button', { name: 'Send the invitation' }).click();
    await page.getByText('We sent the invitation.').waitFor();
    const text = await mailTo('volunteer@example.org', /^Join/);
    assert.doesNotMatch(text, /www\.example\.com/, 'a name that could be a link is not in the e-mail');
    const guest = await (await browser.newContext({ viewport: { width: 390, height: 800 } })).newPage();
    await guest.goto(/^http\S+\/invitations\/\S+$/m.exec(text)![0]);
    await assertFits(guest);
    await guest.getByLabel('Your name').fill('מתנדבת');
    await guest.getByLabel('Choose a password').fill(PASSWORD);
    await guest.getByRole('button', { name: 'Join' }).click();
    await guest.waitForURL('**/shelter');
    await mailTo(email, /joined your account/);
    const person = await findPersonByEmail(service.app.databases.production, 'volunteer@example.org');
    const path = `/account/people/${person!.id}`;
    assert.equal((await owner.submit(path, { role: 'viewer' })).status, 303);
    await mailTo(email, /role in your account/);
    assert.equal((await owner.submit(`${path}/removal`)).status, 303);
    await mailTo(email, /left your account/);
    assert.notEqual(person?.emailConfirmedAt, undefined, 'the link in the e-mail confirms the address');
  });
});
