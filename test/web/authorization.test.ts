import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { suspendAccount } from '../../src/access/accounts/accounts.ts';
import { SESSION_MS } from '../../src/access/sessions/session.ts';
import { pages } from '../../src/main/pages.ts';
import { type Params, query } from '../../src/model/schema.ts';
import type { WebPage } from '../../src/web/page.ts';
import { type Reply, serve, type TestService } from '../support/serving.ts';
import { anonymous, signedIn, type Visitor } from './session.ts';

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

/** Returns the path of a page with an id that does not exist in place of each parameter. */
function pathOf({ path }: WebPage): string {
  return path.replace(/\{\w+\}|\*$/g, '999999');
}

const ageSessions = query((db, p: Params<{ accountId: number; by: number }>) =>
  db
    .updateTable('sessions')
    .set(eb => ({ expires_at: eb('expires_at', '-', p.by) }))
    .where('account_id', '=', p.accountId),
);
