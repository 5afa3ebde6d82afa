import { type Params, query, type Reader, type Transaction } from '../../model/schema.ts';

/** The minimum length, in code points. */
export const PASSWORD_LENGTH_MIN = 10;
/** The maximum length, which bounds the work of hashing. */
const PASSWORD_LENGTH_MAX = 200;

/** Returns the error of a new password, as a sentence; `undefined` if it is valid. */
export function passwordError(password: string, email: string): string | undefined {
  const length = [...password].length;
  if (length < PASSWORD_LENGTH_MIN) return `Use at least ${PASSWORD_LENGTH_MIN} characters; a few words work well.`;
  if (length > PASSWORD_LENGTH_MAX) return `Use at most ${PASSWORD_LENGTH_MAX} characters.`;
  if (password.toLowerCase() === email.toLowerCase()) return 'Use something other than your e-mail address.';
  if (new Set(password).size < 4) return 'Use more than a few different characters.';
  return undefined;
}

/** Returns the stored hash of a person's password; `undefined` if it has none. */
export async function findPassword(reader: Reader, personId: number): Promise<string | undefined> {
  return (await reader.first(passwordOf, { personId }))?.hash;
}

/** Replaces the hash of a person's password. */
export async function storePassword(tx: Transaction, personId: number, hash: string): Promise<void> {
  await tx.run(upsertPassword, { personId, hash, now: tx.now });
}

const passwordOf = query((db, p: Params<{ personId: number }>) =>
  db.selectFrom('passwords').select('hash').where('account_id', '=', p.personId),
);

const upsertPassword = query((db, p: Params<{ personId: number; hash: string; now: number }>) =>
  db
    .insertInto('passwords')
    .values({ account_id: p.personId, hash: p.hash, changed_at: p.now })
    .onConflict(conflict =>
      conflict
        .column('account_id')
        .doUpdateSet(eb => ({ hash: eb.ref('excluded.hash'), changed_at: eb.ref('excluded.changed_at') })),
    ),
);
