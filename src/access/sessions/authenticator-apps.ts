import type { Encryptor } from '../../lib/encryption.ts';
import { newTotpSecret, totpStepOf } from '../../lib/totp.ts';
import { UserError } from '../../lib/user-error.ts';
import { type Params, query, type Reader, sql, type Transaction } from '../../model/schema.ts';
import { requireKey } from '../secret-key.ts';

/** The authenticator app of a person, whose codes are a second factor. */
export interface AuthenticatorApp {
  /** All times are milliseconds since the Unix epoch. */
  readonly createdAt: number;
  readonly lastUsedAt: number | null;
}

/** Returns the authenticator app of a person; `undefined` if there is none, or it is being set up. */
export async function findApp(reader: Reader, personId: number): Promise<AuthenticatorApp | undefined> {
  const row = await reader.first(appOf, { personId });
  if (row === undefined || row.confirmedAt === null) return undefined;
  return { createdAt: row.confirmedAt, lastUsedAt: row.lastUsedAt };
}

/**
 * Begins to set up an authenticator app, with a new secret. The app counts once `confirmApp` has received one of its
 * codes.
 * @throws {UserError} if the person has an app already
 */
export async function beginApp(tx: Transaction, encryptor: Encryptor, personId: number): Promise<void> {
  const { encrypt } = await requireKey(tx, encryptor);
  const secret = encrypt(newTotpSecret(), ownerOf(personId));
  if ((await tx.run(upsertApp, { personId, secret, now: tx.now })) === 0) {
    throw new UserError('You have an authenticator app already. Remove it first to set up another one.');
  }
}

/** How long a person can take to set up an app. Later, another session must not find its secret. */
export const SETUP_MS = 15 * 60_000;

/**
 * Returns the secret of the app that a person is setting up; `undefined` if the person sets up none, or began more than
 * `SETUP_MS` ago.
 */
export async function secretToConfirm(
  reader: Reader,
  encryptor: Encryptor,
  personId: number,
  now: number,
): Promise<Buffer | undefined> {
  const row = await reader.first(appOf, { personId });
  if (row === undefined || row.secret === null || row.confirmedAt !== null) return undefined;
  if (row.createdAt + SETUP_MS <= now) return undefined;
  return encryptor.decrypt(row.secret, ownerOf(personId));
}

/** Completes the setup of an app with one of its codes. Reports whether the code was right. */
export async function confirmApp(
  tx: Transaction,
  encryptor: Encryptor,
  personId: number,
  code: string,
): Promise<boolean> {
  const secret = await secretToConfirm(tx, encryptor, personId, tx.now);
  const step = secret && totpStepOf(secret, code, tx.now);
  return step !== undefined && (await tx.run(setConfirmed, { personId, step, now: tx.now })) > 0;
}

/** Accepts a code of the app of a person, once. Reports whether it was right, and was not accepted before. */
export async function takeAppCode(
  tx: Transaction,
  encryptor: Encryptor,
  personId: number,
  code: string,
): Promise<boolean> {
  const row = await tx.first(appOf, { personId });
  if (row === undefined || row.secret === null || row.confirmedAt === null) return false;
  const step = totpStepOf(encryptor.decrypt(row.secret, ownerOf(personId)), code, tx.now);
  return step !== undefined && (await tx.run(takeStep, { personId, step, now: tx.now })) > 0;
}

/** Removes the app of a person, also one that is being set up. Reports whether the person had one. */
export async function deleteApp(tx: Transaction, personId: number): Promise<boolean> {
  const app = await findApp(tx, personId);
  await tx.run(deleteOf, { personId });
  return app !== undefined;
}

/** Encrypts the secrets of up to `limit` apps after a person again. Returns those people. */
export async function reencryptApps(
  tx: Transaction,
  encryptor: Encryptor,
  after: number,
  limit: number,
): Promise<readonly number[]> {
  const rows = await tx.all(secretsAfter, { after, limit });
  for (const { personId, secret } of rows) {
    const owner = ownerOf(personId);
    await tx.run(replaceSecret, { personId, secret: encryptor.encrypt(encryptor.decrypt(secret!, owner), owner) });
  }
  return rows.map(({ personId }) => personId);
}

/**
 * Deletes the secrets of all apps, because the key that encrypted them is lost. The people still need a second factor:
 * their recovery codes work.
 */
export async function loseAppSecrets(tx: Transaction): Promise<void> {
  await tx.run(clearSecrets, {});
}

function ownerOf(personId: number): string {
  return `authenticator app of ${personId}`;
}

const appOf = query((db, p: Params<{ personId: number }>) =>
  db
    .selectFrom('authenticator_apps')
    .select(['secret', 'created_at as createdAt', 'confirmed_at as confirmedAt', 'last_used_at as lastUsedAt'])
    .where('person_id', '=', p.personId),
);

const upsertApp = query((db, p: Params<{ personId: number; secret: string; now: number }>) =>
  db
    .insertInto('authenticator_apps')
    .values({ person_id: p.personId, secret: p.secret, created_at: p.now, last_step: 0 })
    .onConflict(conflict =>
      conflict
        .column('person_id')
        .doUpdateSet(eb => ({ secret: eb.ref('excluded.secret'), created_at: eb.ref('excluded.created_at') }))
        .where('authenticator_apps.confirmed_at', 'is', null),
    ),
);

type TakenStep = { personId: number; step: number; now: number };

const setConfirmed = query((db, p: Params<TakenStep>) =>
  db
    .updateTable('authenticator_apps')
    .set({ confirmed_at: p.now, last_step: p.step })
    .where('person_id', '=', p.personId)
    .where('confirmed_at', 'is', null),
);

/** Of concurrent uses of one code, one updates the row. */
const takeStep = query((db, p: Params<TakenStep>) =>
  db
    .updateTable('authenticator_apps')
    .set({ last_step: p.step, last_used_at: p.now })
    .where('person_id', '=', p.personId)
    .where('confirmed_at', 'is not', null)
    .where('last_step', '<', p.step),
);

const deleteOf = query((db, p: Params<{ personId: number }>) =>
  db.deleteFrom('authenticator_apps').where('person_id', '=', p.personId),
);

const secretsAfter = query((db, p: Params<{ after: number; limit: number }>) =>
  db
    .selectFrom('authenticator_apps')
    .select(['person_id as personId', 'secret'])
    .where('person_id', '>', p.after)
    .where('secret', 'is not', null)
    .orderBy('person_id')
    .limit(p.limit),
);

const replaceSecret = query((db, p: Params<{ personId: number; secret: string }>) =>
  db.updateTable('authenticator_apps').set({ secret: p.secret }).where('person_id', '=', p.personId),
);

const clearSecrets = query(db => db.updateTable('authenticator_apps').set({ secret: null }).where(sql<boolean>`true`));
