import { deleteResponses } from '../../access/idempotency/idempotency.ts';
import { factNamed, insertFact, lockedFact, storeFact } from '../../model/facts.ts';
import { recordEvents } from '../../model/log/log.ts';
import { petColumns } from '../../model/pet.ts';
import type { PhotoStore } from '../../model/photo-files/photo-store.ts';
import { type Database, type Params, query, selectJsonTexts, sql, type Transaction } from '../../model/schema.ts';
import { deleteEmptyCategories } from '../../store/categories/deletion.ts';
import { deleteMessages } from '../../store/messages/retention.ts';
import { countEndedLater, isOpen } from '../../store/orders/open-orders.ts';
import { findOrganization, replaceOrganization } from '../../store/organizations/organizations.ts';
import { petEvent } from '../../store/pets/change.ts';
import { updateCounts } from '../../store/pets/counts.ts';
import { updateFacets } from '../../store/pets/facets.ts';
import { createPet } from '../../store/pets/pets.ts';
import { keepPhoto, type PhotoFacts, releasePhotos } from '../../store/photo-references.ts';
import { updateWords } from '../../store/search/word-index.ts';
import { ensureSampleOwners, type SampleOwners } from './accounts.ts';
import { samplePets } from './pets.ts';
import { photoOf, type SamplePhotos, samplePhotos, storeSamplePhotos } from './photos.ts';
import { profileOf } from './profiles.ts';

/**
 * seedStaging creates the sample pets and organizations, once per staging database. One half of the pets belongs to the
 * first account, the other to sample shelters. It also completes a reset that was interrupted.
 *
 * Idempotent, also under concurrency; after a crash it continues where it stopped.
 * @param store the photos of staging; without it, the pets have no photos
 */
export async function seedStaging(accountsDatabase: Database, staging: Database, store?: PhotoStore): Promise<void> {
  await staging.write(tx => tx.run(insertFact, { name: PROGRESS, value: `${CREATING} 0` }));
  const isDone = (await staging.first(factNamed, { name: PROGRESS }))?.value === DONE;
  const photos = store && samplePhotos();
  const files = async () => {
    if (store === undefined || photos === undefined) return;
    if (isDone) return storeSamplePhotos(store, await photosInUse(staging, photos));
    // One transaction per photo, so that transactions cannot deadlock on rows.
    const keep = (photo: PhotoFacts) => staging.write(tx => keepPhoto(tx, photo));
    await Promise.all(Array.from(photos.values(), keep));
    await storeSamplePhotos(store, photos);
  };
  const rows = async () => {
    if (isDone) return;
    const owners = await ensureSampleOwners(accountsDatabase);
    while ((await staging.write(tx => runStep(tx, owners, photos))) !== DONE);
  };
  // Store both at the same time, because files take as long as rows. If the process is killed, the next start stores
  // the missing files.
  await Promise.all([files(), rows()]);
}

/** Returns the photos that pets have, because sample pets may have been deleted. */
async function photosInUse(staging: Database, photos: SamplePhotos): Promise<SamplePhotos> {
  const hashes = JSON.stringify(Array.from(photos.values(), ({ hash }) => hash));
  const used = new Set((await staging.all(usedHashes, { hashes })).map(({ hash }) => hash));
  return new Map([...photos].filter(([, { hash }]) => used.has(hash)));
}

/**
 * resetStaging deletes the pets and messages that exist when it begins, with the holds and orders of those pets, all
 * empty categories that are not built in, and the stored idempotent responses; then it creates the sample pets again.
 * Ids continue above the previous ones. The event log stays, so that clients that synchronize see the deletions;
 * webhooks stay too.
 *
 * It runs in small transactions while a server may run, and keeps rows that are created meanwhile. After a crash, the
 * next reset or the next start completes it.
 * @returns the number of sample pets
 */
export async function resetStaging(accountsDatabase: Database, staging: Database, store?: PhotoStore): Promise<number> {
  await staging.write(async tx => {
    const { pet, message } = (await tx.first(lastIds, {}))!;
    await tx.run(storeFact, { name: PROGRESS, value: [DELETING, pet ?? 0, message ?? 0, tx.now].join(' ') });
  });
  await seedStaging(accountsDatabase, staging, store);
  return samplePets().length;
}

/**
 * The progress is a fact of the deployment: `filling <number of created pets>`, `removing <last pet id> <last message
 * id> <time of the last response>` or `done`. Earlier releases stored only the pet id.
 */
const PROGRESS = 'samples';
const CREATING = 'filling';
const DELETING = 'removing';
const DONE = 'done';

/** How many rows one transaction creates or deletes: few, so that other writes do not wait. */
const PETS_PER_TRANSACTION = 100;
const ROWS_PER_DELETE = 100;
const RESPONSES_PER_DELETE = 1000;
const CATEGORIES_PER_DELETE = 20;

/** Runs one transaction of work, and returns the new progress. */
async function runStep(tx: Transaction, owners: SampleOwners, photos: SamplePhotos | undefined): Promise<string> {
  const { value } = (await tx.first(lockedFact, { name: PROGRESS }))!;
  const [phase, ...numbers] = value.split(' ');
  const [position = 0, lastMessage = 0, lastResponse = 0] = numbers.map(Number);
  let next = DONE;
  if (phase === CREATING) next = await createSome(tx, owners, photos, position);
  else if (phase === DELETING)
    next = (await deleteSome(tx, position, lastMessage, lastResponse)) ? value : `${CREATING} 0`;
  await tx.run(storeFact, { name: PROGRESS, value: next });
  return next;
}

