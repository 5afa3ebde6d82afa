import type { Actor } from '../../src/events/event.ts';
import type { OrderStatus } from '../../src/orders/order.ts';
import type { NewPet, PetPatch, PetStatus } from '../../src/pets/pet.ts';

/** A change that somebody wants, with the ids that it is about. `etag` is the version that he has in mind, where he does. */
export type Operation =
  | { readonly act: 'createPet'; readonly actor: Account; readonly pet: NewPet }
  | {
      readonly act: 'updatePet';
      readonly actor: Actor;
      readonly id: number;
      readonly patch: PetPatch;
      readonly etag?: string;
    }
  | {
      readonly act: 'replacePet';
      readonly actor: Actor;
      readonly id: number;
      readonly pet: NewPet;
      readonly etag?: string;
    }
  | { readonly act: 'deletePet'; readonly actor: Actor; readonly id: number; readonly etag?: string }
  | {
      readonly act: 'createHold';
      readonly actor: Account;
      readonly petIds: readonly number[];
      readonly expiresAt?: number;
    }
  | {
      readonly act: 'extendHold';
      readonly actor: Actor;
      readonly id: number;
      readonly expiresAt: number;
      readonly etag?: string;
    }
  | { readonly act: 'releaseHold'; readonly actor: Actor; readonly id: number; readonly etag?: string }
  | { readonly act: 'placeOrder'; readonly actor: Account; readonly petId: number; readonly holdId?: number }
  | OrderStep<'approveOrder'>
  | OrderStep<'deliverOrder'>
  | OrderStep<'cancelOrder'>
  | (OrderStep<'returnOrder'> & { readonly ready?: boolean });

/** A step of an order. */
interface OrderStep<Act> {
  readonly act: Act;
  readonly actor: Actor;
  readonly id: number;
  readonly etag?: string;
}

/** Who has an account, which the operator has not. */
export interface Account extends Actor {
  readonly accountId: number;
}

/** What became of an operation: a refusal by its code, or the thing as it is then; nothing where it is gone. */
export type Outcome = { readonly refused: string } | { readonly done: Done };
// biome-ignore lint/suspicious/noConfusingVoidType: a deletion answers nothing
export type Done = PetView | HoldView | OrderView | void;

/** An animal as it is seen. Times here and below are milliseconds since the Unix epoch. */
export interface PetView {
  readonly id: number;
  readonly name: string;
  readonly categoryId: number;
  readonly status: PetStatus;
  readonly statusReason: string | null;
  readonly priceAmount: number | null;
  readonly priceCurrency: string | null;
  readonly accountId: number;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly version: number;
}

/** A hold as it is seen. */
export interface HoldView {
  readonly id: number;
  readonly accountId: number;
  readonly petIds: readonly number[];
  /** Whose they are, in the same order. */
  readonly ownerIds: readonly number[];
  readonly status: 'active' | 'released' | 'used' | 'expired';
  readonly expiresAt: number;
  readonly endedAt: number | null;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly version: number;
}

/** An order as it is seen. */
export interface OrderView {
  readonly id: number;
  readonly petId: number;
  readonly accountId: number;
  /** Whose animal it is. */
  readonly ownerId: number;
  readonly holdId: number | null;
  readonly status: OrderStatus;
  readonly priceAmount: number | null;
  readonly priceCurrency: string | null;
  readonly expiresAt: number | null;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly version: number;
}

/** The entity tag of anything with an id and a version. */
export function etagOf({ id, version }: { readonly id: number; readonly version: number }): string {
  return `"${id}.${version}"`;
}
