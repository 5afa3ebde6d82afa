import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Engine, onEachEngine } from '../../../test/support/engines.ts';
import { testClock } from '../../lib/clock.ts';
import { UserError } from '../../lib/user-error.ts';
import { MEMBERSHIPS_MAX } from '../../model/person.ts';
import { allows, includesScopes, permissions, roleNames, scopesFor } from '../../model/roles.ts';
import { type Params, query } from '../../model/schema.ts';
import { createAccount, eraseAccount, getAccount, suspendAccount, updateAccount } from '../accounts/accounts.ts';
import { changeAddress, confirmAddress } from '../accounts/addresses.ts';
import { findPerson, findPersonByEmail, insertMember, listMemberships } from '../accounts/people.ts';
import { queueEmail } from '../sessions/emails.ts';
import { findPassword, storePassword } from '../sessions/passwords.ts';
import { findSession, startSession, switchAccount } from '../sessions/sessions.ts';
import {
  acceptInvitation,
  cancelInvitation,
  deleteExpiredInvitations,
  findInvitation,
  INVITATION_MS,
  invite,
  listInvitations,
} from './invitations.ts';
import { changeRole, deleteMembers, FORMER_MAX, listMembers, memberNames, removeMember } from './members.ts';

const browser = { address: '192.0.2.1', userAgent: 'Test' };

async function setUp(engine: Engine) {
  const clock = testClock(Date.UTC(2026, 10, 20, 12));
  const database = await engine.open({ clock });
  const create = (email: string, name: string) => database.write(tx => createAccount(tx, { email, name }));
  const [shelter, shop] = [await create('ann@example.org', 'Shelter'), await create('ben@example.org', 'Shop')];
  const invitationFor = (email: string, role: 'owner' | 'staff' = 'staff', accountId = shelter.id) =>
    database.write(tx => invite(tx, { accountId, invitedBy: shelter.id, role, email }, undefined));
  const accept = (secret: string, accepting: Parameters<typeof acceptInvitation>[2]) =>
    database.write(tx => acceptInvitation(tx, secret, accepting, undefined));
  const join = async (email: string, role: 'owner' | 'staff' = 'staff') => {
    const person = await accept((await invitationFor(email, role))!, { name: 'Dana', hash: 'x' });
    return person!;
  };
  return { clock, database, shelter, shop, invitationFor, accept, join };
}

