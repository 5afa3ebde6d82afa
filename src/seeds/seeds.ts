import { deleteEmptyCategories } from '../categories/deletion.ts';
import { recordAll } from '../events/log.ts';
import type { PetEventData } from '../pets/change.ts';
import { updateCounts } from '../pets/counts.ts';
import { createPet } from '../pets/pets.ts';
import { petColumns, petValues } from '../pets/rows.ts';
import { type Database, type Params, query, type Transaction } from '../schema.ts';
import { ensureSampleOwners, type SampleOwners } from './accounts.ts';
import { sampleAnimals } from './animals.ts';

/**
 * Fills staging with the sample animals, once in its life: half of them belong to the owner, half to sample shelters.
 *
 * Safe to repeat, by several at once, and after a crash: it goes on where it stopped. A reset that was not finished is
 * finished first.
 */
export async function fillSamples(registry: Database, staging: Database): Promise<void> {
  await staging.write(tx => tx.run(begin, {}));
  if ((await staging.first(progress, {}))?.value === DONE) return;
  const owners = await ensureSampleOwners(registry);
  while ((await staging.write(tx => step(tx, owners))) !== DONE);
}

/**
 * Takes every animal that is there when it begins out of staging, with its holds and orders and with categories beyond
 * the usual that are left empty, every message, and the answers that retries would get; and fills it anew. Ids go on above
 * those that were given. The log stays, and tells mirrors that the animals are gone; webhooks stay.
 *
 * Works beside a running server, in small transactions. What is added meanwhile stays. Safe to repeat; after a crash
 * the next reset, or the next start, finishes it.
 * @returns how many animals there are in a filled staging
 */
export async function resetSamples(registry: Database, staging: Database): Promise<number> {
  await staging.write(async tx => {
    await tx.run(begin, {});
    const { pet, message } = (await tx.first(lasts, {}))!;
    await tx.run(advance, { value: [REMOVING, pet ?? 0, message ?? 0, tx.now].join(' ') });
  });
  await fillSamples(registry, staging);
  return sampleAnimals().length;
}

/**
 * How far the filling is, as a fact of the deployment: `filling <animals added>`, `removing <animals up to this id>
 * <messages up to this id> <answers up to this time>` or `done`. Earlier releases removed animals alone.
 */
const FACT = 'samples';
const FILLING = 'filling';
const REMOVING = 'removing';
const DONE = 'done';

/** How many animals a transaction adds or removes: few enough that nobody waits for it. */
const ADDED_AT_ONCE = 100;
const REMOVED_AT_ONCE = 100;
const ANSWERS_REMOVED_AT_ONCE = 1000;
const CATEGORIES_REMOVED_AT_ONCE = 20;

/** One transaction's worth of work, and how far it is then. */
async function step(tx: Transaction, owners: SampleOwners): Promise<string> {
  const { value } = (await tx.first(claim, {}))!;
  const [word, ...numbers] = value.split(' ');
  const [upTo = 0, messagesUpTo = 0, answersUpTo = 0] = numbers.map(Number);
  let next = DONE;
  if (word === FILLING) next = await fill(tx, owners, upTo);
  else if (word === REMOVING) next = (await remove(tx, upTo, messagesUpTo, answersUpTo)) ? value : `${FILLING} 0`;
  await tx.run(advance, { value: next });
  return next;
}

async function fill(tx: Transaction, owners: SampleOwners, added: number): Promise<string> {
  const animals = sampleAnimals();
  for (const [index, animal] of animals.slice(added, added + ADDED_AT_ONCE).entries()) {
    const place = added + index;
    const shelters = owners.shelters(animal.categoryId);
    const accountId = place % 2 === 0 ? owners.owner : shelters[Math.floor(place / 2) % shelters.length]!;
    await createPet(tx, accountId, animal, 'open');
  }
  return added + ADDED_AT_ONCE < animals.length ? `${FILLING} ${added + ADDED_AT_ONCE}` : DONE;
}

/** Whether there was something to take out. */
async function remove(tx: Transaction, upTo: number, messagesUpTo: number, answersUpTo: number): Promise<boolean> {
  const last = (await tx.all(firstPets, { upTo })).at(-1);
  if (last !== undefined) {
    await removePets(tx, last.id);
    return true;
  }
  const removed =
    (await tx.run(removeReservations, { last: upTo })) ||
    (await tx.run(removeOrders, { upTo })) ||
    (await tx.run(removeEmptyHolds, {})) ||
    (await deleteEmptyCategories(tx, CATEGORIES_REMOVED_AT_ONCE)) ||
    (await removeMessages(tx, messagesUpTo)) ||
    (await tx.run(removeAnswers, { upTo: answersUpTo }));
  return removed > 0;
}

