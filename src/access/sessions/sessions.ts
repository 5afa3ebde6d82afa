import {
  type Database,
  deletingOldest,
  insertingOne,
  type Params,
  query,
  type Reader,
  type Transaction,
} from '../../model/schema.ts';
import { accountById, accountOf } from '../accounts/rows.ts';
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
 * Signs a browser in to an account. Beyond `SESSIONS_MAX` sessions of the account, the oldest end.
 * @returns the secret of its cookie, which is not stored
 */
export async function startSession(
  tx: Transaction,
  accountId: number,
  browser: Pick<Session, 'address' | 'userAgent'>,
): Promise<{ readonly id: number; readonly secret: string }> {
  const secret = newSecret();
  const id = await tx.insert(insertSession, {
    accountId,
    hash: hashSecret(secret),
    now: tx.now,
    expiresAt: tx.now + SESSION_MS,
    address: browser.address,
    userAgent: browser.userAgent.slice(0, USER_AGENT_LENGTH_MAX),
  });
  const sessions = await tx.all(sessionsOfAccount, { accountId });
  for (const { id: oldest } of sessions.slice(SESSIONS_MAX)) await tx.run(deleteSession, { id: oldest, accountId });
  return { id, secret };
}

/**
 * Returns the session of a cookie's secret, with its account; `undefined` if it has ended, or the account is deleted.
 * The account may be suspended.
 */
export async function findSession(reader: Reader, secret: string, now: number): Promise<SignedIn | undefined> {
  const session = await reader.first(sessionByHash, { hash: hashSecret(secret) });
  if (session === undefined || hasEnded(session, now)) return undefined;
  const row = await reader.first(accountById, { id: session.accountId });
  return row === undefined || row.deletedAt !== null ? undefined : { session, account: accountOf(row) };
}

/** Returns the sessions of an account that have not ended, newest first. */
export async function listSessions(reader: Reader, accountId: number, now: number): Promise<Session[]> {
  return (await reader.all(sessionsOfAccount, { accountId })).filter(session => !hasEnded(session, now));
}

/** Records that a session has made a request, at most once per `SEEN_BEHIND_MS`. */
export async function recordSeen(database: Database, { id, lastSeenAt }: Session, now: number): Promise<void> {
  if (now - lastSeenAt >= SEEN_BEHIND_MS) await database.write(tx => tx.run(setSeen, { id, now: tx.now }));
}

/** Ends a session of an account. Reports whether it existed. */
export async function endSession(tx: Transaction, accountId: number, id: number): Promise<boolean> {
  return (await tx.run(deleteSession, { id, accountId })) > 0;
}

/** Ends all sessions of an account except `except`. */
export async function endSessions(tx: Transaction, accountId: number, except = 0): Promise<void> {
  await tx.run(deleteSessions, { accountId, except });
}

/** Deletes sessions that began too long ago, including those that ended earlier; a retention rule. */
export function deleteExpiredSessions(tx: Transaction, limit: number): Promise<number> | number {
  return tx.run(deleteExpired, { before: tx.now + 1, limit });
}

function hasEnded({ expiresAt, lastSeenAt }: Session, now: number): boolean {
  return now >= expiresAt || now >= lastSeenAt + IDLE_MS;
}

const columns = [
  'id',
  'account_id as accountId',
  'created_at as createdAt',
  'last_seen_at as lastSeenAt',
  'expires_at as expiresAt',
  'address',
  'user_agent as userAgent',
] as const;

type NewSession = {
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
      account_id: p.accountId,
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

const sessionsOfAccount = query((db, p: Params<{ accountId: number }>) =>
  db.selectFrom('sessions').select(columns).where('account_id', '=', p.accountId).orderBy('id', 'desc'),
);

const setSeen = query((db, p: Params<{ id: number; now: number }>) =>
  db.updateTable('sessions').set({ last_seen_at: p.now }).where('id', '=', p.id),
);

const deleteSession = query((db, p: Params<{ id: number; accountId: number }>) =>
  db.deleteFrom('sessions').where('id', '=', p.id).where('account_id', '=', p.accountId),
);

const deleteSessions = query((db, p: Params<{ accountId: number; except: number }>) =>
  db.deleteFrom('sessions').where('account_id', '=', p.accountId).where('id', '!=', p.except),
);

const deleteExpired = deletingOldest('sessions', ['id'], 'expires_at');
