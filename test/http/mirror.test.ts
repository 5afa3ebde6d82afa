import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { operator } from '../../src/events/event.ts';
import { createHold } from '../../src/holds/holds.ts';
import { type TestClock, testClock } from '../../src/lib/clock.ts';
import { Problem } from '../../src/lib/http/problem.ts';
import { StorageError } from '../../src/lib/storage/database.ts';
import { formatTime } from '../../src/lib/time.ts';
import { changedPets } from '../../src/pets/changed.ts';
import { listPets } from '../../src/pets/list.ts';
import type { FullPet } from '../../src/pets/pet.ts';
import { createPet, deletePet, updatePet } from '../../src/pets/pets.ts';
import { type Database, type Params, query, sql, type Transaction } from '../../src/schema.ts';
import { type Engine, onEachEngine } from '../support/engines.ts';
import { long } from '../support/selection.ts';

const WRITERS = 60;
const CHANGES_EACH = long ? 60 : 15;
const HOLDERS = [101, 102, 103, 104, 105, 106, 107, 108];

describe('a mirror', () => {
  onEachEngine(engine => {
    it('ends up identical to the store under concurrent writers and late commits', async t => {
      const clock = testClock(Date.parse('2026-11-20T12:00:00Z'));
      const { databases, mirrored } = await openSeveral(engine, clock);
      let writing = true;
      const written = Promise.all(
        Array.from({ length: WRITERS }, (_, index) => write(databases[index % databases.length]!, clock)),
      ).finally(() => {
        writing = false;
      });

      const mirrors = [new Mirror(), new Mirror(), new Mirror()];
      await Promise.all([
        written,
        ...mirrors.map(async mirror => {
          while (writing) {
            await mirror.follow(mirrored, clock, { breaksOff: Math.random() < 0.2 });
            await setImmediate();
          }
        }),
      ]);
      // What is held yet runs out, and nobody but the mirrors asks for it.
      clock.advance(10_000);

      for (const mirror of mirrors) await assertHasAll(mirror, mirrored, clock);
      const [mirror] = mirrors as [Mirror];
      assert.ok(mirror.animals().length > 0 && mirror.removed.size > 0, 'some are there, and some were taken out');
      assert.ok(
        mirror.animals().every(({ status }) => status !== 'pending'),
        'nothing is on hold any more',
      );
      t.diagnostic(
        `${mirror.animals().length} animals, ${mirror.removed.size} removed; pages read: ${mirrors.map(({ pages }) => pages)}`,
      );
    });

    it('is complete if it starts after all writes', async () => {
      const clock = testClock(Date.parse('2026-11-20T12:00:00Z'));
      const { databases, mirrored } = await openSeveral(engine, clock);
      await Promise.all(databases.map(database => write(database, clock)));
      clock.advance(10_000);
      const mirror = new Mirror();
      await assertHasAll(mirror, mirrored, clock);
    });
  });
});

/** Keeps a copy as a program of somebody else would: pages and tokens are all it knows. */
class Mirror {
  readonly #animals = new Map<number, FullPet>();
  readonly removed = new Set<number>();
  #since = '1970-01-01T00:00:00Z';
  pages = 0;

  animals(): FullPet[] {
    return [...this.#animals.values()].sort((a, b) => a.id - b.id);
  }

  /** Reads on to the end; where it breaks off amid it, it begins next time where it began this time. */
  async follow(database: Database, clock: TestClock, { breaksOff = false } = {}): Promise<void> {
    const filter = { updatedSince: this.#since, includeRemoved: true };
    const limit = 1 + Math.floor(Math.random() * 30);
    const seen = new Set<number>();
    for (let cursor: string | undefined; ; ) {
      const page = await changedPets(database, filter, { limit, cursor }, Math.floor(clock.now()), 'full');
      this.pages++;
      assert.ok(page.rows.length <= limit);
      for (const pet of page.rows) {
        assert.ok(!seen.has(pet.id), `animal ${pet.id} comes once in a list`);
        seen.add(pet.id);
        if ('deletedAt' in pet) this.#remove(pet.id);
        else this.#take(pet);
      }
      if (page.token !== undefined) {
        this.#since = page.token;
        return;
      }
      if (breaksOff) return;
      cursor = page.next;
    }
  }

  #take(pet: FullPet): void {
    assert.ok(!this.removed.has(pet.id), `animal ${pet.id} does not come back`);
    const known = this.#animals.get(pet.id);
    if (known) assert.ok(versionOf(pet) >= versionOf(known), `${pet.etag} comes after ${known.etag}`);
    this.#animals.set(pet.id, pet);
  }

  #remove(id: number): void {
    this.#animals.delete(id);
    this.removed.add(id);
  }
}

