import { type Params, query, type Reader, retentionRule, type Transaction } from '../../model/schema.ts';
import { hasSecondFactor } from './has-second-factor.ts';
import { hashSecret, newSecret, type Session } from './session.ts';
import { startSession } from './sessions.ts';

/** The time that a person has to give a second factor. */
export const SIGN_IN_MS = 10 * 60_000;
/** The maximum number of sign-ins of a person that wait for a second factor; a new one replaces the oldest. */
export const SIGN_INS_MAX = 10;

/** A sign-in that waits for a second factor. It is no session. */
export interface WaitingSignIn {
  readonly id: number;
  readonly personId: number;
  /** The account whose pages the session will show; `null` for the first one of the person. */
  readonly accountId: number | null;
}

/** A new session, or a sign-in that waits for a second factor, with the secret of its cookie, which is not stored. */
export interface Started {
  readonly waits: boolean;
  readonly secret: string;
}

/**
 * Signs a person in who has given the password or opened a link. If the person has a second factor, the sign-in waits
 * for it.
 * @param accountId the account whose pages the session shows; by default the first one of the person
 */
export async function startSignIn(
  tx: Transaction,
  personId: number,
  browser: Pick<Session, 'address' | 'userAgent'>,
  accountId?: number,
): Promise<Started> {
  if (!(await hasSecondFactor(tx, personId))) {
    return { waits: false, secret: (await startSession(tx, personId, browser, accountId)).secret };
  }
  const secret = newSecret();
  const expiresAt = tx.now + SIGN_IN_MS;
  await tx.run(insertSignIn, { personId, accountId: accountId ?? null, hash: hashSecret(secret), expiresAt });
  const waiting = await tx.all(signInsOf, { personId });
  for (const { id } of waiting.slice(SIGN_INS_MAX)) await tx.run(deleteSignIn, { id });
  return { waits: true, secret };
}

/** Returns the sign-in of a cookie's secret; `undefined` if it has expired, is completed or never existed. */
export async function findSignIn(reader: Reader, secret: string, now: number): Promise<WaitingSignIn | undefined> {
  const found = await reader.first(signInByHash, { hash: hashSecret(secret) });
  if (found === undefined || found.expiresAt <= now) return undefined;
  const { expiresAt: _, ...signIn } = found;
  return signIn;
}

/**
 * Starts the session of a sign-in whose person has given the second factor, once.
 * @returns the secret of its cookie; `undefined` if the sign-in has ended
 */
export async function completeSignIn(
  tx: Transaction,
  { id, personId, accountId }: WaitingSignIn,
  browser: Pick<Session, 'address' | 'userAgent'>,
): Promise<string | undefined> {
  if ((await tx.run(deleteSignIn, { id })) === 0) return undefined;
  return (await startSession(tx, personId, browser, accountId ?? undefined)).secret;
}

/** Deletes sign-ins that have expired; a retention rule. */
export const deleteExpiredSignIns = retentionRule('sign_ins', ['id'], 'expires_at');

type NewSignIn = { personId: number; accountId: number | null; hash: string; expiresAt: number };

const insertSignIn = query((db, p: Params<NewSignIn>) =>
  db
    .insertInto('sign_ins')
    .values({ person_id: p.personId, account_id: p.accountId, hash: p.hash, expires_at: p.expiresAt }),
);

const signInsOf = query((db, p: Params<{ personId: number }>) =>
  db.selectFrom('sign_ins').select('id').where('person_id', '=', p.personId).orderBy('id', 'desc'),
);

const signInByHash = query((db, p: Params<{ hash: string }>) =>
  db
    .selectFrom('sign_ins')
    .select(['id', 'person_id as personId', 'account_id as accountId', 'expires_at as expiresAt'])
    .where('hash', '=', p.hash),
);

const deleteSignIn = query((db, p: Params<{ id: number }>) => db.deleteFrom('sign_ins').where('id', '=', p.id));
