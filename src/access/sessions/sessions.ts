import { scopesFor } from '../../model/roles.ts';
import {
  type Database,
  insertingOne,
  type Params,
  query,
  type Reader,
  retentionRule,
  sql,
  type Transaction,
} from '../../model/schema.ts';
import { backfillOwner, findPerson, listMemberships } from '../accounts/people.ts';
import { hasSecondFactor } from './has-second-factor.ts';
import {
  hashSecret,
  IDLE_MS,
  newSecret,
  SEEN_BEHIND_MS,
  SESSION_MS,
  SESSIONS_MAX,
  type Session,
  type SignedIn,
  USER_AGENT_LENGTH_MAX,
} from './session.ts';

/**
 * Signs a person in. Beyond `SESSIONS_MAX` sessions of the person, the oldest end.
 * @param accountId the account whose pages the session shows; by default the one that the person joined first
 * @returns the secret of its cookie, which is not stored
 */
export async function startSession(
  tx: Transaction,
  personId: number,
  browser: Pick<Session, 'address' | 'userAgent'>,
  accountId?: number,
): Promise<{ readonly id: number; readonly secret: string }> {
  await backfillOwner(tx, personId);
  const secret = newSecret();
  const id = await tx.insert(insertSession, {
    personId,
    accountId: accountId ?? (await listMemberships(tx, personId))[0]?.account.id ?? personId,
    hash: hashSecret(secret),
    now: tx.now,
    expiresAt: tx.now + SESSION_MS,
    address: browser.address,
    userAgent: browser.userAgent.slice(0, USER_AGENT_LENGTH_MAX),
  });
  const sessions = await tx.all(sessionsOfPerson, { personId });
  for (const { id: oldest } of sessions.slice(SESSIONS_MAX)) await tx.run(deleteSession, { id: oldest, personId });
  return { id, secret };
}

/**
 * Returns the session of a cookie's secret, with its person and its account; `undefined` if it has ended, or the person
 * is no member of the account any more, or the account is deleted. The account may be suspended.
 */
export async function findSession(reader: Reader, secret: string, now: number): Promise<SignedIn | undefined> {
  const session = await reader.first(sessionByHash, { hash: hashSecret(secret) });
  if (session === undefined || hasEnded(session, now)) return undefined;
  const person = await findPerson(reader, session.personId);
  if (person === undefined) return undefined;
  const memberships = await listMemberships(reader, person.id);
  const current = memberships.find(({ account }) => account.id === session.accountId);
  if (current === undefined) return undefined;
  const { role } = current;
  const account = role === 'owner' ? current.account : { ...current.account, admin: false };
  const scopes = scopesFor(role, current.account);
  const lacksFactor = account.secondFactorRequired === true && !(await hasSecondFactor(reader, person.id));
  return { session, person, account, role, scopes, memberships, lacksFactor };
}

/** Returns the sessions of a person that have not ended, newest first. */
export async function listSessions(reader: Reader, personId: number, now: number): Promise<Session[]> {
  return (await reader.all(sessionsOfPerson, { personId })).filter(session => !hasEnded(session, now));
}

/** Returns the sessions that show the pages of an account and have not ended, newest first. */
export async function listAccountSessions(reader: Reader, accountId: number, now: number): Promise<Session[]> {
  return (await reader.all(sessionsOfAccount, { accountId })).filter(session => !hasEnded(session, now));
}

/** Shows the pages of another account of the person in a session. */
export async function switchAccount(tx: Transaction, { id }: Session, accountId: number): Promise<void> {
  await tx.run(setAccount, { id, accountId });
}

/** Records that a session has made a request, at most once per `SEEN_BEHIND_MS`. */
export async function recordSeen(database: Database, { id, lastSeenAt }: Session, now: number): Promise<void> {
  if (now - lastSeenAt >= SEEN_BEHIND_MS) await database.write(tx => tx.run(setSeen, { id, now: tx.now }));
}

/** Records that the person of a session has just proved the identity again. */
export async function recordConfirmed(tx: Transaction, { id }: Session): Promise<void> {
  await tx.run(setConfirmed, { id, now: tx.now });
}