function versionOf({ etag }: FullPet): number {
  return Number(/\.(\d+)"$/.exec(etag)![1]);
}

/** Where the log takes long to be put in order, a mirror may have to ask again. */
async function assertHasAll(mirror: Mirror, database: Database, clock: TestClock): Promise<void> {
  const all = await everything(database, clock);
  for (let turn = 1; turn <= 20 && !isDeepStrictEqual(mirror.animals(), all); turn++) {
    await mirror.follow(database, clock);
  }
  assert.deepEqual(mirror.animals(), all);
}

async function everything(database: Database, clock: TestClock): Promise<FullPet[]> {
  const all: FullPet[] = [];
  for (let cursor: string | undefined; ; ) {
    const page = await listPets(database, { sort: 'id' }, { limit: 100, cursor }, Math.floor(clock.now()), 'full');
    all.push(...page.rows);
    if (page.next === undefined) return all;
    cursor = page.next;
  }
}

/** The same store several times: nodes, or embedded one server and one command; mirrors have one for themselves. */
async function openSeveral(
  engine: Engine,
  clock: TestClock,
): Promise<{ databases: readonly Database[]; mirrored: Database }> {
  const place = await engine.place();
  const open = (role: 'server' | 'cli') => engine.open({ place, clock, role });
  const mirrored = await open('server');
  if (engine.name === 'sqlite') return { databases: [mirrored, await open('cli')], mirrored };
  return { databases: [await open('server'), await open('server'), await open('server')], mirrored };
}

/** One who adds, changes, holds and takes out animals; on PostgreSQL each transaction waits before it is committed. */
async function write(database: Database, clock: TestClock): Promise<void> {
  for (let change = 0; change < CHANGES_EACH; change++) {
    const work = anyChange(clock);
    try {
      await database.write(async tx => {
        await work(tx);
        if (tx.engine === 'postgres') await tx.first(sleep, { seconds: Math.random() ** 4 * 0.15 });
      });
    } catch (error) {
      // Animals are held, sold or gone meanwhile, and a busy machine has no connection in time; that is as it should be.
      const refused = error instanceof Problem ? error.status < 500 : isUnavailable(error);
      if (!refused) throw error;
    }
    clock.advance(Math.floor(Math.random() * 40));
  }
}

function isUnavailable(error: unknown): boolean {
  return error instanceof StorageError && error.reason === 'unavailable';
}

function anyChange(clock: TestClock): (tx: Transaction) => Promise<unknown> {
  const dice = Math.random();
  const name = `Pet ${Math.random()}`;
  const categoryId = 1 + Math.floor(Math.random() * 12);
  if (dice < 0.3) return tx => createPet(tx, 1, { name, categoryId }, 'open');
  if (dice < 0.6) return async tx => updatePet(tx, operator, await anyId(tx), { name, categoryId }, 'open');
  if (dice < 0.7) return async tx => updatePet(tx, operator, await anyId(tx), { status: 'available' }, 'open');
  if (dice < 0.85) return async tx => deletePet(tx, operator, await anyId(tx));
  const accountId = HOLDERS[Math.floor(Math.random() * HOLDERS.length)]!;
  const expiresAt = formatTime(Math.floor(clock.now()) + 1500 + Math.floor(Math.random() * 3000));
  return async tx => {
    const petIds = [...new Set([await anyId(tx), await anyId(tx)])];
    return createHold(tx, { accountId, admin: false }, { petIds, expiresAt }, 1000);
  };
}

/** The id of an animal that may be there. */
async function anyId(tx: Transaction): Promise<number> {
  const { last } = (await tx.first(lastId, {}))!;
  return Math.max(1, (last ?? 0) - Math.floor(Math.random() * 60));
}

const lastId = query(db => db.selectFrom('pets').select(eb => eb.fn.max<number | null>('id').as('last')));

const sleep = query((db, p: Params<{ seconds: number }>) => db.selectNoFrom(sql`pg_sleep(${p.seconds})`.as('slept')));
