import type { NewEvent } from '../src/model/log/event.ts';
import { recordEvents } from '../src/model/log/log.ts';
import type { PetStatus } from '../src/model/pet.ts';
import { type Database, type Params, type Query, query, sql } from '../src/model/schema.ts';
import { samplePets } from '../src/operate/seeds/pets.ts';
import { countPets } from '../src/store/pets/counts.ts';

/**
 * Fills an empty database with pets like the sample data. Their ids start at 1; the same number gives the same pets.
 *
 * Inserts rows directly, because `createPet` would take longer than the measurement. The counters are correct, and the
 * log has an event for each pet and each order. Each million pets belong to an account, because one may have no more:
 * `accountId` and those after it.
 * @param options.orders this many of the first pets are sold, each by a delivered order
 * @param options.available whether all other pets are available; otherwise they have the status of the sample data
 * @returns ids of available pets, at most 300,000
 */
export async function fillDatabase(
  database: Database,
  accountId: number,
  pets: number,
  { orders = 0, available = false }: { orders?: number; available?: boolean } = {},
): Promise<number[]> {
  const samples = samplePets();
  const random = seededRandom(1);
  const counts = new Map<string, number>();
  const count = (kind: string, key: string | number) =>
    counts.set(`${kind} ${key}`, (counts.get(`${kind} ${key}`) ?? 0) + 1);
  const free: number[] = [];

  for (let done = 0; done < pets; done += ROWS) {
    const rows = Math.min(ROWS, pets - done);
    const ownerId = accountId + Math.floor(done / PETS_PER_ACCOUNT);
    const values: Record<string, unknown> = { accountId: ownerId, now: Date.now() };
    const events: NewEvent[] = [];
    for (let row = 0; row < rows; row++) {
      const id = done + row + 1;
      const { name, categoryId, status: usual } = samples[random() % samples.length]!;
      const status = id <= orders ? 'sold' : available ? 'available' : usual!;
      Object.assign(values, { [`name${row}`]: name, [`category${row}`]: categoryId, [`status${row}`]: status });
      events.push({
        kind: 'pet',
        action: 'created',
        subjectId: id,
        accountId: ownerId,
        data: { pet: { name, categoryId, status } },
      });
      if (id <= orders)
        events.push({
          kind: 'order',
          action: 'delivered',
          subjectId: id,
          accountId: ownerId,
          data: { order: { petId: id } },
        });
      if (status === 'available' && free.length < FREE_MAX) free.push(id);
      count('category', categoryId);
      count('status', status);
    }
    const ordered = Math.max(0, Math.min(rows, orders - done));
    await database.write(async tx => {
      await tx.run(insertPets(rows), values as Values);
      if (ordered > 0)
        await tx.run(insertOrders, { first: done + 1, last: done + ordered, accountId: ownerId, now: tx.now });
      if (ordered > 0) await tx.run(insertReservations, { first: done + 1, last: done + ordered });
      await recordEvents(tx, events);
    });
  }
  await database.write(async tx => {
    for (const [name, pets] of counts) {
      const [kind, key] = name.split(' ') as ['status' | 'category', string];
      await tx.run(insertCount, { kind, key, pets });
    }
  });
  if ((await countPets(database, {}, 0)) !== pets)
    throw new Error('The store does not hold the expected number of pets.');
  return free;
}

/**
 * Inserts deliveries of an active webhook, each with an event of the log and its own ordering key, all due now. The
 * webhook's last delivery counts as failed.
 */
export async function insertBacklog(
  database: Database,
  webhookId: number,
  pets: number,
  deliveries: number,
): Promise<void> {
  for (let done = 0; done < deliveries; done += pets) {
    const last = Math.min(pets, deliveries - done);
    await database.write(tx => tx.run(insertDeliveries, { webhookId, lane: done, last, now: tx.now }));
  }
  await database.write(tx => tx.run(failNow, { webhookId, now: tx.now }));
}

const insertDeliveries = query((db, p: Params<{ webhookId: number; lane: number; last: number; now: number }>) =>
  db
    .insertInto('deliveries')
    .columns(['webhook_id', 'place', 'type', 'lane', 'status', 'due_at', 'created_at', 'updated_at'])
    .expression(
      sql`select ${p.webhookId}, id, 'pet.created', 'pet ' || (${p.lane} + subject_id), 'pending', ${p.now}, ${p.now}, ${p.now}
        from events where kind = 'pet' and action = 'created' and subject_id <= ${p.last} order by id`,
    ),
);

const failNow = query((db, p: Params<{ webhookId: number; now: number }>) =>
  db.updateTable('webhooks').set({ failing_since: p.now, due_at: p.now }).where('id', '=', p.webhookId),
);

const ROWS = 500;
const PETS_PER_ACCOUNT = 1_000_000;
const FREE_MAX = 300_000;

type Values = { accountId: number; now: number } & Record<`name${number}`, string> &
  Record<`category${number}`, number> &
  Record<`status${number}`, PetStatus>;

const inserts = new Map<number, Query<Values, unknown>>();

function insertPets(rows: number): Query<Values, unknown> {
  let insert = inserts.get(rows);
  if (insert === undefined) {
    insert = query((db, p: Params<Values>) =>
      db.insertInto('pets').values(
        Array.from({ length: rows }, (_, row) => ({
          name: p[`name${row}`]!,
          category_id: p[`category${row}`]!,
          status: p[`status${row}`]!,
          account_id: p.accountId,
          created_at: p.now,
          updated_at: p.now,
        })),
      ),
    );
    inserts.set(rows, insert);
  }
  return insert;
}

/** Inserts an order for each pet of a range. The order gets the pet's id. */
const insertOrders = query((db, p: Params<{ first: number; last: number; accountId: number; now: number }>) =>
  db
    .insertInto('orders')
    .columns(['id', 'pet_id', 'account_id', 'owner_id', 'status', 'quantity', 'created_at', 'updated_at'])
    .expression(
      db
        .selectFrom('pets')
        .select(eb => [
          'id',
          'id as pet_id',
          'account_id',
          'account_id as owner_id',
          sql.lit('delivered').as('status'),
          eb.lit(1).as('quantity'),
          'created_at',
          'updated_at',
        ])
        .where('id', '>=', p.first)
        .where('id', '<=', p.last),
    ),
);

const insertReservations = query((db, p: Params<{ first: number; last: number }>) =>
  db
    .insertInto('reservations')
    .columns(['pet_id', 'owner_id', 'order_id', 'active'])
    .expression(
      db
        .selectFrom('orders')
        .select(eb => ['pet_id', 'owner_id', 'id as order_id', eb.lit(0).as('active')])
        .where('id', '>=', p.first)
        .where('id', '<=', p.last),
    ),
);

const insertCount = query((db, p: Params<{ kind: 'status' | 'category'; key: string; pets: number }>) =>
  db.insertInto('pet_counts').values({ kind: p.kind, key: p.key, slot: 0, pets: p.pets }),
);

/** Returns a generator of pseudo-random 32-bit integers, the same for the same seed (mulberry32). */
export function seededRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return (mixed ^ (mixed >>> 14)) >>> 0;
  };
}
