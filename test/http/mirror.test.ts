import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { type TestClock, testClock } from '../../src/lib/clock.ts';
import { Problem } from '../../src/lib/http/problem.ts';
import { StorageError } from '../../src/lib/storage/database.ts';
import { formatTime } from '../../src/lib/time.ts';
import { operator } from '../../src/model/log/event.ts';
import type { FullPet } from '../../src/model/pet.ts';
import { type Database, type Params, query, sql, type Transaction } from '../../src/model/schema.ts';
import { createHold } from '../../src/store/holds/holds.ts';
import { changedPets } from '../../src/store/pets/changed.ts';
import { listPets } from '../../src/store/pets/list.ts';
import { createPet, deletePet, updatePet } from '../../src/store/pets/pets.ts';
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
      // The remaining holds expire, and only the mirrors read the pets.
      clock.advance(10_000);

      for (const mirror of mirrors) await assertHasAll(mirror, mirrored, clock);
      const [mirror] = mirrors as [Mirror];
      assert.ok(mirror.animals().length > 0 && mirror.removed.size > 0, 'the mirror has pets, and has seen removals');
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

/** Keeps a copy like an external client, from pages and sync tokens only. */
class Mirror {
  readonly #animals = new Map<number, FullPet>();
  readonly removed = new Set<number>();
  #since = '1970-01-01T00:00:00Z';
  pages = 0;

  animals(): FullPet[] {
    return [...this.#animals.values()].sort((a, b) => a.id - b.id);
  }

  /** Reads to the end of the list. After an interruption, the next call starts from the same token. */
  async follow(database: Database, clock: TestClock, { breaksOff = false } = {}): Promise<void> {
    const filter = { updatedSince: this.#since, includeRemoved: true };
    const limit = 1 + Math.floor(Math.random() * 30);
    const seen = new Set<number>();
    for (let cursor: string | undefined; ; ) {
      const page = await changedPets(database, filter, { limit, cursor }, Math.floor(clock.now()), 'full');
      this.pages++;
      assert.ok(page.rows.length <= limit);
      for (const pet of page.rows) {
        assert.ok(!seen.has(pet.id), `animal ${pet.id} is in a list twice`);
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

/** A mirror may have to read again until the event log is in order. */
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
  const location = await engine.newLocation();
  const open = (role: 'server' | 'cli') => engine.open({ location, clock, role });
  const mirrored = await open('server');
  if (engine.name === 'sqlite') return { databases: [mirrored, await open('cli')], mirrored };
  return { databases: [await open('server'), await open('server'), await open('server')], mirrored };
}

/** Creates, changes, holds and deletes pets. On PostgreSQL, each transaction waits before its commit. */
async function write(database: Database, clock: TestClock): Promise<void> {
  for (let change = 0; change < CHANGES_EACH; change++) {
    const work = anyChange(clock);
    try {
      await database.write(async tx => {
        await work(tx);
        if (tx.engine === 'postgres') await tx.first(sleep, { seconds: Math.random() ** 4 * 0.15 });
      });
    } catch (error) {
      // Expected: other writers hold, sell or delete the pet, or a busy machine has no free connection.
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

/** Returns the id of a pet that may exist. */
async function anyId(tx: Transaction): Promise<number> {
  const { last } = (await tx.first(lastId, {}))!;
  return Math.max(1, (last ?? 0) - Math.floor(Math.random() * 60));
}

const lastId = query(db => db.selectFrom('pets').select(eb => eb.fn.max<number | null>('id').as('last')));

const sleep = query((db, p: Params<{ seconds: number }>) => db.selectNoFrom(sql`pg_sleep(${p.seconds})`.as('slept')));
