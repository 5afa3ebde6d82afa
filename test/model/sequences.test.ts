import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { type TestClock, testClock } from '../../src/lib/clock.ts';
import type { Database } from '../../src/schema.ts';
import { onEachEngine } from '../support/engines.ts';
import { long } from '../support/selection.ts';
import { assertHoldsAgree, assertListsAgree, assertOrdersAgree, assertPetsAgree, countOthers } from './agreement.ts';
import { apply } from './apply.ts';
import { type Command, type Herd, herd, sequence } from './commands.ts';
import { judge } from './judge.ts';
import { emptyModel, holdAt, type Model, orderAt, petAt } from './model.ts';
import { marginsOf, openNodes } from './nodes.ts';
import type { Operation } from './operation.ts';
import { perform } from './perform.ts';
import { type Callers, resolve } from './resolve.ts';
import { assertStorageIsSound } from './soundness.ts';
import { sweepAll, sweeps } from './sweeps.ts';

/** What fails is repeated exactly by the seed that is told then: `PETSTORE_TEST_SEED=…`. */
const given = process.env.PETSTORE_TEST_SEED;

/** Sequences run beside each other, each lane on a database and a clock of its own: one waits while another works. */
const LANES = 2;
const RUNS = long ? 10_000 : 600;
/** In the short form PostgreSQL takes as many as there is time for. */
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
        const property = fc.asyncProperty(herd, sequence, async (animals, commands) => {
          // Where another lane has failed there is nothing more to find.
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
      // A lane that is left alone would go on with a database that is closed.
      await Promise.allSettled(lanes);
      const runs = (await Promise.all(lanes)).reduce((sum, one) => sum + one, 0);
      const seconds = ((performance.now() - since) / 1000).toFixed(1);
      t.diagnostic(`${runs} sequences in ${seconds} s, PETSTORE_TEST_SEED=${seeds}`);
      // Among so many, whatever can come of an operation did.
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
}).flatMap(([act, refusals]) => [act, ...refusals.map(code => `${act} ${code}`)]);

/** What the runs of a lane share; each has animals and accounts of its own. */
interface Store {
  readonly database: Database;
  readonly clock: TestClock;
  readonly marginMs: number;
  /** How often each operation came to each outcome. */
  readonly outcomes: Map<string, number>;
}

interface Run extends Store {
  readonly model: Model;
  readonly callers: Callers;
  /** Every animal that ever was in this run. */
  readonly petIds: number[];
}

/** Few enough that a run meets the limit. */
const HELD_MAX = 3;
const MONTH_MS = 31 * 24 * 60 * 60_000;
let accounts = 0;

/** Plays one sequence of commands, on the store and on a model. */
async function play(store: Store, animals: Herd, commands: readonly Command[]): Promise<void> {
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
      else if (action.act === 'look') await assertAllAgrees();
      else await operate(run, action);
      await assertPetsAgree(database, run.model, run.petIds, clock.now());
    }
    await assertAllAgrees();
    await sweepAll(database, clock.now());
    await assertAllAgrees({ swept: true });
  } finally {
    // The next run begins with nothing that is about to run out.
    clock.advance(MONTH_MS);
    await sweepAll(database, clock.now());
  }

  async function assertAllAgrees({ swept } = { swept: false }) {
    const { model, petIds } = run;
    const now = clock.now();
    await assertHoldsAgree(database, model, run.callers, now);
    await assertOrdersAgree(database, model, run.callers, now);
    await assertListsAgree(database, model, run.callers, others, now);
    await assertStorageIsSound(database, model, petIds, now, { swept });
  }
}

/** Does an operation, and demands the outcome that the model has. */
async function operate(
  { database, clock, model, petIds, outcomes, marginMs }: Run,
  operation: Operation,
): Promise<void> {
  const now = clock.now();
  const { act } = operation;
  const refusals: readonly string[] = judge(model, operation, now, marginMs);
  const outcome = await perform(database, operation, model.heldMax);
  const came = 'refused' in outcome ? `${act} ${outcome.refused}` : act;
  outcomes.set(came, (outcomes.get(came) ?? 0) + 1);

  const told = JSON.stringify(operation);
  if ('refused' in outcome) {
    const right = refusals.length === 0 ? 'be a success' : `be refused with ${refusals.join(' or ')}`;
    assert.ok(refusals.includes(outcome.refused), `was refused with ${outcome.refused}, must ${right}: ${told}`);
    return;
  }
  assert.deepEqual(refusals, [], `was a success, must be refused: ${told}`);
  const id = 'id' in operation ? operation.id : outcome.done!.id;
  if (act === 'createPet') petIds.push(id);
  apply(model, operation, now, id);
  const seenAt = act.endsWith('Pet') ? petAt : act.endsWith('Hold') ? holdAt : orderAt;
  assert.deepEqual(outcome.done, seenAt(model, id, now), told);
}
