import type { ErrorCode } from '../../src/errors.ts';
import type { OrderStatus } from '../../src/orders/order.ts';
import { heldBy, holdAt, keptAt, type Model, orderAt, petAt, seesHold, seesOrder } from './model.ts';
import { etagOf, type Operation } from './operation.ts';

type Of<Act extends Operation['act']> = Extract<Operation, { act: Act }>;
type StepName = 'approveOrder' | 'deliverOrder' | 'cancelOrder' | 'returnOrder';
type Step = Of<StepName>;

/**
 * The codes with which the store may refuse an operation, by the rules that its users are told. Where there are several,
 * each is right; where there is none, the operation must succeed.
 *
 * That a thing is hidden from the caller comes first, then that the caller may not change it, then what is in the way.
 * @param marginMs for how long before its end what runs out is left alone already
 */
export function judge(model: Model, operation: Operation, now: number, marginMs = 0): readonly ErrorCode[] {
  switch (operation.act) {
    case 'createPet':
      return [];
    case 'updatePet':
    case 'replacePet':
    case 'deletePet':
      return judgeChange(model, operation, now);
    case 'createHold':
      return judgeHold(model, operation, now);
    case 'extendHold':
    case 'releaseHold':
      return judgeHoldChange(model, operation, now, marginMs);
    case 'placeOrder':
      return judgeOrder(model, operation, now, marginMs);
    default:
      return judgeStep(model, operation, now, marginMs);
  }
}

function judgeChange(model: Model, operation: Of<'updatePet' | 'replacePet' | 'deletePet'>, now: number): ErrorCode[] {
  const { actor, id, etag } = operation;
  const pet = petAt(model, id, now);
  if (pet === undefined) return ['pet_not_found'];
  if (!actor.admin && pet.accountId !== actor.accountId) return ['not_owner'];
  if (etag !== undefined && etag !== etagOf(pet)) return ['precondition_failed'];
  const status =
    operation.act === 'deletePet'
      ? undefined
      : operation.act === 'updatePet'
        ? (operation.patch.status ?? pet.status)
        : (operation.pet.status ?? 'available');
  return status !== pet.status && keptAt(model.pets.get(id)!, now) !== undefined ? ['pet_reserved'] : [];
}

function judgeHold(model: Model, { actor, petIds, expiresAt }: Of<'createHold'>, now: number): ErrorCode[] {
  const reasons = petIds.flatMap(id => notFree(model, id, now));
  if (heldBy(model, actor.accountId, now) + petIds.length > model.heldMax) reasons.push('hold_limit_exceeded');
  if (expiresAt !== undefined && !isEnd(expiresAt, now, now)) reasons.push('invalid_body');
  return reasons;
}

function judgeHoldChange(
  model: Model,
  operation: Of<'extendHold' | 'releaseHold'>,
  now: number,
  marginMs: number,
): ErrorCode[] {
  const { act, actor, id, etag } = operation;
  const reasons: ErrorCode[] = [];
  if (!seesHold(model, actor, id)) return ['hold_not_found'];
  const hold = holdAt(model, id, now)!;
  if (act === 'extendHold' && !actor.admin && hold.accountId !== actor.accountId) return ['not_owner'];
  if (etag !== undefined && etag !== etagOf(hold)) reasons.push('precondition_failed');
  if (hold.status !== 'active' || hold.expiresAt <= now + marginMs) reasons.push('hold_ended');
  if (act === 'extendHold' && !isEnd(operation.expiresAt, now, hold.createdAt)) reasons.push('invalid_body');
  return reasons;
}

/** Whether a hold may end then: in a second at the earliest, thirty days after its beginning at the latest. */
function isEnd(end: number, now: number, createdAt: number): boolean {
  return end >= now + 1000 && end <= createdAt + 30 * 24 * 60 * 60_000;
}

function judgeOrder(
  model: Model,
  { actor, petId, holdId }: Of<'placeOrder'>,
  now: number,
  marginMs: number,
): ErrorCode[] {
  if (holdId === undefined) return notFree(model, petId, now);
  const pet = model.pets.get(petId);
  const reasons: ErrorCode[] = pet === undefined ? ['pet_not_found'] : [];
  const hold = holdAt(model, holdId, now);
  if (hold?.accountId !== actor.accountId) return [...reasons, 'hold_not_found'];
  const active = hold.status === 'active' && hold.expiresAt > now + marginMs;
  if (!active || (pet && keptAt(pet, now)?.holdId !== holdId)) reasons.push('hold_ended');
  return reasons;
}

/** Why an animal can neither be held nor be ordered. */
function notFree(model: Model, petId: number, now: number): ErrorCode[] {
  const pet = petAt(model, petId, now);
  if (pet === undefined) return ['pet_not_found'];
  if (keptAt(model.pets.get(petId)!, now) !== undefined) return ['pet_reserved'];
  return pet.status === 'available' ? [] : ['invalid_status_transition'];
}

function judgeStep(model: Model, { act, actor, id, etag }: Step, now: number, marginMs: number): ErrorCode[] {
  if (!seesOrder(model, actor, id)) return ['order_not_found'];
  const owns = actor.admin || model.orders.get(id)!.ownerId === actor.accountId;
  if (act !== 'cancelOrder' && !owns) return ['not_owner'];
  const order = orderAt(model, id, now)!;
  if (etag !== undefined && etag !== etagOf(order)) return ['precondition_failed'];
  const late = order.status === 'placed' && order.expiresAt! <= now + marginMs;
  return stepsFrom[act].includes(order.status) && !late ? [] : ['invalid_order_transition'];
}

const stepsFrom: Record<StepName, readonly OrderStatus[]> = {
  approveOrder: ['placed'],
  deliverOrder: ['approved'],
  cancelOrder: ['placed', 'approved'],
  returnOrder: ['delivered'],
};
