import { lockBound } from '../../access/plans/lock.ts';
import { recordEvents } from '../../model/log/log.ts';
import { type OrderStatus, orderSteps } from '../../model/order.ts';
import { type PetRow, petValues } from '../../model/pet.ts';
import { GROUP_ID_MAX } from '../../model/profile.ts';
import {
  amongNumbers,
  type Params,
  query,
  selectJsonNumbers,
  selectJsonTexts,
  sql,
  type Transaction,
} from '../../model/schema.ts';
import { nextVersion, petEvent } from '../pets/change.ts';
import { updateCounts } from '../pets/counts.ts';
import { lockPets } from '../pets/lock.ts';
import { movePhotoBytes } from '../photo-references.ts';

/**
 * transferPets transfers up to `most` pets of an account to another account, by id ascending, with a new version and an
 * event each, together with the pets bonded with them. Reservations stay. The new owner takes the further steps of
 * orders; orders without one stay with the previous owner. A pet loses its `externalId` if a pet of the new owner has
 * the same. A bonded group gets a new id if the new owner has a group with its id. The number of statements does not
 * depend on the number of pets.
 * @returns the number of pets transferred; 0 if none is left
 */
export async function transferPets(tx: Transaction, from: number, to: number, most: number): Promise<number> {
  const first = (await tx.all(petsOf, { accountId: from, most })).map(({ id }) => id);
  const mates = (await tx.all(bondedWith, { ids: JSON.stringify(first) })).map(({ id }) => id);
  const ids = [...new Set([...first, ...mates])];
  // Ends expired reservations first.
  const pets = (await lockPets(tx, ids)).filter(({ accountId }) => accountId === from);
  const values = { ids: JSON.stringify(pets.map(({ id }) => id)), to, now: tx.now };
  await lockBound(tx, 'pets', to);
  const taken = new Set((await tx.all(withTakenExternalId, values)).map(({ id }) => id));
  if (taken.size > 0) await tx.queue(clearExternalIds, { ids: JSON.stringify([...taken]) });
  const groups = await newGroupIds(tx, pets, to);
  if (groups.size > 0) await tx.queue(changeGroups, { rows: JSON.stringify([...groups]) });
  await tx.queue(changePetOwner, values);
  movePhotoBytes(tx, pets, to);
  updateCounts(tx, { accountId: from }, -pets.length);
  updateCounts(tx, { accountId: to }, pets.length);
  await tx.queue(changeReservationOwner, values);
  await tx.queue(changeOrderOwner, values);
  await recordEvents(
    tx,
    pets.map(pet => {
      const externalId = taken.has(pet.id) ? null : pet.externalId;
      const after = { ...pet, accountId: to, externalId, groupId: groups.get(pet.id) ?? pet.groupId };
      return petEvent('updated', null, after, { was: petValues.changesOf(pet, after) ?? {}, reason: 'transferred' });
    }),
  );
  return ids.length;
}

/**
 * Returns new ids for the bonded groups whose ids the new owner already uses, by the ids of their pets. A new id ends
 * with the id of the first pet of the group, and is unused by the new owner and the other groups.
 */
async function newGroupIds(tx: Transaction, pets: readonly PetRow[], to: number): Promise<ReadonlyMap<number, string>> {
  const bonded = pets.filter(({ groupId, groupKind }) => groupId !== null && groupKind === 'bonded');
  const groups = Map.groupBy(bonded, ({ groupId }) => groupId!);
  const takenAmong = async (ids: Iterable<string>) => {
    const rows = await tx.all(bondedGroupsAmong, { accountId: to, ids: JSON.stringify([...ids]) });
    return new Set(rows.map(({ groupId }) => groupId!));
  };
  const renamed = new Map<string, string>();
  let waiting = groups.size === 0 ? [] : [...(await takenAmong(groups.keys()))];
  for (let attempt = 1; waiting.length > 0; attempt++) {
    for (const id of waiting) {
      const suffix = ` (${groups.get(id)![0]!.id}${attempt === 1 ? '' : `-${attempt}`})`;
      renamed.set(id, [...id].slice(0, GROUP_ID_MAX - suffix.length).join('') + suffix);
    }
    const taken = await takenAmong(waiting.map(id => renamed.get(id)!));
    waiting = waiting.filter(id => groups.has(renamed.get(id)!) || taken.has(renamed.get(id)!));
  }
  return new Map([...renamed].flatMap(([id, newId]) => groups.get(id)!.map(pet => [pet.id, newId] as const)));
}

