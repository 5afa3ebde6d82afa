import { problem } from '../../model/errors.ts';
import type { FullPet, PetRow } from '../../model/pet.ts';
import {
  amongNumbers,
  type MaybePromise,
  type Params,
  query,
  type Reader,
  sql,
  type Transaction,
} from '../../model/schema.ts';

/**
 * Adds to each bonded pet the ids of its whole group, which a hold or an order has to name. Runs at most one query, and
 * none if no pet is bonded.
 */
export function withBonds<Pet extends Grouped>(reader: Reader, pets: Pet[]): MaybePromise<Pet[]> {
  return pets.some(({ group }) => group?.kind === 'bonded') ? addBonds(reader, pets) : pets;
}

type Grouped = Pick<FullPet, 'id' | 'group'>;
type GroupedRow = Pick<PetRow, 'id' | 'accountId' | 'groupId' | 'groupKind'>;

async function addBonds<Pet extends Grouped>(reader: Reader, pets: Pet[]): Promise<Pet[]> {
  const bonded = pets.filter(({ group }) => group?.kind === 'bonded');
  const mates = await matesOf(reader, bonded);
  return pets.map(pet => {
    if (pet.group?.kind !== 'bonded') return pet;
    return { ...pet, group: { ...pet.group, petIds: sorted([pet.id, ...(mates.get(pet.id) ?? [])]) } };
  });
}

/**
 * Checks that a hold or an order includes all pets that its pets are bonded with. Sold pets do not count.
 * @param pets locked in this transaction
 * @throws {Problem} `bonded_animals`
 */
export async function requireWholeGroups(tx: Transaction, pets: readonly GroupedRow[]): Promise<void> {
  const bonded = pets.filter(({ groupKind }) => groupKind === 'bonded');
  if (bonded.length === 0) return;
  const named = new Set(pets.map(({ id }) => id));
  for (const [id, mates] of await matesOf(tx, bonded)) {
    const missing = mates.filter(mate => !named.has(mate));
    if (missing.length === 0) continue;
    const together = sorted([...new Set([...named, id, ...mates])]);
    const message = `Animal ${id} is bonded with ${missing.join(', ')}; send the ids of all of them: "petIds": [${together.join(', ')}].`;
    throw problem('bonded_animals', message);
  }
}

/** Reports whether pets belong to the same bonded group. */
export function areBonded([first, ...others]: readonly GroupedRow[]): boolean {
  if (first?.groupKind !== 'bonded') return false;
  return others.every(
    ({ accountId, groupId, groupKind }) =>
      groupKind === 'bonded' && groupId === first.groupId && accountId === first.accountId,
  );
}

/** Returns the unsold pets that each of some pets is bonded with, by id ascending. */
async function matesOf(reader: Reader, pets: readonly { readonly id: number }[]): Promise<Map<number, number[]>> {
  const pairs = await reader.all(bondedPairs, { ids: JSON.stringify(pets.map(({ id }) => id)) });
  const mates = new Map<number, number[]>();
  for (const { id, mate } of pairs) mates.getOrInsertComputed(id, () => []).push(mate);
  return mates;
}

function sorted(ids: readonly number[]): number[] {
  return ids.toSorted((one, other) => one - other);
}

const bondedPairs = query((db, p: Params<{ ids: string }>, engine) =>
  db
    .selectFrom('pets')
    .innerJoin('pets as mates', join =>
      join
        .onRef('mates.account_id', '=', 'pets.account_id')
        .onRef('mates.group_id', '=', 'pets.group_id')
        .onRef('mates.id', '<>', 'pets.id'),
    )
    .select(['pets.id', 'mates.id as mate'])
    .where(({ ref }) => amongNumbers(ref('pets.id'), p.ids, engine))
    .where('pets.group_kind', '=', sql.lit('bonded'))
    .where('mates.group_kind', '=', sql.lit('bonded'))
    .where('mates.status', '<>', sql.lit('sold'))
    .where('mates.group_id', 'is not', null)
    .orderBy('mates.id'),
);
