import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import { suspendAccount } from '../../src/access/accounts/accounts.ts';
import { removeMember } from '../../src/access/people/members.ts';
import { SESSION_MS } from '../../src/access/sessions/session.ts';
import { pages } from '../../src/main/pages.ts';
import { allows, type Role, roleNames } from '../../src/model/roles.ts';
import { type Params, query } from '../../src/model/schema.ts';
import { sendNotification } from '../../src/store/messages/messages.ts';
import { createPet } from '../../src/store/pets/pets.ts';
import type { WebPage } from '../../src/web/page.ts';
import { overEachEngine } from '../support/engines-over-http.ts';
import { type Reply, serve, type TestService } from '../support/serving.ts';
import { anonymous, signedIn, signedInAs, type Visitor } from './session.ts';

/**
 * The authorization matrix of the pages, generated from the page values: every page and every form, opened by everyone
 * that there is. What a page does for those who may open it is tested with the page.
 */
describe('the pages and forms', () => {
  let service: TestService;
  let visitor: Visitor;
  let person: Visitor;
  let admin: Visitor;
  let suspended: Visitor;
  let expired: Visitor;
  before(async () => {
    service = await serve();
    visitor = anonymous(service);
    person = await signedIn(service);
    admin = await signedIn(service, { admin: true });
    suspended = await signedIn(service);
    expired = await signedIn(service);
    const { production } = service.app.databases;
    await production.write(async tx => {
      await suspendAccount(tx, suspended.accountId);
      await tx.run(ageSessions, { accountId: expired.accountId, by: SESSION_MS });
    });
  });
  after(() => service.stop());

  for (const page of pages.filter(({ show }) => show)) {
    const path = pathOf(page);
    it(`GET ${page.path} is for ${page.access}`, async () => {
      const opened = {
        visitor: await visitor.open(path),
        expired: await expired.open(path),
        person: await person.open(path),
        suspended: await suspended.open(path),
        admin: await admin.open(path),
      };
      for (const [who, reply] of Object.entries(opened)) assertPage(reply, `${who} on ${path}`);
      if (page.access === 'everyone') return;
      for (const who of ['visitor', 'expired'] as const) {
        assert.equal(opened[who].status, 303, who);
        assert.match(String(opened[who].headers.location), /^\/sign-in\?next=/, who);
      }
      assert.match(String(opened.expired.headers['set-cookie']), /Max-Age=0/);
      if (page.access === 'admin') assert.equal(opened.person.status, 403);
      else assert.notEqual(opened.person.status, 403);
      if (!page.whileSuspended) assert.equal(opened.suspended.status, 403);
      assert.notEqual(opened.admin.status, 403);
    });
  }

  for (const page of pages.filter(({ submit }) => submit)) {
    const path = pathOf(page);
    it(`POST ${page.path} requires its own site, the token of the form, and ${page.access}`, async () => {
      const submit = page.file === undefined ? 'submit' : 'submitMultipart';
      for (const site of ['cross-site', 'same-site']) {
        const reply = await admin[submit](path, {}, { 'Sec-Fetch-Site': site });
        assert.equal(reply.status, 403, site);
      }
      const elsewhere = await admin[submit](path, {}, { 'Sec-Fetch-Site': '', Origin: 'https://elsewhere.example' });
      assert.equal(elsewhere.status, 403);
      if (!page.withoutToken) {
        assert.equal((await admin[submit](path, null)).status, 403);
        assert.equal((await admin[submit](path, { token: 'x'.repeat(43) })).status, 403);
      }
      if (page.access === 'everyone') return;
      for (const [who, someone] of Object.entries({ visitor, expired })) {
        const reply = await someone[submit](path);
        // The cookie of an expired session still proves that the form is its own.
        assert.equal(reply.status, 303, who);
        assert.match(String(reply.headers.location), /^\/sign-in/, who);
      }
      if (page.access === 'admin') assert.equal((await person[submit](path)).status, 403);
      if (!page.whileSuspended) assert.equal((await suspended[submit](path)).status, 403);
    });
  }
});