/** The statuses after which the owner can take another step. */
const unfinished: readonly OrderStatus[] = [...new Set(Object.values(orderSteps).flatMap(({ from }) => from))];

const petsOf = query((db, p: Params<{ accountId: number; most: number }>) =>
  db.selectFrom('pets').select('id').where('account_id', '=', p.accountId).orderBy('id').limit(p.most),
);

/** All pets of the bonded groups of some pets. */
const bondedWith = query((db, p: Params<{ ids: string }>, engine) =>
  db
    .selectFrom('pets')
    .innerJoin('pets as mates', join =>
      join.onRef('mates.account_id', '=', 'pets.account_id').onRef('mates.group_id', '=', 'pets.group_id'),
    )
    .select('mates.id')
    .distinct()
    .where(({ ref }) => amongNumbers(ref('pets.id'), p.ids, engine))
    .where('pets.group_kind', '=', sql.lit('bonded'))
    .where('mates.group_kind', '=', sql.lit('bonded'))
    .where('mates.group_id', 'is not', null),
);

/** Which of these ids bonded groups of an account have. */
const bondedGroupsAmong = query((db, p: Params<{ accountId: number; ids: string }>, engine) =>
  db
    .selectFrom('pets')
    .select('group_id as groupId')
    .distinct()
    .where('account_id', '=', p.accountId)
    .where('group_kind', '=', sql.lit('bonded'))
    .where('group_id', 'in', selectJsonTexts(p.ids, engine))
    .where('group_id', 'is not', null),
);

/** Sets the groups of pets: each row has an id and a group. */
const changeGroups = query((db, p: Params<{ rows: string }>, engine) => {
  const rows =
    engine === 'postgres'
      ? sql<{ id: number; group: string }>`(
          select (value ->> 0)::bigint as id, value ->> 1 as "group" from json_array_elements(${p.rows}::json))`
      : sql<{ id: number; group: string }>`(
          select value ->> 0 as id, value ->> 1 as "group" from json_each(${p.rows}))`;
  return db
    .updateTable('pets')
    .from(rows.as('renamed'))
    .set(({ ref }) => ({ group_id: ref('renamed.group') }))
    .whereRef('pets.id', '=', 'renamed.id');
});

type Owner = { ids: string; to: number; now: number };

const changePetOwner = query((db, p: Params<Owner>, engine) =>
  db
    .updateTable('pets')
    .set({ account_id: p.to, version: nextVersion, updated_at: p.now })
    .where('id', 'in', selectJsonNumbers(p.ids, engine)),
);

const withTakenExternalId = query((db, p: Params<Owner>, engine) =>
  db
    .selectFrom('pets')
    .select('id')
    .where('id', 'in', selectJsonNumbers(p.ids, engine))
    .where(({ exists, selectFrom }) =>
      exists(
        selectFrom('pets as others')
          .select('others.id')
          .where('others.account_id', '=', p.to)
          .whereRef('others.external_id', '=', 'pets.external_id'),
      ),
    ),
);

const clearExternalIds = query((db, p: Params<{ ids: string }>, engine) =>
  db.updateTable('pets').set({ external_id: null }).where('id', 'in', selectJsonNumbers(p.ids, engine)),
);

const changeReservationOwner = query((db, p: Params<Owner>, engine) =>
  db
    .updateTable('reservations')
    .set({ owner_id: p.to })
    .where('pet_id', 'in', selectJsonNumbers(p.ids, engine))
    .where('active', '=', sql.lit(1)),
);

const changeOrderOwner = query((db, p: Params<Owner>, engine) =>
  db
    .updateTable('orders')
    .set({ owner_id: p.to })
    .where('pet_id', 'in', selectJsonNumbers(p.ids, engine))
    .where(
      'status',
      'in',
      unfinished.map(status => sql.lit(status)),
    ),
);
