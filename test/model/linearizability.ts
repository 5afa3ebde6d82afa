import assert from 'node:assert/strict';
import { isDeepStrictEqual } from 'node:util';
import { apply, expireHold, expireOrder, expirePet } from './apply.ts';
import { canSeeHold, canSeeOrder, countsAt, holdAt, type Model, orderAt, petAt } from './model.ts';
import type { Done, HoldView, Operation } from './operation.ts';
import { expectedErrors } from './oracle.ts';
import {
  type AnyEvent,
  type Attempt,
  describeAttempt,
  isChange,
  type SingleRead,
  type Step,
  stepsOf,
} from './steps.ts';

/**
 * Asserts linearizability: some sequential order explains the outcomes of concurrent operations by the rules of the
 * model.
 * | The order is that of the log: a transaction locks the resources that it changes, so of two transactions with a common
 * resource the later one has greater event ids. In that order, every success must be allowed and have the expected
 * result, and no operation may come after one that started after its end. An error or a read must be correct at some
 * moment between its start and its end.
 * Leaves the model in the final state.
 * @param model the state before
 * @param events all events since then
 */
export function assertLinearizable(model: Model, attempts: readonly Attempt[], events: readonly AnyEvent[]): void {
  const steps = stepsOf(attempts, events);
  const times = [...new Set(attempts.flatMap(({ fromMs, toMs }) => [fromMs, toMs]))].sort((a, b) => a - b);
  const seen = attempts
    .filter(attempt => !isChange(attempt))
    .map(attempt => ({ attempt, ...windowOf(attempt, steps) }));
  const before = structuredClone(model);

  let open = seen;
  let latestBegin = 0;
  for (const [position, step] of [...steps, undefined].entries()) {
    open = open.filter(({ attempt, first, last }) => {
      return position < first || position > last || !isRight(model, attempt, times);
    });
    if (step === undefined) break;
    if (step.attempt !== undefined) {
      const { began, ended } = step.attempt;
      assert.ok(
        ended > latestBegin,
        `comes after an operation that started after its end: ${describeAttempt(step.attempt)}`,
      );
      latestBegin = Math.max(latestBegin, began);
    }
    applyStep(model, step, () =>
      isRightInAnotherOrder(before, step.attempt!, steps, other => reasonsAgainst(other, step).length === 0),
    );
  }
  for (const { attempt } of open) {
    const right = isRightInAnotherOrder(before, attempt, steps, other => isRight(other, attempt, times));
    assert.ok(right, `was correct at no moment: ${describeAttempt(attempt)}`);
  }
}

/**
 * Applies a step to the model. The model must allow it and predict its result.
 * @param inAnotherOrder whether the step is allowed at another moment, for rules that no lock orders
 */
function applyStep(model: Model, step: Step, inAnotherOrder: () => boolean): void {
  const { at, attempt, expired, usesUp = false } = step;
  if (expired !== undefined) {
    const { kind, subjectId: id } = expired;
    const ran = kind === 'pet' ? expirePet(model, id, at) : (kind === 'hold' ? expireHold : expireOrder)(model, id, at);
    assert.ok(ran, `had not expired, or expired twice: ${JSON.stringify(expired)}`);
    return;
  }
  const { operation, outcome, fromMs, toMs } = attempt as Attempt & { operation: Operation; outcome: { done: Done } };
  assert.ok(at >= fromMs && at <= toMs, `has another time, ${at}: ${describeAttempt(attempt!)}`);
  const reasons = reasonsAgainst(model, step);
  // The limit on held pets depends on all holds of an account, and extending one locks only that one.
  const allowed = reasons.length === 0 || (reasons.every(isOfAccount) && inAnotherOrder());
  assert.ok(allowed, `was not allowed, ${reasons}: ${describeAttempt(attempt!)}`);
  const id = 'id' in operation ? operation.id : outcome.done!.id;
  const hold = operation.act === 'placeOrder' ? model.holds.get(operation.holdId ?? 0) : undefined;
  const before = { ...hold };
  apply(model, operation, at, id);
  if (hold !== undefined && !usesUp && hold.status === 'used') {
    // Another pet of the hold expired concurrently; in this transaction it was still held.
    assert.ok(!wasOrderedCompletely(model, hold), `did not use up its hold: ${describeAttempt(attempt!)}`);
    Object.assign(hold, before);
  }
  assert.equal(hold?.status === 'used', usesUp, `used up its hold: ${describeAttempt(attempt!)}`);
  const seenAt = operation.act.endsWith('Pet') ? petAt : operation.act.endsWith('Hold') ? holdAt : orderAt;
  assert.deepEqual(outcome.done, seenAt(model, id, at), describeAttempt(attempt!));
}