onEachEngine(engine => {
  describe('a new account', () => {
    it('has one owner, the person with its address', async () => {
      const { database, shelter } = await setUp(engine);
      const [owner, ...others] = await listMembers(database, shelter.id);
      assert.deepEqual(others, []);
      const { id, email, name, role } = owner!;
      assert.deepEqual(
        { id, email, name, role },
        { id: shelter.id, email: 'ann@example.org', name: 'Shelter', role: 'owner' },
      );
    });

    it('belongs to a person who exists already, if it has the address of that person', async () => {
      const { database, join } = await setUp(engine);
      const dana = await join('dana@example.org');
      const own = await database.write(tx => createAccount(tx, { email: 'Dana@example.org', name: 'Own' }));
      assert.equal((await listMembers(database, own.id))[0]!.id, dana.id);
      assert.equal((await listMemberships(database, dana.id)).length, 2);
    });

    it('keeps its owner when only its contact changes', async () => {
      const { database, shelter } = await setUp(engine);
      await database.write(tx => updateAccount(tx, shelter.id, { email: 'office@example.org' }));
      assert.equal((await findPersonByEmail(database, 'ann@example.org'))?.id, shelter.id);
      assert.equal(await findPersonByEmail(database, 'office@example.org'), undefined);
    });
  });

  describe('an account that a node of the previous release created', () => {
    it('has its owner from the first moment on', async () => {
      const { clock, database } = await setUp(engine);
      const { id } = (await database.write(tx => tx.first(insertOld, { now: tx.now })))!;
      assert.equal((await findPersonByEmail(database, 'old@example.org'))?.id, id);
      assert.equal((await listMembers(database, id))[0]!.role, 'owner');
      const { secret } = await database.write(tx => startSession(tx, id, browser));
      const signedIn = await findSession(database, secret, clock.now());
      assert.deepEqual([signedIn?.person.id, signedIn?.account.id, signedIn?.role], [id, id, 'owner']);
      assert.equal((await memberNames(database, id)).get(id), 'Old', 'signing in stores the owner');
    });

    it('keeps the sessions that such a node started', async () => {
      const { clock, database, shelter } = await setUp(engine);
      const { id, secret } = await database.write(tx => startSession(tx, shelter.id, browser));
      await database.write(tx => tx.run(forgetAccount, { id }));
      assert.equal((await findSession(database, secret, clock.now()))?.account.id, shelter.id);
    });
  });

  describe('an invitation', () => {
    it('is accepted once, by a new person, who gets an id that is not of an account', async () => {
      const { database, shelter, invitationFor, accept } = await setUp(engine);
      const secret = (await invitationFor('Dana@Example.org'))!;
      const dana = await accept(secret, { name: 'Dana', hash: 'x' });
      assert.equal(dana?.email, 'dana@example.org');
      assert.equal(await findPassword(database, dana!.id), 'x');
      await assert.rejects(getAccount(database, dana!.id), UserError);
      const next = await database.write(tx => createAccount(tx, { email: 'next@example.org', name: 'Next' }));
      assert.ok(next.id > dana!.id);
      assert.equal(await accept(secret, { name: 'Eve', hash: 'y' }), undefined);
      assert.deepEqual(
        (await listMembers(database, shelter.id)).map(({ id, role }) => [id, role]),
        [
          [shelter.id, 'owner'],
          [dana!.id, 'staff'],
        ],
      );
    });

    it('is accepted by the person who has its address, and by no other', async () => {
      const { database, shop, invitationFor, accept } = await setUp(engine);
      const secret = (await invitationFor('ben@example.org'))!;
      assert.equal(await accept(secret, { personId: 999 }), undefined);
      assert.equal(await accept(secret, { name: 'Not Ben', hash: 'y' }), undefined);
      assert.equal((await accept(secret, { personId: shop.id }))?.id, shop.id);
      assert.equal((await listMemberships(database, shop.id)).length, 2);
    });

    it('ends after a week, when it is withdrawn, replaced, or the account is suspended', async () => {
      const { clock, database, shelter, invitationFor, accept } = await setUp(engine);
      const first = (await invitationFor('a@example.org'))!;
      const second = (await invitationFor('a@example.org'))!;
      assert.equal(await findInvitation(database, first, clock.now()), undefined);
      const [invitation] = await listInvitations(database, shelter.id, clock.now());
      assert.ok(await database.write(tx => cancelInvitation(tx, shelter.id, invitation!.id)));
      assert.equal(await findInvitation(database, second, clock.now()), undefined);
      const third = (await invitationFor('a@example.org'))!;
      clock.advance(INVITATION_MS);
      assert.equal(await accept(third, { name: 'A', hash: 'x' }), undefined);
      assert.equal(await database.write(tx => deleteExpiredInvitations(tx, 10)), 1);
      const fourth = (await invitationFor('a@example.org'))!;
      await database.write(async tx => {
        await createAccount(tx, { email: 'admin@example.org', name: 'Admin', admin: true });
        await suspendAccount(tx, shelter.id);
      });
      assert.equal(await accept(fourth, { name: 'A', hash: 'x' }), undefined);
    });

    it('is not for a member, nor beyond 100 people', async () => {
      const { invitationFor } = await setUp(engine);
      await assert.rejects(invitationFor('ann@example.org'), /member already/);
      await assert.rejects(invitationFor('not an address'), /name@example.org/);
      for (let i = 1; i < 100; i++) await invitationFor(`p${i}@example.org`);
      await assert.rejects(invitationFor('p100@example.org'), /at most 100/);
      await invitationFor('p99@example.org');
    });
  });

  describe('a member', () => {
    it('who is removed is signed out of this account at once, and can no longer sign in without another one', async () => {
      const { clock, database, shelter, join } = await setUp(engine);
      const dana = await join('dana@example.org');
      const { secret } = await database.write(tx => startSession(tx, dana.id, browser));
      assert.equal((await findSession(database, secret, clock.now()))?.role, 'staff');
      await database.write(tx => removeMember(tx, shelter.id, dana.id));
      assert.equal(await findSession(database, secret, clock.now()), undefined);
      assert.equal(await findPersonByEmail(database, 'dana@example.org'), undefined);
      assert.equal(await findPassword(database, dana.id), undefined);
      assert.equal((await memberNames(database, shelter.id)).get(dana.id), 'Dana', 'the history keeps the name');
      const again = await join('dana@example.org');
      assert.notEqual(again.id, dana.id);
    });

    it('of two accounts stays signed in to the other one', async () => {
      const { clock, database, shelter, shop, invitationFor, accept } = await setUp(engine);
      await accept((await invitationFor('ben@example.org'))!, { personId: shop.id });
      const { secret } = await database.write(tx => startSession(tx, shop.id, browser, shop.id));
      const { session } = (await findSession(database, secret, clock.now()))!;
      await database.write(tx => switchAccount(tx, session, shelter.id));
      assert.equal((await findSession(database, secret, clock.now()))?.account.id, shelter.id);
      await database.write(tx => switchAccount(tx, session, shop.id));
      await database.write(tx => removeMember(tx, shelter.id, shop.id));
      assert.equal((await findSession(database, secret, clock.now()))?.account.id, shop.id);
      assert.notEqual(await findPersonByEmail(database, 'ben@example.org'), undefined);
    });

    it('has the rights of an admin only as an owner', async () => {
      const { clock, database, shelter, join } = await setUp(engine);
      await database.write(tx => updateAccount(tx, shelter.id, { admin: true }));
      const dana = await join('dana@example.org');
      const { secret } = await database.write(tx => startSession(tx, dana.id, browser));
      assert.equal((await findSession(database, secret, clock.now()))?.account.admin, false);
      await database.write(tx => changeRole(tx, shelter.id, dana.id, 'owner'));
      assert.equal((await findSession(database, secret, clock.now()))?.account.admin, true);
    });

    it('who is the last owner cannot leave, nor take another role, also when two do it at once', async () => {
      const { database, shelter, join } = await setUp(engine);
      const remove = (id: number) => database.write(tx => removeMember(tx, shelter.id, id));
      await assert.rejects(remove(shelter.id), /needs an owner/);
      await assert.rejects(
        database.write(tx => changeRole(tx, shelter.id, shelter.id, 'viewer')),
        /needs an owner/,
      );
      const dana = await join('dana@example.org', 'owner');
      const results = await Promise.allSettled([remove(dana.id), remove(shelter.id)]);
      assert.deepEqual(results.map(({ status }) => status).sort(), ['fulfilled', 'rejected']);
      assert.equal((await listMembers(database, shelter.id)).length, 1);
    });

    it('who is no longer an owner can invite nobody, and the own invitations end', async () => {
      const { database, shelter, clock, join } = await setUp(engine);
      const dana = await join('dana@example.org', 'owner');
      const origin = { accountId: shelter.id, personId: dana.id, requestId: 'r', address: browser.address };
      const invitation = {
        accountId: shelter.id,
        invitedBy: dana.id,
        role: 'owner',
        email: 'second@example.org',
      } as const;
      const secret = (await database.write(tx => invite(tx, invitation, undefined), origin))!;
      await database.write(tx => changeRole(tx, shelter.id, dana.id, 'staff'));
      assert.equal(await findInvitation(database, secret, clock.now()), undefined);
      const refused = { code: 'role_not_allowed' };
      await assert.rejects(
        database.write(tx => invite(tx, invitation, undefined), origin),
        refused,
      );
      await assert.rejects(
        database.write(tx => changeRole(tx, shelter.id, dana.id, 'owner'), origin),
        refused,
      );
      await assert.rejects(
        database.write(tx => removeMember(tx, shelter.id, shelter.id), origin),
        refused,
      );
      await database.write(tx => removeMember(tx, shelter.id, dana.id), origin);
    });

    it('who founded the account takes its address along, which becomes that of another owner', async () => {
      const { database, shelter, join } = await setUp(engine);
      await join('dana@example.org', 'owner');
      await database.write(tx => removeMember(tx, shelter.id, shelter.id));
      assert.equal((await getAccount(database, shelter.id)).email, 'dana@example.org');
    });

    it('who founded the account leaves its queued invitations to others', async () => {
      const { database, shelter, join } = await setUp(engine);
      await join('dana@example.org', 'owner');
      const invited = {
        accountId: shelter.id,
        invitedBy: shelter.id,
        role: 'staff',
        email: 'eve@example.org',
      } as const;
      await database.write(tx => invite(tx, invited, 'https://pets.example.org'));
      const password = { kind: 'password_changed', accountId: shelter.id, email: 'ann@example.org', url: '' } as const;
      await database.write(tx => queueEmail(tx, password));
      await database.write(tx => removeMember(tx, shelter.id, shelter.id));
      const kinds = (await database.all(queuedEmails, {})).map(({ kind }) => kind);
      assert.deepEqual(kinds, ['invitation']);
    });

    it('who has left one account is forgotten with the last other one', async () => {
      const { database, shelter, shop, invitationFor, accept } = await setUp(engine);
      await accept((await invitationFor('ben@example.org'))!, { personId: shop.id });
      await database.write(tx => removeMember(tx, shelter.id, shop.id));
      await database.write(tx => storePassword(tx, shop.id, 'x'));
      await database.write(async tx => {
        await deleteMembers(tx, shop.id);
        await eraseAccount(tx, shop.id);
      });
      assert.equal(await findPersonByEmail(database, 'ben@example.org'), undefined);
      assert.equal(await findPassword(database, shop.id), undefined);
      assert.equal((await memberNames(database, shelter.id)).get(shop.id), 'Shop', 'the history keeps the name');
    });

    it('who leaves one account while joining another can sign in if the joining succeeds', async () => {
      const { database, shelter, shop, invitationFor, accept, join } = await setUp(engine);
      for (let round = 0; round < 10; round++) {
        const email = `racer-${round}@example.org`;
        const racer = await join(email);
        const secret = (await invitationFor(email, 'staff', shop.id))!;
        const [joined] = await Promise.all([
          accept(secret, { personId: racer.id }),
          database.write(tx => removeMember(tx, shelter.id, racer.id)),
        ]);
        const { email: now } = (await findPerson(database, racer.id))!;
        const isMember = (await listMemberships(database, racer.id)).length > 0;
        assert.deepEqual([now === email, isMember], [joined !== undefined, joined !== undefined]);
      }
    });

    it(`of ${MEMBERSHIPS_MAX} accounts can join no other`, async () => {
      const { database, shop, invitationFor, accept } = await setUp(engine);
      for (let accounts = 1; accounts < MEMBERSHIPS_MAX; accounts++) {
        await database.write(async tx => {
          const { id } = await createAccount(tx, { email: `a${accounts}@example.org`, name: 'A' });
          await insertMember(tx, { accountId: id, personId: shop.id, role: 'staff' });
        });
      }
      const secret = (await invitationFor('ben@example.org'))!;
      await assert.rejects(accept(secret, { personId: shop.id }), /Leave one first/);
      assert.equal((await listMemberships(database, shop.id)).length, MEMBERSHIPS_MAX);
    });

    it(`leaves the history after ${FORMER_MAX} others, and then without a trace`, async () => {
      const { database, shelter, join } = await setUp(engine);
      const first = await join('first@example.org');
      await database.write(tx => removeMember(tx, shelter.id, first.id));
      for (let others = 0; others < FORMER_MAX; others++) {
        const other = await join('other@example.org');
        await database.write(tx => removeMember(tx, shelter.id, other.id));
      }
      const names = await memberNames(database, shelter.id);
      assert.deepEqual([names.size, names.has(first.id)], [FORMER_MAX + 1, false]);
      assert.equal(await findPerson(database, first.id), undefined);
    });

    it('is deleted with the account, unless another account has them', async () => {
      const { database, shelter, shop, invitationFor, accept, join } = await setUp(engine);
      const dana = await join('dana@example.org');
      await accept((await invitationFor('ben@example.org'))!, { personId: shop.id });
      await invitationFor('pending@example.org');
      await database.write(tx => deleteMembers(tx, shelter.id));
      assert.equal((await memberNames(database, shelter.id)).size, 0);
      assert.equal(await findPerson(database, dana.id), undefined);
      assert.notEqual(await findPerson(database, shop.id), undefined);
      assert.deepEqual(await listInvitations(database, shelter.id, 0), []);
    });
  });

  describe('the address of a person', () => {
    it('changes with that of the own account, and only if nobody has it', async () => {
      const { database, shelter, shop } = await setUp(engine);
      const change = async (email: string) =>
        database.write(async tx => changeAddress(tx, (await findPerson(tx, shelter.id))!, email));
      await assert.rejects(change('ben@example.org'), UserError);
      await change('anna@example.org');
      assert.equal((await getAccount(database, shelter.id)).email, 'anna@example.org');
      await database.write(tx => updateAccount(tx, shelter.id, { email: 'office@example.org' }));
      await change('ann@example.org');
      assert.equal((await getAccount(database, shelter.id)).email, 'office@example.org');
      await database.write(async tx => confirmAddress(tx, (await findPerson(tx, shelter.id))!));
      assert.equal((await getAccount(database, shelter.id)).emailConfirmedAt, undefined);
      assert.notEqual(await findPerson(database, shop.id), undefined);
    });
  });
});

