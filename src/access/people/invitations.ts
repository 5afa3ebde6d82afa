import { DAY_MS } from '../../lib/time.ts';
import { UserError } from '../../lib/user-error.ts';
import { checkChange } from '../../model/account.ts';
import { MEMBERS_MAX, MEMBERSHIPS_MAX, type Person } from '../../model/person.ts';
import type { Role } from '../../model/roles.ts';
import { insertingOne, type Params, query, type Reader, retentionRule, type Transaction } from '../../model/schema.ts';
import {
  findPerson,
  findPersonByEmail,
  insertPerson,
  listMemberships,
  lockPerson,
  newPersonId,
} from '../accounts/people.ts';
import { queueEmail } from '../sessions/emails.ts';
import { storePassword } from '../sessions/passwords.ts';
import { hashSecret, newSecret } from '../sessions/session.ts';
import { addMember, lockMembers, requireActing } from './members.ts';

/** An invitation to become a member of an account. */
export interface Invitation {
  readonly id: number;
  readonly accountId: number;
  /** The address that it names; only the person who has it can accept. */
  readonly email: string;
  readonly role: Role;
  /** Whether its link was sent to the address, so that whoever opens it reads the mail of the address. */
  readonly mailed: boolean;
  /** All times are milliseconds since the Unix epoch. */
  readonly createdAt: number;
  readonly expiresAt: number;
}

export const INVITATION_MS = 7 * DAY_MS;

/** Returns the path of the page that an invitation opens. */
export function invitationPath(secret: string): string {
  return `/invitations/${secret}`;
}

/**
 * Invites a person to an account by e-mail, or by the link with the returned secret. Replaces an earlier invitation of
 * the same address.
 * @param emailUrl the public URL of the pages; absent if the process sends no e-mail
 * @returns the secret of the link; `undefined` if it is sent by e-mail
 * @throws {UserError} when the address is invalid or belongs to a member, or the account is full
 */
export async function invite(
  tx: Transaction,
  { accountId, invitedBy, role, ...to }: { accountId: number; invitedBy: number; role: Role; email: string },
  emailUrl: string | undefined,
): Promise<string | undefined> {
  const email = to.email.toLowerCase();
  checkChange({ email });
  const { members } = await lockMembers(tx, accountId);
  requireActing(tx, members);
  if (members.some(member => member.email === email)) throw new UserError('This person is a member already.');
  const others = (await listInvitations(tx, accountId, tx.now)).filter(invitation => invitation.email !== email);
  if (members.length + others.length >= MEMBERS_MAX) {
    throw new UserError(`An account has at most ${MEMBERS_MAX} members and invitations. Remove one first.`);
  }
  const secret = emailUrl === undefined ? newSecret() : undefined;
  await tx.run(deleteByAddress, { accountId, email });
  await tx.insert(insertInvitation, {
    ...{ accountId, email, role, invitedBy, now: tx.now, expiresAt: tx.now + INVITATION_MS },
    ...{ hash: secret === undefined ? null : hashSecret(secret), mailed: Number(secret === undefined) },
  });
  await queueEmail(tx, { kind: 'invitation', accountId, email, url: emailUrl });
  return secret;
}

/** Returns the invitations of an account that have not expired, newest first. */
export async function listInvitations(reader: Reader, accountId: number, now: number): Promise<Invitation[]> {
  return (await reader.all(invitationsOf, { accountId })).map(invitationOf).filter(({ expiresAt }) => expiresAt > now);
}

/** Deletes an invitation of an account. Reports whether it existed. */
export async function cancelInvitation(tx: Transaction, accountId: number, id: number): Promise<boolean> {
  return (await tx.run(deleteInvitation, { accountId, id })) > 0;
}

/** Gives the invitation of an address a new link, for its e-mail. Returns its secret; `undefined` if it has ended. */
export async function newInvitationLink(
  tx: Transaction,
  accountId: number,
  email: string,
): Promise<string | undefined> {
  const secret = newSecret();
  const count = await tx.run(setHash, { accountId, email, hash: hashSecret(secret), now: tx.now });
  return count === 0 ? undefined : secret;
}

/** Returns the invitation of a link, without using it; `undefined` if it was used, cancelled, or has expired. */
export async function findInvitation(reader: Reader, secret: string, now: number): Promise<Invitation | undefined> {
  const row = await reader.first(invitationByHash, { hash: hashSecret(secret) });
  return row !== undefined && row.expiresAt > now ? invitationOf(row) : undefined;
}

