import { Problem } from '../../lib/http/problem.ts';
import { personIdOf } from '../../lib/origin.ts';
import { UserError } from '../../lib/user-error.ts';
import type { Account } from '../../model/account.ts';
import type { NoticeChoice } from '../../model/notices.ts';
import type { Member, Person } from '../../model/person.ts';
import type { Role } from '../../model/roles.ts';
import { type Params, query, type Reader, type Transaction } from '../../model/schema.ts';
import {
  confirmEmail,
  findAccountByEmail,
  getAccount,
  lockAccount,
  recordMember,
  updateAccount,
} from '../accounts/accounts.ts';
import {
  backfillOwner,
  findPerson,
  insertMember,
  listMemberships,
  lockPerson,
  type PersonRow,
  personColumns,
  personOf,
} from '../accounts/people.ts';
import { eraseCredentials } from '../sessions/credentials.ts';
import { queueEmail } from '../sessions/emails.ts';
import { endSessionsIn } from '../sessions/sessions.ts';
import { deleteNotices, type MemberKey } from './notices.ts';

/** The maximum number of former members whose names an account keeps; the earliest are deleted first. */
export const FORMER_MAX = 200;

/** Returns the members of an account, in the order of joining. */
export async function listMembers(reader: Reader, accountId: number): Promise<Member[]> {
  const rows = await reader.all(membersOf, { accountId });
  if (rows.length > 0) return rows.map(memberOf);
  // An account that a node of the previous release created.
  const founder = await findPerson(reader, accountId);
  return founder === undefined ? [] : [{ ...founder, role: 'owner', joinedAt: founder.createdAt }];
}

/** Returns the names of all people who are or were members of an account, by id. */
export async function memberNames(reader: Reader, accountId: number): Promise<ReadonlyMap<number, string>> {
  return new Map((await reader.all(namesOf, { accountId })).map(({ id, name }) => [id, name]));
}

/** Adds a member and records the event. A process that sends e-mail tells the owners. */
export async function addMember(tx: Transaction, account: Account, person: Person, role: Role, emailUrl?: string) {
  const owners = await ownersOf(tx, account.id);
  await insertMember(tx, { accountId: account.id, personId: person.id, role });
  await recordMember(tx, 'member_joined', account, { personId: person.id, role });
  await mailOwners(tx, 'member_joined', account, owners, emailUrl);
}

/**
 * Changes the role of a member, and records it. A change without a difference has no effect.
 * @throws {UserError} when the person is no member, or is the last owner
 */
export async function changeRole(
  tx: Transaction,
  accountId: number,
  personId: number,
  role: Role,
  emailUrl?: string,
): Promise<void> {
  const { account, member, members } = await lockMember(tx, accountId, personId);
  requireActing(tx, members);
  if (member.role === role) return;
  if (role !== 'owner') requireOtherOwner(members, member);
  await tx.run(setRole, { accountId, personId, role });
  if (isOwner(member)) await endOwnership(tx, account, member);
  await recordMember(tx, 'role_changed', account, { personId, role });
  await mailOwners(tx, 'role_changed', account, members.filter(isOwner), emailUrl);
}

/**
 * Removes a member: the sessions in the account and the invitations that the member made end at once. A person who is
 * then a member of no account can no longer sign in. Keys belong to the account, and stay.
 * @throws {UserError} when the person is no member, or is the last owner
 */
export async function removeMember(
  tx: Transaction,
  accountId: number,
  personId: number,
  emailUrl?: string,
): Promise<Member> {
  const { account, member, members } = await lockMember(tx, accountId, personId);
  if (personIdOf(tx.origin) !== personId) requireActing(tx, members);
  requireOtherOwner(members, member);
  await lockPerson(tx, personId);
  await tx.run(setLeft, { accountId, personId, now: tx.now });
  await endOwnership(tx, account, member);
  await endSessionsIn(tx, personId, accountId);
  await deleteNotices(tx, { accountId, personId });
  if ((await listMemberships(tx, personId)).length === 0) await eraseCredentials(tx, member);
  for (const former of (await tx.all(formerMembers, { accountId })).slice(FORMER_MAX)) {
    await tx.run(deleteMember, { accountId, personId: former.id });
    await deleteUnlessMember(tx, former.id);
  }
  await recordMember(tx, 'member_left', account, { personId, role: member.role });
  await mailOwners(tx, 'member_left', account, members.filter(isOwner), emailUrl);
  return member;
}

/** Returns the owner of an account who joined first. @throws {UserError} when the account does not exist */
export async function firstOwner(reader: Reader, accountId: number): Promise<Member> {
  await getAccount(reader, accountId);
  return (await ownersOf(reader, accountId))[0]!;
}

/**
 * Ends what only an owner may leave behind: the invitations, and the address of the account if it is the own one, which
 * becomes that of the owner who joined first.
 */
async function endOwnership(tx: Transaction, { id: accountId, email }: Account, member: Member): Promise<void> {
  await tx.run(deleteInvitationsBy, { accountId, personId: member.id });
  if (email !== member.email) return;
  for (const owner of await ownersOf(tx, accountId)) {
    if ((await findAccountByEmail(tx, owner.email)) !== undefined) continue;
    await updateAccount(tx, accountId, { email: owner.email });
    if (owner.emailConfirmedAt !== undefined) await confirmEmail(tx, await getAccount(tx, accountId));
    return;
  }
}

