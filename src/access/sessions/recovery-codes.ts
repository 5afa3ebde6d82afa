import { newRecoveryCodes, recoveryHashOf } from '../../lib/recovery-codes.ts';
import { type Params, query, type Reader, type Transaction } from '../../model/schema.ts';
import { lockPerson } from '../accounts/people.ts';

/** Replaces the recovery codes of a person. Returns the new ones, which are not stored. */
export async function replaceRecoveryCodes(tx: Transaction, personId: number): Promise<readonly string[]> {
  // Of concurrent replacements, each then deletes the codes of the one before.
  await lockPerson(tx, personId);
  await tx.run(deleteOf, { personId });
  const codes = newRecoveryCodes();
  for (const code of codes) await tx.run(insertCode, { personId, hash: recoveryHashOf(code)!, now: tx.now });
  return codes;
}

/** Returns the number of unused recovery codes of a person. */
export async function countRecoveryCodes(reader: Reader, personId: number): Promise<number> {
  return (await reader.all(codesOf, { personId })).length;
}

/** Reports whether what was typed has the form of a recovery code, which no code of an app has. */
export function isRecoveryCode(typed: string): boolean {
  return recoveryHashOf(typed) !== undefined;
}

/** Accepts a recovery code of a person, once. The secret key is not needed. Reports whether the code was right. */
export async function takeRecoveryCode(tx: Transaction, personId: number, typed: string): Promise<boolean> {
  const hash = recoveryHashOf(typed);
  // 80 random bits: how long the database compares their hashes tells nothing.
  return hash !== undefined && (await tx.run(deleteCode, { personId, hash })) > 0;
}

/** Deletes the recovery codes of a person. */
export async function deleteRecoveryCodes(tx: Transaction, personId: number): Promise<void> {
  await tx.run(deleteOf, { personId });
}

const insertCode = query((db, p: Params<{ personId: number; hash: string; now: number }>) =>
  db.insertInto('recovery_codes').values({ person_id: p.personId, hash: p.hash, created_at: p.now }),
);

const codesOf = query((db, p: Params<{ personId: number }>) =>
  db.selectFrom('recovery_codes').select('hash').where('person_id', '=', p.personId),
);

const deleteCode = query((db, p: Params<{ personId: number; hash: string }>) =>
  db.deleteFrom('recovery_codes').where('person_id', '=', p.personId).where('hash', '=', p.hash),
);

const deleteOf = query((db, p: Params<{ personId: number }>) =>
  db.deleteFrom('recovery_codes').where('person_id', '=', p.personId),
);
