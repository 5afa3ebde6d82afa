import assert from 'node:assert/strict';
import { isDeepStrictEqual } from 'node:util';
import { apply, expireHold, expireOrder, expirePet } from './apply.ts';
import { judge } from './judge.ts';
import { countsAt, holdAt, type Model, orderAt, petAt, seesHold, seesOrder } from './model.ts';
import type { Done, HoldView, Operation } from './operation.ts';
import { type AnyEvent, type Attempt, isChange, type SingleRead, type Step, stepsOf, told } from './steps.ts';

/**
 * Demands that what many did at once could have been done one after the other, by the rules of the model.
 *
 * The order is the log's: a transaction that changes a thing locks it until its end, so of two that have one in common
 * the later one has the greater event ids. In that order every success must be allowed and lead to what was answered,
 * and nothing that ended may come behind something that began later. A refusal or something read must be right at one
 * moment between its beginning and its end at least.
 * Leaves the model as it is after all of it.
 * @param model as things were before
 * @param events all that came into the log meanwhile
 */
export function assertPossibleOrder(model: Model, attempts: readonly Attempt[], events: readonly AnyEvent[]): void {
  const steps = stepsOf(attempts, events);
  const times = [...new Set(attempts.flatMap(({ fromMs, toMs }) => [fromMs, toMs]))].sort((a, b) => a - b);
  const seen = attempts
    .filter(attempt => !isChange(attempt))
    .map(attempt => ({ attempt, ...windowOf(attempt, steps) }));
  const before = structuredClone(model);

  let open = seen;
  let latestBegin = 0;
  for (const [place, step] of [...steps, undefined].entries()) {
    open = open.filter(({ attempt, first, last }) => {
      return place < first || place > last || !isRight(model, attempt, times);
    });
    if (step === undefined) break;
    if (step.attempt !== undefined) {
      const { began, ended } = step.attempt;
      assert.ok(ended > latestBegin, `came behind something that began after it ended: ${told(step.attempt)}`);
      latestBegin = Math.max(latestBegin, began);
    }
    take(model, step, () =>
      isRightInAnotherOrder(before, step.attempt!, steps, other => reasonsAgainst(other, step).length === 0),
    );
  }
  for (const { attempt } of open) {
    const right = isRightInAnotherOrder(before, attempt, steps, other => isRight(other, attempt, times));
    assert.ok(right, `was right at no moment: ${told(attempt)}`);
  }
}

/**
 * Does a step to the model, where the model allows it and comes to what was answered.
 * @param inAnotherOrder whether it was allowed at another moment, for what no lock puts into the log's order
 */
function take(model: Model, step: Step, inAnotherOrder: () => boolean): void {
  const { at, attempt, expired, usesUp = false } = step;
  if (expired !== undefined) {
    const { kind, subjectId: id } = expired;
    const ran = kind === 'pet' ? expirePet(model, id, at) : (kind === 'hold' ? expireHold : expireOrder)(model, id, at);
    assert.ok(ran, `had not run out, or not again: ${JSON.stringify(expired)}`);
    return;
  }
  const { operation, outcome, fromMs, toMs } = attempt as Attempt & { operation: Operation; outcome: { done: Done } };
  assert.ok(at >= fromMs && at <= toMs, `happened at another time, ${at}: ${told(attempt!)}`);
  const reasons = reasonsAgainst(model, step);
  // How much an account holds is a matter of all its holds; what moves their ends locks none but its own.
  const allowed = reasons.length === 0 || (reasons.every(isOfAccount) && inAnotherOrder());
  assert.ok(allowed, `was not allowed, ${reasons}: ${told(attempt!)}`);
  const id = 'id' in operation ? operation.id : outcome.done!.id;
  const hold = operation.act === 'placeOrder' ? model.holds.get(operation.holdId ?? 0) : undefined;
  const before = { ...hold };
  apply(model, operation, at, id);
  if (hold !== undefined && !usesUp && hold.status === 'used') {
    // Another animal of it ran out beside this: for this one it was still held.
    assert.ok(!wasOrderedWhole(model, hold), `did not use up its hold: ${told(attempt!)}`);
    Object.assign(hold, before);
  }
  assert.equal(hold?.status === 'used', usesUp, `used up its hold: ${told(attempt!)}`);
  const seenAt = operation.act.endsWith('Pet') ? petAt : operation.act.endsWith('Hold') ? holdAt : orderAt;
  assert.deepEqual(outcome.done, seenAt(model, id, at), told(attempt!));
}

