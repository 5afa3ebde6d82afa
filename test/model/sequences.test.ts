import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { type TestClock, testClock } from '../../src/lib/clock.ts';
import type { Database } from '../../src/model/schema.ts';
import { onEachEngine } from '../support/engines.ts';
import { long } from '../support/selection.ts';
import { assertHoldsAgree, assertListsAgree, assertOrdersAgree, assertPetsAgree, countOthers } from './agreement.ts';
import { apply } from './apply.ts';
import { type Command, type InitialPets, initialPets, sequence } from './commands.ts';
import { assertInvariants } from './invariants.ts';
import { emptyModel, holdAt, type Model, orderAt, petAt } from './model.ts';
import { marginsOf, openNodes } from './nodes.ts';
import type { Operation } from './operation.ts';
import { expectedErrors } from './oracle.ts';
import { perform } from './perform.ts';
import { type Callers, resolve } from './resolve.ts';
import { sweepAll, sweeps } from './sweeps.ts';

/** A failure is repeated exactly with its seed: `PETSTORE_TEST_SEED=…`. */
const given = process.env.PETSTORE_TEST_SEED;

/** Sequences run in parallel lanes, each on its own database and clock. */
const LANES = 2;
const RUNS = long ? 10_000 : 600;
/** In the short form, PostgreSQL has a time limit. */
const POSTGRES_MS = 10_000;

describe('random sequences of operations', () => {
  onEachEngine(engine => {
    it('have the same effect on the store as on the model', { timeout: long ? 7_200_000 : 300_000 }, async t => {
      const since = performance.now();
      const seeds = given === undefined ? Array.from({ length: LANES }, () => randomInt(2 ** 31)) : [Number(given)];
      const outcomes = new Map<string, number>();
      let failed = false;
      const lanes = seeds.map(async seed => {
        const clock = testClock(1_795_000_000_000);
        const [database] = (await openNodes(engine, [clock])) as [Database];
        let failing = false;
        const property = fc.asyncProperty(initialPets, sequence, async (animals, commands) => {
          // After another lane has failed, there is nothing more to find.
          if (failed && !failing) return;
          try {
            await play({ database, clock, marginMs: marginsOf(engine)[0], outcomes }, animals, commands);
          } catch (error) {
            failed = failing = true;
            throw error;
          }
        });
        const details = await fc.check(property, {
          seed,
          numRuns: RUNS / seeds.length,
          ...(engine.name === 'postgres' && !long && { interruptAfterTimeLimit: POSTGRES_MS }),
        });
        if (!details.failed) return details.numRuns;
        throw new Error(`PETSTORE_TEST_SEED=${seed}\n${await fc.asyncDefaultReportMessage(details)}`);
      });
      // All lanes must end before the databases are closed.
      await Promise.allSettled(lanes);
      const runs = (await Promise.all(lanes)).reduce((sum, one) => sum + one, 0);
      const seconds = ((performance.now() - since) / 1000).toFixed(1);
      t.diagnostic(`${runs} sequences in ${seconds} s, PETSTORE_TEST_SEED=${seeds}`);
      // With this many sequences, every possible outcome occurs.
      if (runs >= 600) assert.deepEqual(new Set(possible).difference(new Set(outcomes.keys())), new Set());
    });
  });
});

const possible = Object.entries({
  createPet: [],
  updatePet: ['pet_not_found', 'not_owner', 'precondition_failed', 'pet_reserved'],
  replacePet: ['pet_not_found', 'not_owner', 'precondition_failed', 'pet_reserved'],
  deletePet: ['pet_not_found', 'not_owner', 'precondition_failed', 'pet_reserved'],
  createHold: ['pet_not_found', 'pet_reserved', 'invalid_status_transition', 'hold_limit_exceeded', 'invalid_body'],
  extendHold: ['hold_not_found', 'not_owner', 'precondition_failed', 'hold_ended', 'invalid_body'],
  releaseHold: ['hold_not_found', 'precondition_failed', 'hold_ended'],
  placeOrder: ['pet_not_found', 'pet_reserved', 'invalid_status_transition', 'hold_not_found', 'hold_ended'],
  approveOrder: ['order_not_found', 'not_owner', 'precondition_failed', 'invalid_order_transition'],
  deliverOrder: ['order_not_found', 'not_owner', 'precondition_failed', 'invalid_order_transition'],
  cancelOrder: ['order_not_found', 'precondition_failed', 'invalid_order_transition'],
  returnOrder: ['order_not_found', 'not_owner', 'precondition_failed', 'invalid_order_transition'],
}).flatMap(([act, expected]) => [act, ...expected.map(code => `${act} ${code}`)]);

