import { recordEvents } from '../events/log.ts';
import { nextVersion, petEvent } from '../pets/change.ts';
import { updateCounts } from '../pets/counts.ts';
import { lockPets } from '../pets/lock.ts';
import { movePhotoBytes } from '../photos/references.ts';
import { lockBound } from '../plans/lock.ts';
import { type Params, query, selectJsonNumbers, sql, type Transaction } from '../schema.ts';
import { type OrderStatus, orderSteps } from './order.ts';

/**
 * transferPets gives up to `most` pets of an account to another one, by id ascending, with a new version and an event
 * each. Their reservations stay, and the new owner takes the further steps of their orders; orders without a further
 * step stay with the previous owner. A pet loses an `externalId` that a pet of the new owner has. The number of statements
 * is fixed.
 * @returns the number of pets transferred; 0 if none is left
 */
export async function transferPets(tx: Transaction, from: number, to: number, most: number): Promise<number> {
  const ids = (await tx.all(petsOf, { accountId: from, most })).map(({ id }) => id);
  // Ends expired reservations first.
  const pets = (await lockPets(tx, ids)).filter(({ accountId }) => accountId === from);
  const values = { ids: JSON.stringify(pets.map(({ id }) => id)), to, now: tx.now };
  await lockBound(tx, 'pets', to);
  const taken = new Set((await tx.all(withTakenExternalId, values)).map(({ id }) => id));
  if (taken.size > 0) await tx.run(clearExternalIds, { ids: JSON.stringify([...taken]) });
  await tx.run(changePetOwner, values);
  movePhotoBytes(tx, pets, to);
  updateCounts(tx, { accountId: from }, -pets.length);
  updateCounts(tx, { accountId: to }, pets.length);
  await tx.run(changeReservationOwner, values);
  await tx.run(changeOrderOwner, values);
  await recordEvents(
    tx,
    pets.map(pet => {
      const { externalId } = pet;
      const cleared = taken.has(pet.id) && externalId !== null;
      const after = { ...pet, accountId: to, ...(cleared && { externalId: null }) };
      return petEvent('updated', null, after, { was: cleared ? { externalId } : {}, reason: 'transferred' });
    }),
  );
  return ids.length;
}

/** The statuses that a step of the owner can follow. */
const unfinished: readonly OrderStatus[] = [...new Set(Object.values(orderSteps).flatMap(({ from }) => from))];

const petsOf = query((db, p: Params<{ accountId: number; most: number }>) =>
  db.selectFrom('pets').select('id').where('account_id', '=', p.accountId).orderBy('id').limit(p.most),
);

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
