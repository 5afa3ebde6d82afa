import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { describe, it, type TestContext } from 'node:test';
import { type Clock, type TestClock, testClock } from '../../src/lib/clock.ts';
import { Problem } from '../../src/lib/http/problem.ts';
import { formatTime } from '../../src/lib/time.ts';
import type { Pet, PetStatus } from '../../src/model/pet.ts';
import { type Database, type Params, query } from '../../src/model/schema.ts';
import { getHold } from '../../src/store/holds/holds.ts';
import { getOrder } from '../../src/store/orders/orders.ts';
import { changedPets } from '../../src/store/pets/changed.ts';
import { countByStatus } from '../../src/store/pets/counts.ts';
import { getPet } from '../../src/store/pets/pets.ts';
import { type Engine, onEachEngine, onPostgres } from '../support/engines.ts';
import { long } from '../support/selection.ts';
import { assertHoldsAgree, assertListsAgree, assertOrdersAgree, assertPetsAgree, countOthers } from './agreement.ts';
import { apply } from './apply.ts';
import { assertInvariants } from './invariants.ts';
import { assertLinearizable } from './linearizability.ts';
import { emptyModel, petAt } from './model.ts';
import { marginsOf, openNodes } from './nodes.ts';
import type { HoldView, Operation, OrderView, PetView } from './operation.ts';
import { holdView, orderView, perform, petView } from './perform.ts';
import { type Known, type Random, randomFrom, randomRequest } from './requests.ts';
import type { Callers } from './resolve.ts';
import type { AnyEvent, Attempt, Read } from './steps.ts';
import { sweepAll, sweeps } from './sweeps.ts';

/** A seed repeats the requests, but not their timing. */
const given = process.env.PETSTORE_TEST_SEED;

const CALLERS = 12;
const OPERATIONS = 10;
const PETS = 4;
/** Few enough that two holds of an account reach the limit. */
const HELD_MAX = 2;
const WEEK_MS = 7 * 24 * 60 * 60_000;
const ROUNDS = long ? 3000 : 300;
/** The time limit of all rounds together. */
const ROUNDS_MS = long ? 1_200_000 : 8_000;

describe('concurrent callers', () => {
  onEachEngine(engine => {
    it('get responses that some sequential order explains', { timeout: 2 * ROUNDS_MS + 60_000 }, t =>
      rounds(t, engine, { aheadMs: 0, forMs: ROUNDS_MS }),
    );
  });

  onPostgres(engine => {
    it('get such responses even if the clocks of two nodes differ', { timeout: 2 * ROUNDS_MS + 60_000 }, t =>
      rounds(t, engine, { aheadMs: 700, forMs: ROUNDS_MS / 2 }),
    );
  });
});

/** Plays rounds until the time limit. */
async function rounds(
  t: TestContext,
  engine: Engine,
  { aheadMs, forMs }: { readonly aheadMs: number; readonly forMs: number },
): Promise<void> {
  const clock = testClock(1_795_000_000_000);
  const ahead: Clock = { now: () => clock.now() + aheadMs };
  const seed = given === undefined ? randomInt(2 ** 31) : Number(given);
  const nodes = await openNodes(engine, [clock, ahead]);
  const store: Store = { nodes, margins: marginsOf(engine), clock, aheadMs, random: randomFrom(seed) };

  const since = performance.now();
  let played = 0;
  while (played < ROUNDS && performance.now() - since < forMs) {
    played++;
    try {
      await round(store);
    } catch (error) {
      (error as Error).message = `PETSTORE_TEST_SEED=${seed}, round ${played}: ${(error as Error).message}`;
      throw error;
    }
  }
  const seconds = ((performance.now() - since) / 1000).toFixed(1);
  t.diagnostic(`${played} rounds in ${seconds} s, PETSTORE_TEST_SEED=${seed}`);
}

interface Store {
  readonly nodes: readonly Database[];
  /** For each node, how long before an expiry it rejects changes. */
  readonly margins: readonly number[];
  /** The clock of the first node. That of the second is ahead. */
  readonly clock: TestClock;
  readonly aheadMs: number;
  readonly random: Random;
}

let accountsBefore = 0;