/** Ends a session of a person. Reports whether it existed. */
export async function endSession(tx: Transaction, personId: number, id: number): Promise<boolean> {
  return (await tx.run(deleteSession, { id, personId })) > 0;
}

/** Ends all sessions of a person except `except`, and the sign-ins that wait for a second factor. */
export async function endSessions(tx: Transaction, personId: number, except = 0): Promise<void> {
  await tx.run(deleteSessions, { personId, except });
  await tx.run(deleteSignIns, { personId });
}

/** Ends the sessions of a person that show the pages of one account. */
export async function endSessionsIn(tx: Transaction, personId: number, accountId: number): Promise<void> {
  await tx.run(deleteSessionsIn, { personId, accountId });
}

/** Deletes sessions that began too long ago, including those that ended earlier; a retention rule. */
export const deleteExpiredSessions = retentionRule('sessions', ['id'], 'expires_at');

function hasEnded({ expiresAt, lastSeenAt }: Session, now: number): boolean {
  return now >= expiresAt || now >= lastSeenAt + IDLE_MS;
}

/** The account whose pages a session shows. */
const currentAccount = sql<number>`coalesce(current_account_id, account_id)`;

const columns = [
  'id',
  'account_id as personId',
  currentAccount.as('accountId'),
  'created_at as createdAt',
  'last_seen_at as lastSeenAt',
  'expires_at as expiresAt',
  'address',
  'user_agent as userAgent',
  sql<number>`coalesce(confirmed_at, created_at)`.as('confirmedAt'),
] as const;

type NewSession = {
  personId: number;
  accountId: number;
  hash: string;
  now: number;
  expiresAt: number;
  address: string;
  userAgent: string;
};

const insertSession = query((db, p: Params<NewSession>, engine) =>
  insertingOne(
    db.insertInto('sessions').values({
      account_id: p.personId,
      current_account_id: p.accountId,
      hash: p.hash,
      created_at: p.now,
      last_seen_at: p.now,
      expires_at: p.expiresAt,
      address: p.address,
      user_agent: p.userAgent,
    }),
    engine,
  ),
);

const sessionByHash = query((db, p: Params<{ hash: string }>) =>
  db.selectFrom('sessions').select(columns).where('hash', '=', p.hash),
);

const sessionsOfPerson = query((db, p: Params<{ personId: number }>) =>
  db.selectFrom('sessions').select(columns).where('account_id', '=', p.personId).orderBy('id', 'desc'),
);

/** Sessions of members, who are at most `MEMBERS_MAX`, each with at most `SESSIONS_MAX`. */
const sessionsOfAccount = query((db, p: Params<{ accountId: number }>) =>
  db
    .selectFrom('sessions')
    .select(columns)
    .where('account_id', 'in', eb =>
      eb.selectFrom('members').select('person_id').where('members.account_id', '=', p.accountId),
    )
    .where(currentAccount, '=', p.accountId)
    .orderBy('id', 'desc'),
);

const setAccount = query((db, p: Params<{ id: number; accountId: number }>) =>
  db.updateTable('sessions').set({ current_account_id: p.accountId }).where('id', '=', p.id),
);

const setSeen = query((db, p: Params<{ id: number; now: number }>) =>
  db.updateTable('sessions').set({ last_seen_at: p.now }).where('id', '=', p.id),
);

const setConfirmed = query((db, p: Params<{ id: number; now: number }>) =>
  db.updateTable('sessions').set({ confirmed_at: p.now }).where('id', '=', p.id),
);

const deleteSession = query((db, p: Params<{ id: number; personId: number }>) =>
  db.deleteFrom('sessions').where('id', '=', p.id).where('account_id', '=', p.personId),
);

const deleteSessions = query((db, p: Params<{ personId: number; except: number }>) =>
  db.deleteFrom('sessions').where('account_id', '=', p.personId).where('id', '!=', p.except),
);

const deleteSignIns = query((db, p: Params<{ personId: number }>) =>
  db.deleteFrom('sign_ins').where('person_id', '=', p.personId),
);

const deleteSessionsIn = query((db, p: Params<{ personId: number; accountId: number }>) =>
  db.deleteFrom('sessions').where('account_id', '=', p.personId).where(currentAccount, '=', p.accountId),
);
