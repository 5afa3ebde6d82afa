import type { Actor } from '../../src/model/log/event.ts';
import type { OrderStatus } from '../../src/model/order.ts';
import type { NewPet, PetPatch, PetStatus } from '../../src/model/pet.ts';

/** An operation with the ids of its resources. `etag` is the value of If-Match. */
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

/** An actor with an account, unlike the operator. */
export interface Account extends Actor {
  readonly accountId: number;
}

/** The outcome of an operation: the code of its error, or the resource; nothing after a deletion. */
export type Outcome = { readonly error: string } | { readonly done: Done };
// biome-ignore lint/suspicious/noConfusingVoidType: a deletion returns nothing
export type Done = PetView | HoldView | OrderView | void;

/** A pet as it is visible. Times here and below are milliseconds since the Unix epoch. */
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

/** A hold as it is visible. */
export interface HoldView {
  readonly id: number;
  readonly accountId: number;
  readonly petIds: readonly number[];
  /** The owners of the pets, in the same order. */
  readonly ownerIds: readonly number[];
  readonly status: 'active' | 'released' | 'used' | 'expired';
  readonly expiresAt: number;
  readonly endedAt: number | null;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly version: number;
}

/** An order as it is visible. */
export interface OrderView {
  readonly id: number;
  readonly petId: number;
  readonly accountId: number;
  /** The owner of the pet. */
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

/** Returns the entity tag of a resource. */
export function etagOf({ id, version }: { readonly id: number; readonly version: number }): string {
  return `"${id}.${version}"`;
}
