import { countPets } from '../src/pets/pets.ts';
import { sampleAnimals } from '../src/samples/animals.ts';
import { type Database, type Params, type PetStatus, type Query, query } from '../src/schema.ts';

/**
 * Fills an empty database with animals like the sample animals: ids from 1 on, the same ones for the same number.
 *
 * In rows rather than by `createPet`, which would take longer than the measurement; the kept counters are right.
 */
export async function fill(database: Database, accountId: number, animals: number): Promise<void> {
  const samples = sampleAnimals();
  const random = randomFrom(1);
  const counts = new Map<string, number>();
  const count = (kind: string, key: string | number) =>
    counts.set(`${kind} ${key}`, (counts.get(`${kind} ${key}`) ?? 0) + 1);

  for (let done = 0; done < animals; done += ROWS) {
    const rows = Math.min(ROWS, animals - done);
    const values: Record<string, unknown> = { accountId, now: Date.now() };
    for (let row = 0; row < rows; row++) {
      const { name, categoryId, status } = samples[random() % samples.length]!;
      Object.assign(values, { [`name${row}`]: name, [`category${row}`]: categoryId, [`status${row}`]: status });
      count('category', categoryId);
      count('status', status);
    }
    await database.write(tx => tx.run(insertPets(rows), values as Values));
  }
  await database.write(async tx => {
    for (const [name, pets] of counts) {
      const [kind, key] = name.split(' ') as ['status' | 'category', string];
      await tx.run(insertCount, { kind, key, pets });
    }
  });
  if ((await countPets(database, {})) !== animals) throw new Error('The store holds other animals than it should.');
}

const ROWS = 500;

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
