import { UserError } from '../../lib/user-error.ts';
import type { Passkey } from '../../lib/webauthn.ts';
import { type Params, query, type Reader, type Transaction } from '../../model/schema.ts';

/** The maximum number of passkeys of a person. */
export const PASSKEYS_MAX = 10;
/** The maximum length of the name of a passkey, in characters. */
export const PASSKEY_NAME_MAX = 60;

/** A passkey of a person. */
export interface OwnPasskey extends Passkey {
  readonly id: number;
  readonly personId: number;
  readonly name: string;
  /** All times are milliseconds since the Unix epoch. */
  readonly createdAt: number;
  readonly lastUsedAt: number | null;
}

/** Returns the passkeys of a person, in the order of creation. */
export async function listPasskeys(reader: Reader, personId: number): Promise<OwnPasskey[]> {
  return (await reader.all(passkeysOf, { personId })).map(passkeyOf);
}

/** Returns the passkey with a credential id; `undefined` if there is none. */
export async function findPasskey(reader: Reader, credentialId: string): Promise<OwnPasskey | undefined> {
  // PostgreSQL rejects texts with NUL.
  const row = /^[\w-]+$/.test(credentialId) ? await reader.first(passkeyById, { credentialId }) : undefined;
  return row && passkeyOf(row);
}

/**
 * Stores a verified passkey.
 * @param challengeAt the time of its challenge
 * @throws {UserError} if anyone has the passkey already, or the person has `PASSKEYS_MAX`
 */
export async function addPasskey(
  tx: Transaction,
  personId: number,
  { backedUp, ...passkey }: Passkey & { readonly name: string },
  challengeAt: number,
): Promise<void> {
  const added = { ...passkey, backedUp: Number(backedUp), personId, challengeAt, now: tx.now };
  if ((await tx.run(insertPasskey, added)) === 0) throw new UserError('This passkey is in use already.');
  // The insertion locks no other one; of two concurrent ones beyond the limit, the later one counts both.
  const { length } = await tx.all(passkeysOf, { personId });
  if (length > PASSKEYS_MAX) throw new UserError(`You have ${PASSKEYS_MAX} passkeys already. Remove one first.`);
}

/** Records the use of a passkey. Reports whether its challenge is later than that of the use before. */
export async function takePasskey(
  tx: Transaction,
  id: number,
  { signCount, backedUp }: Pick<Passkey, 'signCount' | 'backedUp'>,
  challengeAt: number,
): Promise<boolean> {
  const used = { id, signCount, backedUp: Number(backedUp), challengeAt, now: tx.now };
  return (await tx.run(setUsed, used)) > 0;
}

/** Removes a passkey of a person. Reports whether it existed. */
export async function deletePasskey(tx: Transaction, personId: number, id: number): Promise<boolean> {
  return (await tx.run(deleteOne, { personId, id })) > 0;
}

type PasskeyRow = Omit<OwnPasskey, 'backedUp'> & { readonly backedUp: number };

function passkeyOf({ backedUp, ...passkey }: PasskeyRow): OwnPasskey {
  return { ...passkey, backedUp: backedUp === 1 };
}

const columns = [
  'id',
  'person_id as personId',
  'credential_id as credentialId',
  'public_key as publicKey',
  'algorithm',
  'sign_count as signCount',
  'backed_up as backedUp',
  'name',
  'created_at as createdAt',
  'last_used_at as lastUsedAt',
] as const;

const passkeysOf = query((db, p: Params<{ personId: number }>) =>
  db.selectFrom('passkeys').select(columns).where('person_id', '=', p.personId).orderBy('id'),
);

const passkeyById = query((db, p: Params<{ credentialId: string }>) =>
  db.selectFrom('passkeys').select(columns).where('credential_id', '=', p.credentialId),
);

type NewPasskey = Omit<PasskeyRow, 'id' | 'createdAt' | 'lastUsedAt'> & { challengeAt: number; now: number };

const insertPasskey = query((db, p: Params<NewPasskey>) =>
  db
    .insertInto('passkeys')
    .values({
      person_id: p.personId,
      credential_id: p.credentialId,
      public_key: p.publicKey,
      algorithm: p.algorithm,
      sign_count: p.signCount,
      backed_up: p.backedUp,
      name: p.name,
      created_at: p.now,
      last_challenge_at: p.challengeAt,
    })
    .onConflict(conflict => conflict.column('credential_id').doNothing()),
);

type Used = { id: number; signCount: number; backedUp: number; challengeAt: number; now: number };

const setUsed = query((db, p: Params<Used>) =>
  db
    .updateTable('passkeys')
    .set({ sign_count: p.signCount, backed_up: p.backedUp, last_challenge_at: p.challengeAt, last_used_at: p.now })
    .where('id', '=', p.id)
    .where('last_challenge_at', '<', p.challengeAt),
);

const deleteOne = query((db, p: Params<{ personId: number; id: number }>) =>
  db.deleteFrom('passkeys').where('person_id', '=', p.personId).where('id', '=', p.id),
);