async function round(store: Store): Promise<void> {
  const { nodes, clock, aheadMs, random } = store;
  const [database] = nodes as [Database];
  const accounts = Array.from({ length: 5 }, (_, index) => ({ accountId: ++accountsBefore, admin: index === 4 }));
  const callers = accounts.slice(0, 4) as unknown as Callers;
  const known: Known = { accounts, petIds: [], holds: [], orders: [], ends: new Set(), moment: 0 };
  const others = await countOthers(database, clock.now());
  const model = emptyModel(HELD_MAX);
  for (let number = 0; number < PETS; number++) {
    const actor = accounts[number % 3]!;
    const pet = { name: 'Minka', categoryId: 1 + random(3), price: { amount: 100 * random(3), currency: 'EUR' } };
    const operation: Operation = { act: 'createPet', actor, pet };
    const outcome = await perform(database, operation, HELD_MAX);
    const { id } = (outcome as { done: PetView }).done;
    apply(model, operation, clock.now(), id);
    known.petIds.push(id);
  }

  const { last } = (await database.first(lastEvent, {}))!;
  const attempts: Attempt[] = [];
  const mirror = mirrorOf(nodes.at(-1)!, clock);
  await mirror.follow();
  const work = async (number: number) => {
    // Each change by the CLI is flushed separately, so most callers use the server.
    const nodeIndex = number % (database.engine === 'sqlite' ? 6 : 2) === 1 ? 1 : 0;
    const node = nodes[nodeIndex]!;
    const nowOf = () => clock.now() + nodeIndex * aheadMs;
    for (let times = 0; times < OPERATIONS; times++) {
      // While all pets are available, many callers want them.
      const request = randomRequest(random, known, accounts[number % accounts.length]!, nowOf(), times === 0);
      if (request.act === 'wait') clock.advance(request.ms);
      else if (request.act === 'sweep') await sweeps[request.what](node, nowOf());
      else attempts.push(await attempt(nodeIndex, store, known, others.status, request, nowOf()));
    }
  };
  const follow = async () => {
    for (let times = 0; times < OPERATIONS / 2; times++) await mirror.follow();
  };
  const all = [...Array.from({ length: CALLERS }, (_, number) => work(number)), follow()];
  await Promise.allSettled(all);
  await Promise.all(all);
  const events = (await database.all(eventsAfter, { last })).map(event => ({ ...event, data: JSON.parse(event.data) }));
  assertLinearizable(model, attempts, events as AnyEvent[]);

  await assertAgrees();
  // Finally, everything that can expire has expired.
  clock.advance(2 * WEEK_MS);
  await sweepAll(database, clock.now());
  await assertAgrees({ swept: true });
  await assertListsAgree(database, model, callers, others, clock.now());
  await mirror.follow();
  const present = known.petIds.flatMap(id => petAt(model, id, clock.now()) ?? []);
  assert.deepEqual(
    known.petIds.flatMap(id => mirror.pets.get(id) ?? []),
    present.map(({ id, name, categoryId, status }) => ({ id, name, categoryId, status })),
    'the pets of the mirror',
  );

  async function assertAgrees({ swept } = { swept: false }) {
    const now = clock.now();
    await assertPetsAgree(database, model, known.petIds, now);
    await assertHoldsAgree(database, model, callers, now);
    await assertOrdersAgree(database, model, callers, now);
    await assertInvariants(database, model, known.petIds, now, { swept });
  }
}

/** A copy of all pets that follows the changes. */
function mirrorOf(database: Database, clock: Clock) {
  const pets = new Map<number, Pet>();
  const beginning = formatTime(clock.now());
  let updatedSince = beginning;
  async function follow() {
    let cursor: string | undefined;
    do {
      const page = await changedPets(
        database,
        { updatedSince, includeRemoved: true },
        { limit: 100, cursor },
        clock.now(),
      );
      for (const pet of page.rows) {
        if ('deletedAt' in pet) pets.delete(pet.id);
        else pets.set(pet.id, pet);
      }
      cursor = page.next;
      updatedSince = page.token ?? updatedSince;
    } while (cursor !== undefined);
  }
  return {
    pets,
    async follow() {
      try {
        await follow();
      } catch (error) {
        // A mirror that is outdated for a month starts over.
        if ((error as { code?: unknown }).code !== 'sync_token_expired') throw error;
        pets.clear();
        updatedSince = beginning;
        await follow();
      }
    },
  };
}

/** Runs an operation or a read, and records its time and outcome. Rethrows unexpected errors. */
async function attempt(
  nodeIndex: number,
  { nodes, margins, clock, aheadMs }: Store,
  known: Known,
  others: Record<PetStatus, number>,
  operation: Operation | Read,
  now: number,
): Promise<Attempt> {
  const node = nodes[nodeIndex]!;
  const began = ++known.moment;
  const reads = /^(get|count)/.test(operation.act);
  const fromMs = reads ? node.readTimestamp(now) : now;
  const outcome = await (reads
    ? read(node, operation as Read, others, fromMs)
    : perform(node, operation as Operation, HELD_MAX));
  // Changes of another node, by its clock, are visible here, too.
  const toMs = reads ? fromMs : clock.now() + aheadMs;
  const ended = ++known.moment;
  if ('done' in outcome && !reads) {
    if (operation.act === 'createHold') known.holds.push(outcome.done as HoldView);
    if (operation.act === 'createPet') known.petIds.push((outcome.done as PetView).id);
    if (operation.act === 'placeOrder') known.orders.push(outcome.done as OrderView);
  }
  return { operation, outcome, began, ended, fromMs, toMs, marginMs: margins[nodeIndex]! };
}

async function read(
  node: Database,
  request: Read,
  others: Record<PetStatus, number>,
  now: number,
): Promise<Attempt['outcome']> {
  try {
    if (request.act === 'getPet') return { done: petView(await getPet(node, request.id, now)) };
    if (request.act === 'getHold') return { done: holdView(await getHold(node, request.actor, request.id, now)) };
    if (request.act === 'getOrder') return { done: orderView(await getOrder(node, request.actor, request.id, now)) };
    const counts = await countByStatus(node, now);
    for (const status of ['available', 'pending', 'sold'] as const) counts[status] -= others[status];
    return { done: counts };
  } catch (error) {
    if (error instanceof Problem) return { error: error.code };
    throw error;
  }
}

const lastEvent = query(db => db.selectFrom('events').select(eb => eb.fn.max('id').as('last')));

const eventsAfter = query((db, p: Params<{ last: number }>) =>
  db
    .selectFrom('events')
    .select(['id', 'at', 'kind', 'action', 'subject_id as subjectId', 'account_id as accountId', 'data'])
    .where('id', '>', p.last)
    .orderBy('id'),
);