/**
 * Requires that the person who acts is still an owner: a request may have waited while someone removed its sender.
 * @throws {Problem} `role_not_allowed`
 */
export function requireActing(tx: Transaction, members: readonly Member[]): void {
  const personId = personIdOf(tx.origin);
  if (personId === null || members.some(member => member.id === personId && isOwner(member))) return;
  throw new Problem('role_not_allowed', 403, 'Only an owner of the account can do this.');
}

/** Locks an account until the transaction ends, and returns its members. */
export async function lockMembers(tx: Transaction, accountId: number) {
  const account = await lockAccount(tx, accountId);
  await backfillOwner(tx, accountId);
  return { account, members: await listMembers(tx, accountId) };
}

async function lockMember(tx: Transaction, accountId: number, personId: number) {
  const { account, members } = await lockMembers(tx, accountId);
  const member = members.find(({ id }) => id === personId);
  if (member === undefined) throw new UserError(`The account ${accountId} has no member ${personId}.`);
  return { account, member, members };
}

/** @throws {UserError} when the member is the last owner */
function requireOtherOwner(members: readonly Member[], member: Member): void {
  if (isOwner(member) && members.filter(isOwner).length === 1) {
    throw new UserError('An account needs an owner: make another member an owner first.');
  }
}

function isOwner({ role }: Member): boolean {
  return role === 'owner';
}

async function ownersOf(reader: Reader, accountId: number): Promise<Member[]> {
  return (await listMembers(reader, accountId)).filter(isOwner);
}

async function mailOwners(
  tx: Transaction,
  kind: 'member_joined' | 'member_left' | 'role_changed',
  { id: accountId }: Account,
  owners: readonly Member[],
  url: string | undefined,
): Promise<void> {
  for (const { email } of owners) await queueEmail(tx, { kind, accountId, email, url });
}

/** Deletes the members and invitations of an account, and the people who are and were members of no other. */
export async function deleteMembers(tx: Transaction, accountId: number): Promise<void> {
  await backfillOwner(tx, accountId);
  for (const person of await tx.all(namesOf, { accountId })) {
    await endSessionsIn(tx, person.id, accountId);
    await deleteNotices(tx, { accountId, personId: person.id });
    await tx.run(deleteMember, { accountId, personId: person.id });
    const others = (await listMemberships(tx, person.id)).filter(({ account }) => account.id !== accountId);
    if (others.length === 0) await eraseCredentials(tx, person);
    await deleteUnlessMember(tx, person.id);
  }
  await tx.run(deleteInvitationsOf, { accountId });
}

/** Deletes the row of a person who is and was a member of no account. */
async function deleteUnlessMember(tx: Transaction, id: number): Promise<void> {
  if ((await tx.first(anyMembership, { personId: id })) === undefined) await tx.run(deletePerson, { id });
}

type MemberRow = PersonRow & Pick<Member, 'role' | 'joinedAt'> & { readonly notices: NoticeChoice | null };

function memberOf({ role, joinedAt, notices, ...person }: MemberRow): Member {
  return { ...personOf(person), role, joinedAt, ...(notices !== null && { notices }) };
}

const membersOf = query((db, p: Params<{ accountId: number }>) =>
  db
    .selectFrom('members')
    .innerJoin('people', 'people.id', 'members.person_id')
    .select([...personColumns, 'role', 'joined_at as joinedAt', 'notices'])
    .where('account_id', '=', p.accountId)
    .where('left_at', 'is', null)
    .orderBy('joined_at')
    .orderBy('id'),
);

const namesOf = query((db, p: Params<{ accountId: number }>) =>
  db
    .selectFrom('members')
    .innerJoin('people', 'people.id', 'members.person_id')
    .select(['id', 'name'])
    .where('account_id', '=', p.accountId),
);

const formerMembers = query((db, p: Params<{ accountId: number }>) =>
  db
    .selectFrom('members')
    .select('person_id as id')
    .where('account_id', '=', p.accountId)
    .where('left_at', 'is not', null)
    .orderBy('left_at', 'desc')
    .orderBy('person_id', 'desc'),
);

const anyMembership = query((db, p: Params<{ personId: number }>) =>
  db.selectFrom('members').select('account_id').where('person_id', '=', p.personId).limit(1),
);

const setRole = query((db, p: Params<MemberKey & { role: Role }>) =>
  db
    .updateTable('members')
    .set({ role: p.role })
    .where('account_id', '=', p.accountId)
    .where('person_id', '=', p.personId),
);

const setLeft = query((db, p: Params<MemberKey & { now: number }>) =>
  db
    .updateTable('members')
    .set({ left_at: p.now, notices: null })
    .where('account_id', '=', p.accountId)
    .where('person_id', '=', p.personId),
);

const deleteMember = query((db, p: Params<MemberKey>) =>
  db.deleteFrom('members').where('account_id', '=', p.accountId).where('person_id', '=', p.personId),
);

const deletePerson = query((db, p: Params<{ id: number }>) => db.deleteFrom('people').where('id', '=', p.id));

const deleteInvitationsBy = query((db, p: Params<MemberKey>) =>
  db.deleteFrom('invitations').where('account_id', '=', p.accountId).where('invited_by', '=', p.personId),
);

const deleteInvitationsOf = query((db, p: Params<{ accountId: number }>) =>
  db.deleteFrom('invitations').where('account_id', '=', p.accountId),
);