describe('the roles', () => {
  it('give every permission to owners, and to nobody else the account, its people and the operator’s pages', () => {
    for (const permission of Object.keys(permissions) as (keyof typeof permissions)[]) {
      assert.ok(allows('owner', permission), permission);
    }
    for (const role of roleNames.filter(name => name !== 'owner')) {
      for (const permission of ['account', 'people', 'operate'] as const) assert.ok(!allows(role, permission), role);
      const own = scopesFor(role, { admin: false });
      assert.ok(!includesScopes(own, ['*']) && !includesScopes(own, ['pets:write']), role);
      assert.deepEqual(scopesFor(role, { admin: true }), [], 'keys of an admin act as an admin');
    }
    assert.ok(includesScopes(scopesFor('developer', { admin: false }), ['pets:read', 'webhooks:write']));
    assert.ok(includesScopes(scopesFor('owner', { admin: true }), ['*']));
  });
});

const insertOld = query((db, p: Params<{ now: number }>) =>
  db
    .insertInto('accounts')
    .values({ email: 'old@example.org', name: 'Old', plan: 'free', admin: 0, created_at: p.now } as never)
    .returning('id'),
);

const forgetAccount = query((db, p: Params<{ id: number }>) =>
  db.updateTable('sessions').set({ current_account_id: null }).where('id', '=', p.id),
);

const queuedEmails = query(db => db.selectFrom('account_emails').select('kind').orderBy('id'));
