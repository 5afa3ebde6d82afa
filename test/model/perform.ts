import { Problem } from '../../src/lib/http/problem.ts';
import type { PreconditionCheck } from '../../src/lib/http/route.ts';
import { formatTime } from '../../src/lib/time.ts';
import { problem } from '../../src/model/errors.ts';
import type { HoldRow } from '../../src/model/hold.ts';
import type { OrderRow } from '../../src/model/order.ts';
import type { Database, Transaction } from '../../src/model/schema.ts';
import { createHold, extendHold, releaseHold } from '../../src/store/holds/holds.ts';
import { placeOrder } from '../../src/store/orders/orders.ts';
import { approveOrder, cancelOrder, deliverOrder, returnOrder } from '../../src/store/orders/steps.ts';
import { createPet, deletePet, getPet, replacePet, updatePet } from '../../src/store/pets/pets.ts';
import type { Done, HoldView, Operation, OrderView, Outcome, PetView } from './operation.ts';

/** Runs an operation on the store in its own transaction. Returns problems, rethrows other errors. */
export async function perform(database: Database, operation: Operation, heldMax: number): Promise<Outcome> {
  try {
    return { done: await database.write(tx => work(tx, operation, heldMax)) };
  } catch (error) {
    if (error instanceof Problem) return { error: error.code };
    throw error;
  }
}

async function work(tx: Transaction, operation: Operation, heldMax: number): Promise<Done> {
  const checkPreconditions = 'etag' in operation ? expecting(operation.etag) : undefined;
  switch (operation.act) {
    case 'createPet': {
      const { id } = await createPet(tx, operation.actor.accountId, operation.pet, 'open');
      return petView(await getPet(tx, id, tx.now));
    }
    case 'updatePet':
      return petView(await updatePet(tx, operation.actor, operation.id, operation.patch, 'open', checkPreconditions));
    case 'replacePet':
      return petView(await replacePet(tx, operation.actor, operation.id, operation.pet, 'open', checkPreconditions));
    case 'deletePet':
      return await deletePet(tx, operation.actor, operation.id, checkPreconditions);
    case 'createHold': {
      const { actor, petIds, expiresAt } = operation;
      const end = expiresAt === undefined ? {} : { expiresAt: formatTime(expiresAt) };
      return holdView(await createHold(tx, actor, { petIds: [...petIds], ...end }, heldMax));
    }
    case 'extendHold': {
      const { actor, id, expiresAt } = operation;
      return holdView(await extendHold(tx, actor, id, { expiresAt: formatTime(expiresAt) }, checkPreconditions));
    }
    case 'releaseHold':
      return holdView(await releaseHold(tx, operation.actor, operation.id, checkPreconditions));
    case 'placeOrder': {
      const { actor, act: _, ...order } = operation;
      return orderView(await placeOrder(tx, actor, order));
    }
    case 'returnOrder': {
      const { actor, id, ready } = operation;
      return orderView(await returnOrder(tx, actor, id, ready === undefined ? {} : { ready }, checkPreconditions));
    }
    default:
      return orderView(await steps[operation.act](tx, operation.actor, operation.id, {}, checkPreconditions));
  }
}

const steps = { approveOrder, deliverOrder, cancelOrder };

/** Returns the precondition that If-Match would set. */
function expecting(etag: string | undefined): PreconditionCheck | undefined {
  if (etag === undefined) return undefined;
  return present => {
    if (present !== etag) throw problem('precondition_failed');
  };
}

/** Picks the members of a pet that the model has. */
export function petView({ id, name, categoryId, status, ...row }: PetView): PetView {
  const { statusReason, priceAmount, priceCurrency, accountId, createdAt, updatedAt, version } = row;
  const rest = { statusReason, priceAmount, priceCurrency, accountId, createdAt, updatedAt, version };
  return { id, name, categoryId, status, ...rest };
}

/** Picks the members of a hold that the model has. */
export function holdView({ note: _, ...hold }: HoldRow): HoldView {
  return hold;
}

/** Picks the members of an order that the model has. */
export function orderView({ id, petId, accountId, ownerId, holdId, status, ...row }: OrderRow): OrderView {
  const { priceAmount, priceCurrency, expiresAt, createdAt, updatedAt, version } = row;
  const rest = { priceAmount, priceCurrency, expiresAt, createdAt, updatedAt, version };
  return { id, petId, accountId, ownerId, holdId, status, ...rest };
}
