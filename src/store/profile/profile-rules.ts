import { lockBound } from '../../access/plans/lock.ts';
import { DAY_MS } from '../../lib/time.ts';
import { invalidBody, problem } from '../../model/errors.ts';
import type { PetRow } from '../../model/pet.ts';
import { BONDED_MAX } from '../../model/profile.ts';
import { type Params, query, type Reader, sql, type Transaction } from '../../model/schema.ts';

/**
 * Checks the rules of a profile that a schema cannot: no other pet of the account has the `externalId`, the birth is
 * not in the future (by more than a day, because of time zones), and the bonded group is not too large.
 * @param change the columns that a transaction is about to write
 * @param id the pet that it changes; absent for a new one
 * @throws {Problem} `external_id_taken`; `invalid_body`
 */
export async function checkProfile(
  tx: Transaction,
  accountId: number,
  {
    externalId,
    birthDate,
    groupId,
    groupKind,
  }: Partial<Pick<PetRow, 'externalId' | 'birthDate' | 'groupId' | 'groupKind'>>,
  id?: number,
): Promise<void> {
  if (typeof birthDate === 'number' && birthDate > tx.now + DAY_MS) {
    const message = 'Must not be in the future.';
    throw invalidBody('/birthDate', 'out_of_range', message);
  }
  if (groupKind === 'bonded') await requireRoomInGroup(tx, accountId, groupId!, id);
  if (typeof externalId !== 'string') return;
  await lockBound(tx, 'pets', accountId);
  const other = await tx.first(petByExternalId, { accountId, externalId });
  if (other === undefined || other.id === id) return;
  const message = `The animal ${other.id} has the externalId ${externalId}.`;
  throw problem('external_id_taken', message, {
    errors: [{ path: '/externalId', code: 'external_id_taken', message }],
  });
}

/** Rejects a bonded group that is too large for a hold. */
async function requireRoomInGroup(tx: Transaction, accountId: number, groupId: string, id = 0): Promise<void> {
  await lockBound(tx, 'pets', accountId);
  const { others } = (await tx.first(bondedPets, { accountId, groupId, id }))!;
  if (others < BONDED_MAX) return;
  throw invalidBody(
    '/group/id',
    'invalid_value',
    `The bonded group ${groupId} has ${BONDED_MAX} animals, the maximum.`,
  );
}

/** Returns a list with the id of an account's pet with this `externalId`, or an empty list. */
export async function petIdsOf(reader: Reader, accountId: number, externalId: string): Promise<readonly number[]> {
  const found = await reader.first(petByExternalId, { accountId, externalId });
  return found === undefined ? [] : [found.id];
}

const bondedPets = query((db, p: Params<{ accountId: number; groupId: string; id: number }>) =>
  db
    .selectFrom('pets')
    .select(eb => eb.fn.countAll<number>().as('others'))
    .where('account_id', '=', p.accountId)
    .where('group_id', '=', p.groupId)
    .where('group_kind', '=', sql.lit('bonded'))
    .where('id', '<>', p.id),
);

const petByExternalId = query((db, p: Params<{ accountId: number; externalId: string }>) =>
  db
    .selectFrom('pets')
    .select('id')
    .where('account_id', '=', p.accountId)
    .where('external_id', '=', p.externalId)
    .orderBy('id')
    .limit(1),
);
