import type { ErrorCode } from '../../src/model/errors.ts';
import type { OrderStatus } from '../../src/model/order.ts';
import { canSeeHold, canSeeOrder, heldBy, holdAt, type Model, orderAt, petAt, reservationAt } from './model.ts';
import { etagOf, type Operation } from './operation.ts';

type Of<Act extends Operation['act']> = Extract<Operation, { act: Act }>;
type StepName = 'approveOrder' | 'deliverOrder' | 'cancelOrder' | 'returnOrder';
type Step = Of<StepName>;

/**
 * Returns the error codes with which the store may reject an operation, by the documented rules. Each of them is
 * correct; without any, the operation must succeed.
 * | Visibility is checked first, then permission, then the state of the resource.
 * @param marginMs how long before an expiry changes are rejected
 */
export function expectedErrors(model: Model, operation: Operation, now: number, marginMs = 0): readonly ErrorCode[] {
  switch (operation.act) {
    case 'createPet':
      return [];
    case 'updatePet':
    case 'replacePet':
    case 'deletePet':
      return errorsOfPetChange(model, operation, now);
    case 'createHold':
      return errorsOfHold(model, operation, now);
    case 'extendHold':
    case 'releaseHold':
      return errorsOfHoldChange(model, operation, now, marginMs);
    case 'placeOrder':
      return errorsOfOrder(model, operation, now, marginMs);
    default:
      return errorsOfStep(model, operation, now, marginMs);
  }
}

function errorsOfPetChange(
  model: Model,
  operation: Of<'updatePet' | 'replacePet' | 'deletePet'>,
  now: number,
): ErrorCode[] {
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
  return status !== pet.status && reservationAt(model.pets.get(id)!, now) !== undefined ? ['pet_reserved'] : [];
}

function errorsOfHold(model: Model, { actor, petIds, expiresAt }: Of<'createHold'>, now: number): ErrorCode[] {
  const reasons = petIds.flatMap(id => errorsOfAvailability(model, id, now));
  if (heldBy(model, actor.accountId, now) + petIds.length > model.heldMax) reasons.push('hold_limit_exceeded');
  if (expiresAt !== undefined && !isEnd(expiresAt, now, now)) reasons.push('invalid_body');
  return reasons;
}

function errorsOfHoldChange(
  model: Model,
  operation: Of<'extendHold' | 'releaseHold'>,
  now: number,
  marginMs: number,
): ErrorCode[] {
  const { act, actor, id, etag } = operation;
  const reasons: ErrorCode[] = [];
  if (!canSeeHold(model, actor, id)) return ['hold_not_found'];
  const hold = holdAt(model, id, now)!;
  if (act === 'extendHold' && !actor.admin && hold.accountId !== actor.accountId) return ['not_owner'];
  if (etag !== undefined && etag !== etagOf(hold)) reasons.push('precondition_failed');
  if (hold.status !== 'active' || hold.expiresAt <= now + marginMs) reasons.push('hold_ended');
  if (act === 'extendHold' && !isEnd(operation.expiresAt, now, hold.createdAt)) reasons.push('invalid_body');
  return reasons;
}

/** Reports whether a hold may expire then: at least a second from now, at most thirty days after it was placed. */
function isEnd(end: number, now: number, createdAt: number): boolean {
  return end >= now + 1000 && end <= createdAt + 30 * 24 * 60 * 60_000;
}

function errorsOfOrder(
  model: Model,
  { actor, petId, holdId }: Of<'placeOrder'>,
  now: number,
  marginMs: number,
): ErrorCode[] {
  if (holdId === undefined) return errorsOfAvailability(model, petId, now);
  const pet = model.pets.get(petId);
  const reasons: ErrorCode[] = pet === undefined ? ['pet_not_found'] : [];
  const hold = holdAt(model, holdId, now);
  if (hold?.accountId !== actor.accountId) return [...reasons, 'hold_not_found'];
  const active = hold.status === 'active' && hold.expiresAt > now + marginMs;
  if (!active || (pet && reservationAt(pet, now)?.holdId !== holdId)) reasons.push('hold_ended');
  return reasons;
}

/** Returns the errors of holding or ordering a pet. */
function errorsOfAvailability(model: Model, petId: number, now: number): ErrorCode[] {
  const pet = petAt(model, petId, now);
  if (pet === undefined) return ['pet_not_found'];
  if (reservationAt(model.pets.get(petId)!, now) !== undefined) return ['pet_reserved'];
  return pet.status === 'available' ? [] : ['invalid_status_transition'];
}

function errorsOfStep(model: Model, { act, actor, id, etag }: Step, now: number, marginMs: number): ErrorCode[] {
  if (!canSeeOrder(model, actor, id)) return ['order_not_found'];
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
