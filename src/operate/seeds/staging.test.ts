import assert from 'node:assert/strict';
import { readdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { Value } from 'typebox/value';
import { looks } from '../../../test/drawings/looks.ts';
import { onEachEngine } from '../../../test/support/engines.ts';
import { temporaryDirectory } from '../../../test/support/temporary-directory.ts';
import { eraseAccount, listAccounts, updateAccount } from '../../access/accounts/accounts.ts';
import { storedBytes } from '../../access/plans/stored-bytes.ts';
import { ageAt } from '../../model/age.ts';
import { NewOrganization } from '../../model/organization.ts';
import { NewPet } from '../../model/pet.ts';
import { DiskStore } from '../../model/photo-files/disk-store.ts';
import { directoryIn } from '../../model/photo-files/names.ts';
import { damageOf } from '../../model/photo-files/photo-copies.ts';
import { type Database, type Params, query, sql, type Transaction } from '../../model/schema.ts';
import { sendMessage } from '../../store/messages/messages.ts';
import { listOrganizations } from '../../store/organizations/list.ts';
import { updateOrganization } from '../../store/organizations/organizations.ts';
import { lockPets } from '../../store/pets/lock.ts';
import { createPet, getPet } from '../../store/pets/pets.ts';
import { reserve } from '../../store/pets/reservations.ts';
import { photoBytes, storedPhotos } from '../../store/photo-references.ts';
import { createFirstKey, ensureOwner, shelters } from './accounts.ts';
import { samplePets } from './pets.ts';
import { samplePhotos, storeSamplePhotos } from './photos.ts';
import { profileOf } from './profiles.ts';
import { resetStaging, seedStaging } from './staging.ts';

describe('the sample pets', () => {
  const pets = samplePets();

  it('number a few hundred, in the built-in categories and every status', () => {
    assert.ok(pets.length >= 300 && pets.length <= 500);
    assert.deepEqual([...new Set(pets.map(({ categoryId }) => categoryId))].sort(), [1, 2, 3, 4, 5, 6, 7, 8]);
    assert.deepEqual([...new Set(pets.map(({ status }) => status))].sort(), ['available', 'pending', 'sold']);
  });

  it('have unique names within a category and few duplicates overall', () => {
    assert.equal(new Set(pets.map(({ name, categoryId }) => `${categoryId} ${name}`)).size, pets.length);
    assert.ok(new Set(pets.map(({ name }) => name)).size > 0.9 * pets.length);
  });

  it('are mixed from the first page on', () => {
    const page = pets.slice(0, 20);
    assert.ok(new Set(page.map(({ categoryId }) => categoryId)).size >= 4);
    assert.equal(new Set(page.map(({ status }) => status)).size, 3);
  });
});

describe('the sample shelters', () => {
  it('are valid organizations', () => {
    for (const { takes: _, ...organization } of shelters) {
      assert.deepEqual(Value.Errors(NewOrganization, organization), [], organization.name);
    }
  });
});

describe('the profiles of the sample pets', () => {
  const now = Date.parse('2026-11-23T12:00:00Z');
  const profiles = samplePets().map(pet => profileOf(pet, now));

  it('are valid, always the same, and each has a description', () => {
    for (const { pet } of profiles) {
      assert.deepEqual(Value.Errors(NewPet, pet), [], pet.name);
      assert.ok(pet.description!.startsWith(pet.name));
    }
    assert.deepEqual(
      samplePets().map(pet => profileOf(pet, now)),
      profiles,
    );
    assert.ok(new Set(profiles.map(({ pet }) => pet.description)).size > 0.95 * profiles.length);
  });

  it('agree with their descriptions and photos', () => {
    const photos = samplePhotos();
    const used = new Set(profiles.map(({ kind }) => kind.photo));
    assert.deepEqual([...photos.keys()].sort(), [...used].sort());
    assert.deepEqual([...photos.keys()].sort(), Object.keys(looks).sort());
    for (const { pet, kind } of profiles) {
      assert.equal(pet.colors, kind.colors);
      assert.equal(pet.specialNeedsNotes !== undefined, pet.traits!.specialNeeds === 'yes', pet.name);
      for (const name of ['children', 'dogs', 'cats'] as const) {
        const without = new RegExp(`without [^.]*${name}`).test(pet.description!);
        assert.equal(without, pet.goodWith![name] === 'no', pet.name);
      }
    }
  });

  it('have all ages and answers', () => {
    const ages = new Set(profiles.map(({ pet }) => pet.age ?? ageAt(Date.parse(pet.birthDate ?? ''), now)));
    assert.deepEqual([...ages].sort(), ['adult', 'baby', 'senior', 'young']);
    const answers = new Set(profiles.map(({ pet }) => pet.goodWith!.dogs));
    assert.deepEqual([...answers].sort(), ['no', 'unknown', 'yes']);
  });
});

onEachEngine(engine => {
  async function setUp() {
    const accountsDatabase = await engine.open();
    const staging = await engine.open();
    return { accountsDatabase, staging };
  }

  describe('seedStaging', () => {
    it('fills staging once, half owned by the first account and half by shelters', async () => {
      const { accountsDatabase, staging } = await setUp();
      await seedStaging(accountsDatabase, staging);
      await seedStaging(accountsDatabase, staging);
      const pets = await staging.all(allPets, {});
      assert.deepEqual(
        pets.map(({ name, categoryId, status }) => ({ name, categoryId, status })),
        samplePets(),
      );
      const accounts = await listAccounts(accountsDatabase);
      assert.equal(accounts[0]!.email, 'owner@localhost');
      assert.ok(accounts.length > 3 && accounts.every(({ plan, admin }) => plan === 'free' && !admin));
      const owned = pets.filter(pet => pet.accountId === accounts[0]!.id).length;
      assert.ok(Math.abs(owned - pets.length / 2) <= 1);
      assert.ok(pets.every(pet => accounts.some(({ id }) => id === pet.accountId)));
      await assertCounted(staging);
    });

    it('publishes the organizations of the shelters, and keeps what they change', async () => {
      const { accountsDatabase, staging } = await setUp();
      await seedStaging(accountsDatabase, staging);
      const list = () => listOrganizations(staging, {}, { limit: 100 });
      const { rows } = await list();
      assert.deepEqual(
        rows.map(({ name }) => name),
        shelters.map(({ name }) => name),
      );
      const owned = await staging.all(allPets, {});
      assert.ok(rows.every(({ id }) => owned.some(({ accountId }) => accountId === id)));
      const actor = { accountId: rows[0]!.id, admin: false };
      await staging.write(tx => updateOrganization(tx, actor, actor.accountId, { name: 'Renamed' }));
      await resetStaging(accountsDatabase, staging);
      assert.equal((await list()).rows[0]!.name, 'Renamed');
    });

    it('stores a photo of each pet, and replaces missing or incomplete ones', async () => {
      const { accountsDatabase, staging } = await setUp();
      const directory = temporaryDirectory();
      const store = new DiskStore(directory);
      const seed = () => seedStaging(accountsDatabase, staging, store);
      await Promise.all([seed(), seed()]);
      const damaged = async () => {
        const found = [];
        for await (const hash of storedPhotos(staging)) found.push(await damageOf(store, hash));
        return found;
      };
      const photos = await damaged();
      assert.equal(photos.length, samplePhotos().size);
      assert.ok(photos.every(damage => damage === undefined));
      const pet = await getPet(staging, 1, Date.now());
      const [{ id, alt }] = JSON.parse(pet.photos!);
      assert.match(alt, /dog/);
      const [other] = [...samplePhotos().values()].filter(photo => photo.hash !== id);
      rmSync(directoryIn(directory, id), { recursive: true });
      truncateSync(join(directoryIn(directory, other!.hash), 'original'));
      await seed();
      assert.ok((await damaged()).every(damage => damage === undefined));
      assert.deepEqual(readdirSync(join(directory, 'drafts')), []);
      const file = join(directory, 'drafts', 'file');
      writeFileSync(file, '');
      await assert.rejects(
        storeSamplePhotos(new DiskStore(file), samplePhotos()),
        /cannot be written to .*PETSTORE_PHOTOS_DIRECTORY/,
      );
      const bytes = (await staging.all(photosOfOwner, {})).flatMap(row => JSON.parse(row.photos!));
      assert.equal(
        await photoBytes.read(staging, 1),
        bytes.reduce((sum, photo) => sum + photo.bytes, 0),
      );
      await resetStaging(accountsDatabase, staging, store);
      assert.equal((await damaged()).length, samplePhotos().size);
    });

    it('resumes after an interruption at any point', async () => {
      const { accountsDatabase, staging } = await setUp();
      let writes = 0;
      const failing = interrupted(staging, () => ++writes % 3 === 0);
      for (let attempt = 0; attempt < 20; attempt++) {
        await seedStaging(accountsDatabase, failing).catch(error => assert.equal(error.message, 'interrupted'));
      }
      assert.equal((await staging.all(allPets, {})).length, samplePets().length);
      await assertCounted(staging);
    });

    it('fills once when two processes start at the same time', async () => {
      const { accountsDatabase, staging } = await setUp();
      await Promise.all([seedStaging(accountsDatabase, staging), seedStaging(accountsDatabase, staging)]);
      assert.equal((await staging.all(allPets, {})).length, samplePets().length);
      await assertCounted(staging);
    });
  });

  describe('ensureOwner', () => {
    it('keeps the first account when its e-mail address changes, and replaces a deleted one', async () => {
      const accountsDatabase = await engine.open();
      const id = await ensureOwner(accountsDatabase);
      await accountsDatabase.write(tx => updateAccount(tx, id, { email: 'ann@example.org' }));
      assert.equal(await ensureOwner(accountsDatabase), id);
      await accountsDatabase.write(tx => eraseAccount(tx, id));
      const next = await ensureOwner(accountsDatabase);
      assert.notEqual(next, id);
      assert.equal(await ensureOwner(accountsDatabase), next);
      assert.equal((await listAccounts(accountsDatabase)).length, 2);
    });
  });

  describe('resetStaging', () => {
    it('deletes added pets and categories and continues with higher ids', async () => {
      const { accountsDatabase, staging } = await setUp();
      await seedStaging(accountsDatabase, staging);
      const create = async (tx: Transaction) => {
        for (let count = 0; count < 100; count++) await createPet(tx, 1, { name: 'Guest', categoryId: 500 }, 'open');
      };
      for (let batch = 0; batch < 7; batch++) await staging.write(create);
      const last = Math.max(...(await staging.all(allPets, {})).map(({ id }) => id));
      assert.equal(await resetStaging(accountsDatabase, staging), samplePets().length);
      const pets = await staging.all(allPets, {});
      assert.equal(pets.length, samplePets().length);
      assert.equal(pets[0]!.id, last + 1);
      assert.deepEqual(
        (await staging.all(categoryIds, {})).map(({ id }) => id),
        [1, 2, 3, 4, 5, 6, 7, 8],
      );
      await assertCounted(staging);
    });

    it('deletes holds, orders and nested categories and records the deletion of pets', async () => {
      const { accountsDatabase, staging } = await setUp();
      await seedStaging(accountsDatabase, staging);
      await staging.write(async tx => {
        await tx.run(insertCategories, {});
        const { id } = await createPet(tx, 1, { name: 'Kept', categoryId: 1002 }, 'open');
        await tx.run(insertHold, {});
        await tx.run(insertOrder, { petId: id });
        const [kept, ordered] = await lockPets(tx, [1, id]);
        const until = tx.now + 60_000;
        await reserve(tx, { ...kept!, status: 'available' }, { holdId: 1, until }, 1);
        await reserve(tx, ordered!, { orderId: 1, until: null }, 1);
      });
      const gone = (await staging.all(allPets, {})).map(({ id }) => id);
      await resetStaging(accountsDatabase, staging);
      for (const rows of [reservations, holds, orders]) assert.deepEqual(await staging.all(rows, {}), []);
      assert.deepEqual(
        (await staging.all(categoryIds, {})).map(({ id }) => id),
        [1, 2, 3, 4, 5, 6, 7, 8],
      );
      assert.deepEqual(
        (await staging.all(deletions, {})).map(({ id }) => id),
        gone,
      );
      await assertCounted(staging);
    });

    it('deletes messages and idempotent responses and continues ids and events', async () => {
      const { accountsDatabase, staging } = await setUp();
      await seedStaging(accountsDatabase, staging);
      const send = () => staging.write(tx => sendMessage(tx, { accountId: 1, admin: false }, { message: 'Hello' }));
      for (let count = 0; count < 250; count++) await send();
      await staging.write(async tx => {
        await tx.run(insertAttempt, {});
        await tx.run(insertResponses, { at: tx.now });
        await tx.run(insertResponses, { at: tx.now + 60_000 });
      });
      const events = (await staging.all(eventIds, {})).map(({ id }) => id);
      await resetStaging(accountsDatabase, staging);
      assert.deepEqual(await staging.all(messages, {}), []);
      assert.deepEqual(await staging.all(attempts, {}), []);
      // Responses to requests after the reset began stay, so that retries do not repeat the requests.
      const responses = await staging.all(responseTimes, {});
      assert.equal(responses.length, 1500);
      assert.equal(new Set(responses.map(({ at }) => at)).size, 1);
      assert.equal((await send()).id, 251);
      const after = (await staging.all(eventIds, {})).map(({ id }) => id);
      assert.deepEqual(after.slice(0, events.length), events);
      assert.ok(after[events.length]! > events.at(-1)!);
    });

    it('keeps a message that is sent during the reset', async () => {
      const { accountsDatabase, staging } = await setUp();
      await seedStaging(accountsDatabase, staging);
      const send = (tx: Transaction, message: string) => sendMessage(tx, { accountId: 1, admin: false }, { message });
      await staging.write(tx => send(tx, 'Early'));
      let sent = false;
      const busy: Database = {
        ...bound(staging),
        async write(work) {
          const result = await staging.write(work);
          if (!sent) {
            sent = true;
            await staging.write(tx => send(tx, 'Late'));
          }
          return result;
        },
      };
      await resetStaging(accountsDatabase, busy);
      assert.deepEqual(await staging.all(messages, {}), [{ text: 'Late' }]);
      assert.equal(await storedBytes.read(staging, 1), 'Late'.length);
    });

    it('completes a reset that an earlier release started', async () => {
      const { accountsDatabase, staging } = await setUp();
      await seedStaging(accountsDatabase, staging);
      await staging.write(tx => tx.run(setProgress, { value: 'removing 10' }));
      await seedStaging(accountsDatabase, staging);
      const pets = await staging.all(allPets, {});
      assert.deepEqual([pets.length, pets[0]!.id], [2 * samplePets().length - 10, 11]);
    });

    it('is completed by the next start after an interruption', async () => {
      const { accountsDatabase, staging } = await setUp();
      await seedStaging(accountsDatabase, staging);
      let writes = 0;
      const failing = interrupted(staging, () => ++writes > 2);
      await assert.rejects(resetStaging(accountsDatabase, failing), /interrupted/);
      await seedStaging(accountsDatabase, staging);
      const pets = await staging.all(allPets, {});
      assert.deepEqual([pets.length, pets[0]!.id], [samplePets().length, samplePets().length + 1]);
      await assertCounted(staging);
    });

    it('keeps a pet that is created during the reset', async () => {
      const { accountsDatabase, staging } = await setUp();
      await seedStaging(accountsDatabase, staging);
      let added = false;
      const busy: Database = {
        ...bound(staging),
        async write(work) {
          const result = await staging.write(work);
          if (!added) {
            added = true;
            await staging.write(tx => createPet(tx, 1, { name: 'Late', categoryId: 77 }, 'open'));
          }
          return result;
        },
      };
      await resetStaging(accountsDatabase, busy);
      const late = (await staging.all(allPets, {})).filter(({ name }) => name === 'Late');
      assert.equal(late.length, 1);
      assert.ok((await staging.all(categoryIds, {})).some(({ id }) => id === 77));
      await assertCounted(staging);
    });
  });

  describe('createFirstKey', () => {
    it('creates one key for staging, the first time', async () => {
      const { accountsDatabase, staging } = await setUp();
      await seedStaging(accountsDatabase, staging);
      assert.equal((await createFirstKey(accountsDatabase, 1))?.deployment, 'staging');
      assert.equal(await createFirstKey(accountsDatabase, 1), undefined);
    });
  });
});

/** Returns a database that rolls back every write for which `fails` returns true. */
function interrupted(database: Database, fails: () => boolean): Database {
  return {
    ...bound(database),
    write: <T>(work: (tx: Transaction) => T | Promise<T>) =>
      database.write(async tx => {
        const result = await work(tx);
        if (fails()) throw new Error('interrupted');
        return result;
      }),
  };
}

function bound(database: Database): Database {
  return {
    engine: database.engine,
    all: (...args) => database.all(...args),
    first: (...args) => database.first(...args),
    write: work => database.write(work),
    readTimestamp: now => database.readTimestamp(now),
    dataVersion: table => database.dataVersion(table),
    topicVersion: topic => database.topicVersion(topic),
    health: () => database.health(),
    close: () => database.close(),
  };
}

/** Asserts that the counters equal the number of pets. */
async function assertCounted(database: Database): Promise<void> {
  const pets = await database.all(allPets, {});
  const expected = new Map<string, number>();
  for (const { status, categoryId, accountId } of pets) {
    for (const key of [`status ${status}`, `category ${categoryId}`, `owner ${accountId}`])
      expected.set(key, (expected.get(key) ?? 0) + 1);
  }
  const kept = new Map<string, number>();
  for (const row of await database.all(counts, {})) {
    if (row.kind === 'trait') continue;
    const key = `${row.kind} ${row.key}`;
    kept.set(key, (kept.get(key) ?? 0) + row.pets);
  }
  for (const [key, value] of kept) if (value === 0) kept.delete(key);
  assert.deepEqual(new Map([...kept].sort()), new Map([...expected].sort()));
}

const allPets = query(db =>
  db
    .selectFrom('pets')
    .select(['id', 'name', 'category_id as categoryId', 'status', 'account_id as accountId'])
    .orderBy('id'),
);

const photosOfOwner = query(db => db.selectFrom('pets').select('photos').where('account_id', '=', 1));

const categoryIds = query(db => db.selectFrom('categories').select('id').orderBy('id'));

const insertCategories = query(db =>
  db.insertInto('categories').values(
    [1001, 1002].map(id => ({
      id,
      name: 'Otters',
      slug: `otters-${id}`,
      parent_id: id === 1002 ? 1001 : null,
      placeholder: 0,
      created_at: 0,
      updated_at: 0,
    })),
  ),
);

const insertHold = query(db =>
  db.insertInto('holds').values({ account_id: 1, expires_at: 0, created_at: 0, updated_at: 0 }),
);

const insertOrder = query((db, p: Params<{ petId: number }>) =>
  db.insertInto('orders').values({
    pet_id: p.petId,
    account_id: 1,
    owner_id: 1,
    status: 'placed',
    quantity: 1,
    created_at: 0,
    updated_at: 0,
  }),
);

const reservations = query(db => db.selectFrom('reservations').select('id'));
const holds = query(db => db.selectFrom('holds').select('id'));
const orders = query(db => db.selectFrom('orders').select('id'));
const deletions = query(db =>
  db
    .selectFrom('events')
    .select('subject_id as id')
    .where('kind', '=', 'pet')
    .where('action', '=', 'deleted')
    .orderBy('id'),
);

const messages = query(db => db.selectFrom('messages').select('text').orderBy('id'));
const attempts = query(db => db.selectFrom('message_attempts').selectAll());
const eventIds = query(db => db.selectFrom('events').select('id').orderBy('id'));
const responseTimes = query(db => db.selectFrom('idempotency').select('created_at as at'));

const insertAttempt = query(db =>
  db.insertInto('message_attempts').values({ message_id: 7, number: 1, at: 0, outcome: 'delivered', reason: null }),
);

/** Inserts more responses than one transaction deletes. */
const insertResponses = query((db, p: Params<{ at: number }>) =>
  db
    .insertInto('idempotency')
    .columns(['account_id', 'key', 'fingerprint', 'body', 'created_at'])
    .expression(
      db
        .selectFrom('pets as one')
        .crossJoin('pets as other')
        .select([
          sql<number>`1`.as('account_id'),
          sql<string>`one.id || '.' || other.id || '.' || cast(${p.at} as bigint)`.as('key'),
          sql<string>`''`.as('fingerprint'),
          sql<string>`''`.as('body'),
          sql<number>`cast(${p.at} as bigint)`.as('created_at'),
        ])
        .where('other.id', '<=', 4)
        .orderBy('one.id')
        .limit(1500),
    ),
);

const setProgress = query((db, p: Params<{ value: string }>) =>
  db.updateTable('facts').set({ value: p.value }).where('name', '=', 'samples'),
);

const counts = query(db => db.selectFrom('pet_counts').selectAll());