function reasonsAgainst(model: Model, { attempt, at }: Step): readonly string[] {
  return judge(model, attempt!.operation as Operation, at);
}

function isOfAccount(code: string): boolean {
  return code === 'hold_limit_exceeded';
}

function wasOrderedWhole(model: Model, { id, petIds }: HoldView): boolean {
  const ordered = [...model.orders.values()].filter(({ holdId }) => holdId === id).map(({ petId }) => petId);
  return petIds.every(petId => ordered.includes(petId));
}

/** Whether a refusal, or what was read, is right as things stand, at one of the times at which it may have been. */
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
    const reasons: readonly string[] = judge(model, operation as Operation, now, marginMs);
    return 'refused' in outcome && reasons.includes(outcome.refused);
  });
}

function readAt(model: Model, { act, actor, id }: SingleRead, now: number) {
  if (act === 'getPet') return petAt(model, id, now);
  if (act === 'getHold') return seesHold(model, actor, id) ? holdAt(model, id, now) : undefined;
  return seesOrder(model, actor, id) ? orderAt(model, id, now) : undefined;
}

/** Between which places in the order something may have been seen: behind all that had ended, before all that began later. */
function windowOf({ began, ended }: Attempt, steps: readonly Step[]): { first: number; last: number } {
  const first = steps.findLastIndex(({ attempt }) => attempt !== undefined && attempt.ended < began) + 1;
  const later = steps.findIndex(({ attempt }) => attempt !== undefined && attempt.began > ended);
  return { first, last: later < 0 ? steps.length : later };
}

/**
 * Whether something was right when some of what was under way beside it had been done and some had not: where it looks
 * at several animals, what others did to different ones may come in another order than the log's.
 */
function isRightInAnotherOrder(
  before: Model,
  attempt: Attempt,
  steps: readonly Step[],
  right: (model: Model) => boolean,
): boolean {
  const { last } = windowOf(attempt, steps);
  const isBeside = (step: Step) => step.attempt === undefined || step.attempt.ended > attempt.began;
  // What ran out is written down by whoever comes: that may have been under way for as long as anything.
  const first = steps.findIndex(step => step.attempt !== undefined && isBeside(step)) - UNDER_WAY_MAX;
  let left = COMBINATIONS_MAX;
  const search = (model: Model, place: number, undone: ReadonlySet<string>): boolean => {
    if (left-- <= 0) return false;
    if (place >= last) return right(model);
    const step = steps[place]!;
    const possible = step.things.isDisjointFrom(undone);
    const without = () => search(model, place + 1, undone.union(step.things));
    // What comes behind it in the log and has a thing in common with it stays there.
    if (step.attempt === attempt) return possible && without();
    const free = place >= first && isBeside(step);
    if (possible) {
      const after = free ? structuredClone(model) : model;
      if (isTaken(after, step) && search(after, place + 1, undone)) return true;
    }
    return free && without();
  };
  return search(structuredClone(before), 0, new Set());
}

function isTaken(model: Model, step: Step): boolean {
  try {
    take(model, step, () => false);
    return true;
  } catch {
    return false;
  }
}

/** How many steps are tried for one of them. */
const COMBINATIONS_MAX = 20_000;
/** How many steps at most are under way at once. */
const UNDER_WAY_MAX = 30;
