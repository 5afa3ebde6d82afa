import { recordEvents } from '../events/log.ts';
import { nextVersion, petEvent } from '../pets/change.ts';
import { updateCounts } from '../pets/counts.ts';
import { lockPets } from '../pets/lock.ts';
import { type PetRow, petValues } from '../pets/pet.ts';
import { GROUP_ID_MAX } from '../pets/profile.ts';
import { movePhotoBytes } from '../photos/references.ts';
import { lockBound } from '../plans/lock.ts';
import { amongNumbers, type Params, query, selectJsonNumbers, sql, type Transaction } from '../schema.ts';
import { type OrderStatus, orderSteps } from './order.ts';

/**
 * transferPets gives up to `most` pets of an account to another one, by id ascending, with a new version and an event
 * each, and the pets that they are bonded with. Their reservations stay, and the new owner takes the further steps of their
 * orders; orders without a further step stay with the previous owner. A pet loses an `externalId` that a pet of the new
 * owner has. A bonded group gets another id if the new owner has one with its id. The number of statements is fixed.
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
  if (taken.size > 0) await tx.run(clearExternalIds, { ids: JSON.stringify([...taken]) });
  const groups = newGroupIds(pets, new Set((await tx.all(withTakenGroup, values)).map(({ id }) => id)));
  if (groups.size > 0) await tx.run(changeGroups, { rows: JSON.stringify([...groups]) });
  await tx.run(changePetOwner, values);
  movePhotoBytes(tx, pets, to);
  updateCounts(tx, { accountId: from }, -pets.length);
  updateCounts(tx, { accountId: to }, pets.length);
  await tx.run(changeReservationOwner, values);
  await tx.run(changeOrderOwner, values);
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

/** Returns ids that are free for the groups of some pets, by the ids of the pets: they end with the first pet of the group. */
function newGroupIds(pets: readonly PetRow[], taken: ReadonlySet<number>): ReadonlyMap<number, string> {
  const firstOf = new Map<string, number>();
  const ids = new Map<number, string>();
  for (const { id, groupId } of pets) {
    if (!taken.has(id) || groupId === null) continue;
    const suffix = ` (${firstOf.getOrInsert(groupId, id)})`;
    ids.set(id, [...groupId].slice(0, GROUP_ID_MAX - suffix.length).join('') + suffix);
  }
  return ids;
}

/** The statuses that a step of the owner can follow. */
const unfinished: readonly OrderStatus[] = [...new Set(Object.values(orderSteps).flatMap(({ from }) => from))];

const petsOf = query((db, p: Params<{ accountId: number; most: number }>) =>
  db.selectFrom('pets').select('id').where('account_id', '=', p.accountId).orderBy('id').limit(p.most),
);

/** The pets of the bonded groups of some pets. */
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

const withTakenGroup = query((db, p: Params<Owner>, engine) =>
  db
    .selectFrom('pets')
    .select('id')
    .where('id', 'in', selectJsonNumbers(p.ids, engine))
    .where('group_kind', '=', sql.lit('bonded'))
    .where(({ exists, selectFrom }) =>
      exists(
        selectFrom('pets as others')
          .select('others.id')
          .where('others.account_id', '=', p.to)
          .where('others.group_kind', '=', sql.lit('bonded'))
          .whereRef('others.group_id', '=', 'pets.group_id'),
      ),
    ),
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