/** Someone who accepts an invitation: a signed-in person, or a new person with a name and the hash of a password. */
export type Accepting = { readonly personId: number } | { readonly name: string; readonly hash: string };

/**
 * Accepts an invitation, once. The caller has checked that the person has its address.
 * @returns the new member; `undefined` if the invitation has ended, or the person with its address is another one
 * @throws {UserError} when the person is a member of too many accounts
 */
export async function acceptInvitation(
  tx: Transaction,
  secret: string,
  accepting: Accepting,
  emailUrl: string | undefined,
): Promise<Person | undefined> {
  const invitation = await findInvitation(tx, secret, tx.now);
  if (invitation === undefined) return undefined;
  const { accountId, email, role, mailed } = invitation;
  const { account } = await lockMembers(tx, accountId);
  if (account.suspendedAt !== undefined) return undefined;
  const found = await findPersonByEmail(tx, email);
  const known = found && (await lockPerson(tx, found.id));
  // The person has left the last account meanwhile.
  if (known !== undefined && known.email !== email) return undefined;
  if ('personId' in accepting ? known?.id !== accepting.personId : known !== undefined) return undefined;
  if ((await tx.run(deleteInvitation, { accountId, id: invitation.id })) === 0) return undefined;
  const person = 'personId' in accepting ? known! : await createPerson(tx, accepting, email, mailed);
  if ((await listMemberships(tx, person.id)).length >= MEMBERSHIPS_MAX) {
    throw new UserError(`You are a member of ${MEMBERSHIPS_MAX} accounts already. Leave one first.`);
  }
  await addMember(tx, account, person, role, emailUrl);
  return person;
}

async function createPerson(
  tx: Transaction,
  { name, hash }: Extract<Accepting, { name: string }>,
  email: string,
  isConfirmed: boolean,
): Promise<Person> {
  const id = await newPersonId(tx);
  const confirmed = isConfirmed && { emailConfirmedAt: tx.now };
  await insertPerson(tx, { id, email, name, createdAt: tx.now, ...confirmed });
  await storePassword(tx, id, hash);
  const person = await findPerson(tx, id);
  if (person === undefined) throw new UserError('Someone else has just used this address. Sign in, and try again.');
  return person;
}

/** Deletes expired invitations; a retention rule. */
export const deleteExpiredInvitations = retentionRule('invitations', ['id'], 'expires_at');

type InvitationRow = Omit<Invitation, 'mailed'> & { readonly mailed: number };

function invitationOf({ mailed, ...invitation }: InvitationRow): Invitation {
  return { ...invitation, mailed: mailed === 1 };
}

const columns = [
  'id',
  'account_id as accountId',
  'email',
  'role',
  'mailed',
  'created_at as createdAt',
  'expires_at as expiresAt',
] as const;

const invitationsOf = query((db, p: Params<{ accountId: number }>) =>
  db.selectFrom('invitations').select(columns).where('account_id', '=', p.accountId).orderBy('id', 'desc'),
);

const invitationByHash = query((db, p: Params<{ hash: string }>) =>
  db.selectFrom('invitations').select(columns).where('hash', '=', p.hash),
);

type NewInvitation = {
  accountId: number;
  email: string;
  role: Role;
  hash: string | null;
  mailed: number;
  invitedBy: number;
  now: number;
  expiresAt: number;
};

const insertInvitation = query((db, p: Params<NewInvitation>, engine) =>
  insertingOne(
    db.insertInto('invitations').values({
      account_id: p.accountId,
      email: p.email,
      role: p.role,
      hash: p.hash,
      mailed: p.mailed,
      invited_by: p.invitedBy,
      created_at: p.now,
      expires_at: p.expiresAt,
    }),
    engine,
  ),
);

const setHash = query((db, p: Params<{ accountId: number; email: string; hash: string; now: number }>) =>
  db
    .updateTable('invitations')
    .set({ hash: p.hash })
    .where('account_id', '=', p.accountId)
    .where('email', '=', p.email)
    .where('expires_at', '>', p.now),
);

const deleteInvitation = query((db, p: Params<{ accountId: number; id: number }>) =>
  db.deleteFrom('invitations').where('account_id', '=', p.accountId).where('id', '=', p.id),
);

const deleteByAddress = query((db, p: Params<{ accountId: number; email: string }>) =>
  db.deleteFrom('invitations').where('account_id', '=', p.accountId).where('email', '=', p.email),
);