/** What the runs of a lane share. Each run has its own pets and accounts. */
interface Store {
  readonly database: Database;
  readonly clock: TestClock;
  readonly marginMs: number;
  /** The number of times that each operation had each outcome. */
  readonly outcomes: Map<string, number>;
}

interface Run extends Store {
  readonly model: Model;
  readonly callers: Callers;
  /** All pets of this run, including deleted ones. */
  readonly petIds: number[];
}

/** Few enough that a run reaches the limit. */
const HELD_MAX = 3;
const MONTH_MS = 31 * 24 * 60 * 60_000;
let accounts = 0;

/** Plays a sequence of commands on the store and on the model. */
async function play(store: Store, animals: InitialPets, commands: readonly Command[]): Promise<void> {
  const { database, clock } = store;
  const callers = [1, 2, 3, 4].map(number => ({ accountId: accounts + number, admin: number === 4 }));
  accounts += callers.length;
  const run: Run = { ...store, model: emptyModel(HELD_MAX), callers: callers as unknown as Callers, petIds: [] };
  const others = await countOthers(database, clock.now());
  try {
    for (const [owner, pet] of animals) await operate(run, { act: 'createPet', actor: run.callers[owner]!, pet });
    for (const command of commands) {
      const action = resolve(command, run.model, run.callers, clock.now());
      if (action.act === 'wait') clock.advance(action.ms);
      else if (action.act === 'sweep') await sweeps[action.what](database, clock.now());
      else if (action.act === 'compare') await assertAllAgrees();
      else await operate(run, action);
      await assertPetsAgree(database, run.model, run.petIds, clock.now());
    }
    await assertAllAgrees();
    await sweepAll(database, clock.now());
    await assertAllAgrees({ swept: true });
  } finally {
    // The next run starts without reservations that are about to expire.
    clock.advance(MONTH_MS);
    await sweepAll(database, clock.now());
  }

  async function assertAllAgrees({ swept } = { swept: false }) {
    const { model, petIds } = run;
    const now = clock.now();
    await assertHoldsAgree(database, model, run.callers, now);
    await assertOrdersAgree(database, model, run.callers, now);
    await assertListsAgree(database, model, run.callers, others, now);
    await assertInvariants(database, model, petIds, now, { swept });
  }
}

/** Runs an operation and asserts the outcome that the model predicts. */
async function operate(
  { database, clock, model, petIds, outcomes, marginMs }: Run,
  operation: Operation,
): Promise<void> {
  const now = clock.now();
  const { act } = operation;
  const expected: readonly string[] = expectedErrors(model, operation, now, marginMs);
  const outcome = await perform(database, operation, model.heldMax);
  const came = 'error' in outcome ? `${act} ${outcome.error}` : act;
  outcomes.set(came, (outcomes.get(came) ?? 0) + 1);

  const described = JSON.stringify(operation);
  if ('error' in outcome) {
    const right = expected.length === 0 ? 'succeed' : `fail with ${expected.join(' or ')}`;
    assert.ok(expected.includes(outcome.error), `failed with ${outcome.error}, must ${right}: ${described}`);
    return;
  }
  assert.deepEqual(expected, [], `succeeded, must fail: ${described}`);
  const id = 'id' in operation ? operation.id : outcome.done!.id;
  if (act === 'createPet') petIds.push(id);
  apply(model, operation, now, id);
  const seenAt = act.endsWith('Pet') ? petAt : act.endsWith('Hold') ? holdAt : orderAt;
  assert.deepEqual(outcome.done, seenAt(model, id, now), described);
}