function reasonsAgainst(model: Model, { attempt, at }: Step): readonly string[] {
  return expectedErrors(model, attempt!.operation as Operation, at);
}

function isOfAccount(code: string): boolean {
  return code === 'hold_limit_exceeded';
}

function wasOrderedCompletely(model: Model, { id, petIds }: HoldView): boolean {
  const ordered = [...model.orders.values()].filter(({ holdId }) => holdId === id).map(({ petId }) => petId);
  return petIds.every(petId => ordered.includes(petId));
}

/** Reports whether an error or a read is correct in this state, at one of its possible times. */
function isRight(
  model: Model,
  { operation, outcome, fromMs, toMs, marginMs }: Attempt,
  times: readonly number[],
): boolean {
  return times.some(now => {
    if (now < fromMs || now > toMs) return false;
    if (operation.act === 'countByStatus')
      return isDeepStrictEqual((outcome as { done: unknown }).done, countsAt(model, now));
    if (operation.act === 'getPet' || operation.act === 'getHold' || operation.act === 'getOrder') {
      const expected = readAt(model, operation as SingleRead, now);
      return isDeepStrictEqual('done' in outcome ? outcome.done : undefined, expected);
    }
    const reasons: readonly string[] = expectedErrors(model, operation as Operation, now, marginMs);
    return 'error' in outcome && reasons.includes(outcome.error);
  });
}

function readAt(model: Model, { act, actor, id }: SingleRead, now: number) {
  if (act === 'getPet') return petAt(model, id, now);
  if (act === 'getHold') return canSeeHold(model, actor, id) ? holdAt(model, id, now) : undefined;
  return canSeeOrder(model, actor, id) ? orderAt(model, id, now) : undefined;
}

/** The range of positions for an operation: after all that ended before it, before all that started later. */
function windowOf({ began, ended }: Attempt, steps: readonly Step[]): { first: number; last: number } {
  const first = steps.findLastIndex(({ attempt }) => attempt !== undefined && attempt.ended < began) + 1;
  const later = steps.findIndex(({ attempt }) => attempt !== undefined && attempt.began > ended);
  return { first, last: later < 0 ? steps.length : later };
}

/**
 * Reports whether an outcome was correct in a state in which only some of the concurrent operations were done. Changes
 * of different pets may be visible in another order than that of the log.
 */
function isRightInAnotherOrder(
  before: Model,
  attempt: Attempt,
  steps: readonly Step[],
  right: (model: Model) => boolean,
): boolean {
  const { last } = windowOf(attempt, steps);
  const isBeside = (step: Step) => step.attempt === undefined || step.attempt.ended > attempt.began;
  // Any caller may record an expiry, which may have been pending for as long as any operation.
  const first = steps.findIndex(step => step.attempt !== undefined && isBeside(step)) - UNDER_WAY_MAX;
  let left = COMBINATIONS_MAX;
  const search = (model: Model, position: number, undone: ReadonlySet<string>): boolean => {
    if (left-- <= 0) return false;
    if (position >= last) return right(model);
    const step = steps[position]!;
    const possible = step.resources.isDisjointFrom(undone);
    const without = () => search(model, position + 1, undone.union(step.resources));
    // A step keeps its position relative to steps with a common resource.
    if (step.attempt === attempt) return possible && without();
    const free = position >= first && isBeside(step);
    if (possible) {
      const after = free ? structuredClone(model) : model;
      if (canApply(after, step) && search(after, position + 1, undone)) return true;
    }
    return free && without();
  };
  return search(structuredClone(before), 0, new Set());
}

function canApply(model: Model, step: Step): boolean {
  try {
    applyStep(model, step, () => false);
    return true;
  } catch {
    return false;
  }
}

/** The number of combinations to try for an outcome. */
const COMBINATIONS_MAX = 20_000;
/** The largest number of concurrent steps. */
const UNDER_WAY_MAX = 30;