async function createSome(
  tx: Transaction,
  { ownerOf, shelters }: SampleOwners,
  photos: SamplePhotos | undefined,
  created: number,
): Promise<string> {
  const pets = samplePets();
  const end = created + PETS_PER_TRANSACTION;
  for (const [index, sample] of pets.entries().take(end).drop(created)) {
    const { pet, kind } = profileOf(sample, tx.now);
    const own = photos === undefined ? [] : [photoOf(kind, photos)];
    await createPet(tx, ownerOf(index, sample.categoryId), pet, 'open', { photos: own });
  }
  if (end < pets.length) return `${CREATING} ${end}`;
  for (const [id, organization] of shelters) {
    if ((await findOrganization(tx, id)) !== undefined) continue;
    await replaceOrganization(tx, { accountId: id, admin: false }, id, organization);
  }
  return DONE;
}

/**
 * Deletes some rows of one kind.
 * @param lastPet the last pet to delete; the last message and the time of the last response have the same meaning
 * @returns false if no row was left to delete
 */
async function deleteSome(
  tx: Transaction,
  lastPet: number,
  lastMessage: number,
  lastResponse: number,
): Promise<boolean> {
  const last = (await tx.all(firstPets, { upTo: lastPet })).at(-1);
  if (last !== undefined) {
    await deletePets(tx, last.id);
    return true;
  }
  const deleted =
    (await tx.run(deleteReservations, { last: lastPet })) ||
    (await deleteOrders(tx, lastPet)) ||
    (await tx.run(deleteEmptyHolds, {})) ||
    (await deleteEmptyCategories(tx, CATEGORIES_PER_DELETE)) ||
    (await deleteMessages(tx, await tx.all(firstMessages, { upTo: lastMessage }))) ||
    // Stored responses may describe deleted resources; a retry then runs the request again.
    (await deleteResponses(tx, RESPONSES_PER_DELETE, lastResponse));
  return deleted > 0;
}

/** Deletes orders of pets up to this one, except orders that also have a bonded pet added since. */
async function deleteOrders(tx: Transaction, lastPet: number): Promise<number> {
  const deleted = await tx.all(deleteOrdersOf, { upTo: lastPet });
  for (const { status, accountId } of deleted) if (isOpen(status)) countEndedLater(tx, accountId);
  return deleted.length;
}

/** Deletes pets with their reservations, and records `pet.deleted` for each. */
async function deletePets(tx: Transaction, last: number): Promise<void> {
  await tx.run(deleteReservations, { last });
  const deleted = await tx.all(deletePetsUpTo, { last });
  for (const pet of deleted) {
    updateCounts(tx, pet, -1);
    updateFacets(tx, pet, undefined);
    await updateWords(tx, pet, undefined);
  }
  await releasePhotos(tx, deleted);
  await recordEvents(
    tx,
    deleted.map(pet => petEvent('deleted', null, pet)),
  );
}

const usedHashes = query((db, p: Params<{ hashes: string }>, engine) =>
  db
    .selectFrom('photos')
    .select('hash')
    .where('hash', 'in', selectJsonTexts(p.hashes, engine))
    .where('refs', '>', sql.lit(0)),
);

const lastIds = query(db =>
  db.selectNoFrom(({ selectFrom }) => [
    selectFrom('pets')
      .select(({ fn }) => fn.max('id').as('id'))
      .as('pet'),
    selectFrom('messages')
      .select(({ fn }) => fn.max('id').as('id'))
      .as('message'),
  ]),
);

/** The rows of one batch. */
const batchOf = (table: 'pets' | 'messages') =>
  query((db, p: Params<{ upTo: number }>) =>
    db.selectFrom(table).select('id').where('id', '<=', p.upTo).orderBy('id').limit(ROWS_PER_DELETE),
  );
const firstPets = batchOf('pets');
const firstMessages = batchOf('messages');

const deletePetsUpTo = query((db, p: Params<{ last: number }>) =>
  db.deleteFrom('pets').where('id', '<=', p.last).returning(petColumns.stored()),
);

const deleteReservations = query((db, p: Params<{ last: number }>) =>
  db.deleteFrom('reservations').where('pet_id', '<=', p.last),
);

const deleteOrdersOf = query((db, p: Params<{ upTo: number }>) =>
  db
    .deleteFrom('orders')
    .where('id', 'in', eb =>
      eb
        .selectFrom('orders')
        .select('id')
        .where('pet_id', '<=', p.upTo)
        .where(({ not, exists, selectFrom }) =>
          not(exists(selectFrom('reservations').select('reservations.id').whereRef('order_id', '=', 'orders.id'))),
        )
        .orderBy('id')
        .limit(ROWS_PER_DELETE),
    )
    .returning(['status', 'account_id as accountId']),
);

/** Deletes holds without reservations: all their pets are deleted. */
const deleteEmptyHolds = query(db =>
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
      .limit(ROWS_PER_DELETE),
  ),
);
