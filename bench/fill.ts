import type { NewEvent } from '../src/events/event.ts';
import { recordAll } from '../src/events/log.ts';
import { countPets } from '../src/pets/counts.ts';
import type { PetStatus } from '../src/pets/pet.ts';
import { type Database, type Params, type Query, query, sql } from '../src/schema.ts';
import { samplePets } from '../src/seeds/pets.ts';

/**
 * Fills an empty database with animals like the sample animals: ids from 1 on, the same ones for the same number.
 *
 * In rows rather than by `createPet`, which would take longer than the measurement; the kept counters are right, and
 * the log has an event for each animal and each order.
 * @param options.orders so many of the first animals are sold, each by an order that was delivered
 * @param options.available whether all other animals are available; else as the sample animals are
 * @returns ids of animals that are available, up to 300,000 of them
 */
export async function fill(
  database: Database,
  accountId: number,
  animals: number,
  { orders = 0, available = false }: { orders?: number; available?: boolean } = {},
): Promise<number[]> {
  const samples = samplePets();
  const random = randomFrom(1);
  const counts = new Map<string, number>();
  const count = (kind: string, key: string | number) =>
    counts.set(`${kind} ${key}`, (counts.get(`${kind} ${key}`) ?? 0) + 1);
  const free: number[] = [];

  for (let done = 0; done < animals; done += ROWS) {
    const rows = Math.min(ROWS, animals - done);
    const values: Record<string, unknown> = { accountId, now: Date.now() };
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
        accountId,
        data: { pet: { name, categoryId, status } },
      });
      if (id <= orders)
        events.push({ kind: 'order', action: 'delivered', subjectId: id, accountId, data: { order: { petId: id } } });
      if (status === 'available' && free.length < FREE_MAX) free.push(id);
      count('category', categoryId);
      count('status', status);
    }
    const ordered = Math.max(0, Math.min(rows, orders - done));
    await database.write(async tx => {
      await tx.run(insertPets(rows), values as Values);
      if (ordered > 0) await tx.run(insertOrders, { first: done + 1, last: done + ordered, accountId, now: tx.now });
      if (ordered > 0) await tx.run(insertReservations, { first: done + 1, last: done + ordered });
      await recordAll(tx, events);
    });
  }
  await database.write(async tx => {
    for (const [name, pets] of counts) {
      const [kind, key] = name.split(' ') as ['status' | 'category', string];
      await tx.run(insertCount, { kind, key, pets });
    }
  });
  if ((await countPets(database, {}, 0)) !== animals) throw new Error('The store holds other animals than it should.');
  return free;
}

/**
 * Leaves deliveries to an active webhook, each about an event of the log and in a lane of its own, all due now; its
 * receiver is one that failed last.
 */
export async function fillDeliveries(
  database: Database,
  webhookId: number,
  animals: number,
  deliveries: number,
): Promise<void> {
  for (let done = 0; done < deliveries; done += animals) {
    const last = Math.min(animals, deliveries - done);
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

/** An order for each animal of a range, with the animal's id. */
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

/** Whole numbers in no order that anyone would see, the same ones for the same seed (mulberry32). */
export function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return (mixed ^ (mixed >>> 14)) >>> 0;
  };
}