async function removeMessages(tx: Transaction, upTo: number): Promise<number> {
  const last = (await tx.all(firstMessages, { upTo })).at(-1);
  if (last === undefined) return 0;
  await tx.run(removeAttempts, { last: last.id });
  return tx.run(removeMessagesUpTo, { last: last.id });
}

/** Takes animals out with what they are kept for, and writes it down: mirrors of staging hear of it. */
async function removePets(tx: Transaction, last: number): Promise<void> {
  await tx.run(removeReservations, { last });
  const removed = await tx.all(removeUpTo, { last });
  updateCounts(
    tx,
    removed.map(({ status, categoryId }) => ({ status, categoryId, by: -1 })),
  );
  await recordAll(
    tx,
    removed.map(pet => ({
      kind: 'pet',
      action: 'deleted',
      subjectId: pet.id,
      accountId: null,
      data: { pet: petValues.stateOf(pet), ownerId: pet.accountId } satisfies PetEventData,
    })),
  );
}

const begin = query(db =>
  db
    .insertInto('facts')
    .values({ name: FACT, value: `${FILLING} 0` })
    .onConflict(conflict => conflict.column('name').doNothing()),
);

const progress = query(db => db.selectFrom('facts').select('value').where('name', '=', FACT));

/** Reads how far it is, and keeps others from going on at the same time. */
const claim = query(db =>
  db
    .updateTable('facts')
    .set(eb => ({ value: eb.ref('value') }))
    .where('name', '=', FACT)
    .returning('value'),
);

const advance = query((db, p: Params<{ value: string }>) =>
  db.updateTable('facts').set({ value: p.value }).where('name', '=', FACT),
);

const lasts = query(db =>
  db.selectNoFrom(({ selectFrom }) => [
    selectFrom('pets')
      .select(({ fn }) => fn.max('id').as('id'))
      .as('pet'),
    selectFrom('messages')
      .select(({ fn }) => fn.max('id').as('id'))
      .as('message'),
  ]),
);

const firstPets = query((db, p: Params<{ upTo: number }>) =>
  db.selectFrom('pets').select('id').where('id', '<=', p.upTo).orderBy('id').limit(REMOVED_AT_ONCE),
);

const removeUpTo = query((db, p: Params<{ last: number }>) =>
  db.deleteFrom('pets').where('id', '<=', p.last).returning(petColumns.stored()),
);

const removeReservations = query((db, p: Params<{ last: number }>) =>
  db.deleteFrom('reservations').where('pet_id', '<=', p.last),
);

const removeOrders = query((db, p: Params<{ upTo: number }>) =>
  db
    .deleteFrom('orders')
    .where('id', 'in', eb =>
      eb.selectFrom('orders').select('id').where('pet_id', '<=', p.upTo).orderBy('pet_id').limit(REMOVED_AT_ONCE),
    ),
);

/** Holds that were on nothing but animals that are gone. */
const removeEmptyHolds = query(db =>
  db.deleteFrom('holds').where('id', 'in', eb =>
    eb
      .selectFrom('holds')
      .select('id')
      .where(({ not, exists, selectFrom }) =>
        not(
          exists(
            selectFrom('reservations').select('reservations.id').whereRef('reservations.hold_id', '=', 'holds.id'),
          ),
        ),
      )
      .limit(REMOVED_AT_ONCE),
  ),
);

const firstMessages = query((db, p: Params<{ upTo: number }>) =>
  db.selectFrom('messages').select('id').where('id', '<=', p.upTo).orderBy('id').limit(REMOVED_AT_ONCE),
);

const removeAttempts = query((db, p: Params<{ last: number }>) =>
  db.deleteFrom('message_attempts').where('message_id', '<=', p.last),
);

const removeMessagesUpTo = query((db, p: Params<{ last: number }>) =>
  db.deleteFrom('messages').where('id', '<=', p.last),
);

/** An answer tells of what is gone: a retry is to do anew what it asked for. */
const removeAnswers = query((db, p: Params<{ upTo: number }>) =>
  db
    .deleteFrom('idempotency')
    .where(eb =>
      eb(
        eb.refTuple('account_id', 'key'),
        'in',
        eb
          .selectFrom('idempotency')
          .select(['account_id', 'key'])
          .where('created_at', '<=', p.upTo)
          .orderBy('created_at')
          .limit(ANSWERS_REMOVED_AT_ONCE)
          .$asTuple('account_id', 'key'),
      ),
    ),
);
