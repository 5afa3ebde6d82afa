import { createPet } from '../pets/pets.ts';
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
 * Takes every animal that is there when it begins out of staging, with categories beyond the usual that are left empty,
 * and fills it anew; ids go on above those that were given.
 *
 * Works beside a running server, in small transactions. What is added meanwhile stays. Safe to repeat; after a crash
 * the next reset, or the next start, finishes it.
 * @returns how many animals there are in a filled staging
 */
export async function resetSamples(registry: Database, staging: Database): Promise<number> {
  await staging.write(async tx => {
    await tx.run(begin, {});
    const last = (await tx.first(lastPet, {}))?.id ?? 0;
    await tx.run(advance, { value: `${REMOVING} ${last}` });
  });
  await fillSamples(registry, staging);
  return sampleAnimals().length;
}

/** How far the filling is, as a fact of the deployment: `filling <animals added>`, `removing <up to this id>` or `done`. */
const FACT = 'samples';
const FILLING = 'filling';
const REMOVING = 'removing';
const DONE = 'done';

/** How many animals a transaction adds or removes: few enough that nobody waits for it. */
const ADDED_AT_ONCE = 100;
const REMOVED_AT_ONCE = 500;

/** One transaction's worth of work, and how far it is then. */
async function step(tx: Transaction, owners: SampleOwners): Promise<string> {
  const { value } = (await tx.first(claim, {}))!;
  const [word, number] = value.split(' ');
  const next =
    word === FILLING
      ? await fill(tx, owners, Number(number))
      : word === REMOVING
        ? await remove(tx, Number(number))
        : DONE;
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

async function remove(tx: Transaction, upTo: number): Promise<string> {
  const last = (await tx.all(firstPets, { upTo })).at(-1);
  if (last === undefined) {
    await tx.run(removeEmptyCategories, {});
    return `${FILLING} 0`;
  }
  const removed = await tx.all(removeUpTo, { last: last.id });
  for (const [status, pets] of tally(removed.map(pet => pet.status))) {
    await tx.run(changeCount, { kind: 'status', key: status, change: -pets });
  }
  for (const [category, pets] of tally(removed.map(pet => pet.category))) {
    await tx.run(changeCount, { kind: 'category', key: String(category), change: -pets });
  }
  return `${REMOVING} ${upTo}`;
}

function tally<T>(values: readonly T[]): Map<T, number> {
  const times = new Map<T, number>();
  for (const value of values) times.set(value, (times.get(value) ?? 0) + 1);
  return times;
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

const lastPet = query(db => db.selectFrom('pets').select('id').orderBy('id', 'desc').limit(1));

const firstPets = query((db, p: Params<{ upTo: number }>) =>
  db.selectFrom('pets').select('id').where('id', '<=', p.upTo).orderBy('id').limit(REMOVED_AT_ONCE),
);

const changeCount = query((db, p: Params<{ kind: 'status' | 'category'; key: string; change: number }>) =>
  db
    .insertInto('pet_counts')
    .values({ kind: p.kind, key: p.key, slot: 0, pets: p.change })
    .onConflict(conflict =>
      conflict.columns(['kind', 'key', 'slot']).doUpdateSet(eb => ({ pets: eb('pet_counts.pets', '+', p.change) })),
    ),
);

const removeUpTo = query((db, p: Params<{ last: number }>) =>
  db.deleteFrom('pets').where('id', '<=', p.last).returning(['status', 'category_id as category']),
);

/** The usual categories are those of the first migration. */
const removeEmptyCategories = query(db =>
  db
    .deleteFrom('categories')
    .where('id', '>', 8)
    .where(({ not, exists, selectFrom }) =>
      not(exists(selectFrom('pets').select('pets.id').whereRef('pets.category_id', '=', 'categories.id'))),
    ),
);