overEachEngine(engine => {
  describe('the pages and forms of an account', () => {
    let service: TestService;
    let members: Record<Role, Visitor>;
    let removed: Visitor;
    let another: Visitor;
    /** Values of path parameters that exist in the account. */
    let existing: Record<string, string>;
    before(async () => {
      service = await serve({ environment: await engine.settings() });
      const { production } = service.app.databases;
      // An owner of an admin account has the rights of an admin, so a member who is no owner shows that they do not.
      const owner = await signedIn(service, { admin: true });
      const { accountId } = owner;
      const [staff, developer, viewer] = [
        await signedInAs(service, accountId, 'staff'),
        await signedInAs(service, accountId, 'developer'),
        await signedInAs(service, accountId, 'viewer'),
      ];
      members = { owner, staff, developer, viewer };
      another = await signedIn(service);
      const leaving = await signedInAs(service, accountId, 'staff');
      removed = leaving;
      const key = await service.newKey({ accountId });
      const petId = await production.write(async tx => {
        await createPet(tx, accountId, { name: 'Bella', categoryId: 1 }, 'open');
        await sendNotification(tx, accountId, 'A message');
        await removeMember(tx, accountId, leaving.personId);
        return (await tx.first(lastPet, {}))!.id;
      });
      const personId = String(staff.personId);
      existing = { petId: String(petId), keyId: key.id, personId, messageId: 'msg_1' };
    });
    after(() => service.stop());

    const ofAccounts = pages.filter(({ access }) => access !== 'everyone');

    it('each name a permission', () => {
      for (const { path, permission } of ofAccounts) assert.notEqual(permission, undefined, path);
    });

    for (const page of ofAccounts.filter(({ show }) => show)) {
      const { permission, shownFor = permission } = page;
      it(`GET ${page.path} is for members who may ${shownFor}`, async () => {
        const path = pathOf(page);
        for (const [role, member] of Object.entries(members)) {
          const reply = await member.open(path);
          assertPage(reply, `${role} on ${path}`);
          assert.equal(reply.status === 403, !allows(role as Role, shownFor!), `${role} on ${path}: ${reply.status}`);
        }
        assert.equal((await removed.open(path)).status, 303, 'a removed member is signed out');
      });
    }

    it('each weigh at most 60 KB with their styles and scripts', async () => {
      const assets = new Map<string, number>();
      const weightOf = async (path: string) => {
        const known = assets.get(path);
        if (known !== undefined) return known;
        const weight = gzipSync((await members.owner.open(path)).text).length;
        assets.set(path, weight);
        return weight;
      };
      for (const page of ofAccounts.filter(({ show }) => show)) {
        const { status, headers, text } = await members.owner.open(pathOf(page, existing));
        if (status !== 200 || !String(headers['content-type']).startsWith('text/html')) continue;
        let weight = gzipSync(text).length;
        for (const [, path] of text.matchAll(/ (?:src|href)="(\/assets\/[^"]+\.(?:css|js))"/g))
          weight += await weightOf(path!);
        assert.ok(weight <= 60_000, `${page.path}: ${weight} bytes`);
      }
      assert.ok(assets.size > 10, 'the pages have styles and scripts');
    });

    for (const page of ofAccounts.filter(({ submit }) => submit)) {
      it(`POST ${page.path} is for members who may ${page.permission}`, async () => {
        const submit = page.file === undefined ? 'submit' : 'submitMultipart';
        const path = pathOf(page);
        for (const role of roleNames.filter(name => !allows(name, page.permission!))) {
          const reply = await members[role][submit](path);
          assert.equal(reply.status, 403, `${role} on ${path}`);
        }
        const reply = await removed[submit](path);
        assert.match(String(reply.headers.location), /^\/sign-in/, 'a removed member is signed out');
      });
    }

    const withIds = ofAccounts.filter(({ path, access }) => access === 'account' && path.includes('{'));
    for (const page of withIds) {
      it(`${page.path} has nothing of another account`, async () => {
        const path = pathOf(page, existing);
        // Pages of forms alone lead back to the page with the form.
        if (page.show) assert.ok([303, 404].includes((await another.open(path)).status), path);
        const submit = page.file === undefined ? 'submit' : 'submitMultipart';
        // Forms with a photo are refused earlier, because they have none.
        if (page.submit) assert.ok([404, 422].includes((await another[submit](path)).status), path);
      });
    }
  });
});

/** Asserts what holds for every page, whatever it shows. */
function assertPage({ status, headers, text }: Reply, message: string): void {
  assert.ok(status < 500 && status !== 400, `${message}: ${status} ${text.slice(0, 300)}`);
  assert.equal(headers['access-control-allow-origin'], undefined, `${message} is for this site only`);
  if (!String(headers['content-type']).startsWith('text/html')) return;
  const policy = String(headers['content-security-policy']);
  assert.match(policy, /^default-src 'none'; script-src 'self'; style-src 'self'/, message);
  assert.doesNotMatch(policy, /unsafe/, message);
  for (const name of ['x-frame-options', 'referrer-policy', 'permissions-policy', 'cross-origin-opener-policy']) {
    assert.ok(headers[name], `${message} has ${name}`);
  }
  assert.equal(headers['x-content-type-options'], 'nosniff', message);
  assert.doesNotMatch(text, /\sstyle=|\son[a-z]+="|<style|<script(?![^>]* src=)/, `${message} has nothing inline`);
  assert.doesNotMatch(text, /\[object |undefined</, message);
}

/** Returns the path of a page with the values of its parameters, or else with ids that do not exist. */
function pathOf({ path }: WebPage, existing: Readonly<Record<string, string>> = {}): string {
  return path.replace(/\{(\w+)\}|\*$/g, (_, name: string) => existing[name] ?? '999999');
}

const ageSessions = query((db, p: Params<{ accountId: number; by: number }>) =>
  db
    .updateTable('sessions')
    .set(eb => ({ expires_at: eb('expires_at', '-', p.by) }))
    .where('account_id', '=', p.accountId),
);

const lastPet = query(db => db.selectFrom('pets').select('id').orderBy('id', 'desc').limit(1));
