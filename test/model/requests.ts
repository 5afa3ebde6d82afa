import type { Account, HoldView, Operation, OrderView } from './operation.ts';
import type { Action } from './resolve.ts';
import type { Read } from './steps.ts';

/** What all callers of a round know together. */
export interface Known {
  /** Three owners of pets, one other account, and an admin. */
  readonly accounts: readonly Account[];
  readonly petIds: number[];
  readonly holds: HoldView[];
  readonly orders: OrderView[];
  /** The expiries of holds. Each is unique, so that an extension is always a change. */
  readonly ends: Set<number>;
  /** Numbers the starts and ends of operations. */
  moment: number;
}

/** What a caller does next. */
export type CallerRequest = Exclude<Action, { act: 'compare' }> | Read;

/** Returns an integer from 0 to `below` − 1. */
export type Random = (below: number) => number;

/**
 * Returns a random next request of a caller, whether it can succeed or not.
 * @param eager whether it reserves a pet
 */
export function randomRequest(
  random: Random,
  known: Known,
  actor: Account,
  now: number,
  eager: boolean,
): CallerRequest {
  const chosen = eager ? requests.slice(0, 1 + random(2)) : requests;
  const drawn = chosen.flatMap(([weight, request]) => new Array<typeof request>(weight).fill(request));
  const request = drawn[random(drawn.length)]!;
  const one = <T>(of: readonly T[]): T | undefined => of[random(of.length)];
  const context: Context = { ...known, random, actor, now, petId: one(known.petIds)!, one };
  return request(context, known) ?? { act: 'placeOrder', actor, petId: context.petId };
}

interface Context extends Omit<Known, 'moment'> {
  readonly random: Random;
  readonly actor: Account;
  readonly now: number;
  /** A random pet. */
  readonly petId: number;
  readonly one: <T>(of: readonly T[]) => T | undefined;
}

const SECOND_MS = 1000;
const WEEK_MS = 7 * 24 * 60 * 60 * SECOND_MS;

/** Requests by weight; `undefined` if there is no resource for one yet. Those that reserve pets come first. */
const requests: readonly (readonly [
  weight: number,
  request: (context: Context, known: Known) => CallerRequest | undefined,
])[] = [
  [
    18,
    context => {
      const { actor, petIds, random, one } = context;
      const several = new Set(Array.from({ length: 1 + random(3) }, () => one(petIds)!));
      return { act: 'createHold', actor, petIds: [...several], expiresAt: soonExpiry(context) };
    },
  ],
  [10, ({ actor, petId }) => ({ act: 'placeOrder', actor, petId })],
  [12, ({ one, holds, accounts }) => one(holds.slice(-3).map(hold => orderFrom(hold, accounts, one)))],
  [
    5,
    context => {
      const hold = context.one(context.holds.slice(-3));
      return (
        hold && {
          act: 'extendHold',
          actor: usually(hold.accountId, context),
          id: hold.id,
          expiresAt: soonExpiry(context),
        }
      );
    },
  ],
  [
    5,
    context => {
      const hold = context.one(context.holds.slice(-3));
      return hold && { act: 'releaseHold', actor: usually(hold.accountId, context), id: hold.id };
    },
  ],
  [
    20,
    context => {
      const order = context.one(context.orders.slice(-3));
      const act = context.one(['approveOrder', 'deliverOrder', 'cancelOrder', 'returnOrder'] as const)!;
      return order && { act, actor: usually(order.ownerId, context), id: order.id };
    },
  ],
  [1, ({ accounts, petId, one }) => ({ act: 'deletePet', actor: one(accounts.slice(0, 3))!, id: petId })],
  [
    1,
    (context, known) => ({
      act: 'createPet',
      actor: context.one(context.accounts.slice(0, 3))!,
      pet: uniquePet(context, known),
    }),
  ],
  [
    2,
    (context, known) => ({
      act: 'replacePet',
      actor: context.accounts[4]!,
      id: context.petId,
      pet: uniquePet(context, known),
    }),
  ],
  [
    8,
    (context, known) => {
      const status = context.one([undefined, undefined, 'available', 'pending', 'sold'] as const);
      const patch = { name: uniquePet(context, known).name, ...(status !== undefined && { status }) };
      return { act: 'updatePet', actor: context.one(context.accounts.slice(0, 3))!, id: context.petId, patch };
    },
  ],
  [4, ({ actor, petId }) => ({ act: 'getPet', actor, id: petId })],
  [2, () => ({ act: 'countByStatus' })],
  [
    6,
    context => {
      const hold = context.one(context.holds.slice(-3));
      return hold && { act: 'getHold', actor: accountWithId(hold.accountId, context), id: hold.id };
    },
  ],
  [
    3,
    context => {
      const order = context.one(context.orders.slice(-3));
      return order && { act: 'getOrder', actor: accountWithId(order.ownerId, context), id: order.id };
    },
  ],
  [4, ({ one }) => ({ act: 'sweep', what: one(['pets', 'holds', 'orders'] as const)! })],
  [4, ({ random }) => ({ act: 'wait', ms: 1 + random(2 * SECOND_MS) })],
  [
    1,
    ({ orders, now, random }) => {
      // Sometimes waits until an order is about to expire, and has expired for a node whose clock is ahead.
      const end = (orders.at(-1)?.createdAt ?? now) + WEEK_MS - SECOND_MS / 4;
      return { act: 'wait', ms: random(3) > 0 ? 1 : Math.max(1, end - now) };
    },
  ],
];

function orderFrom(hold: HoldView, accounts: readonly Account[], one: Context['one']): Operation {
  return {
    act: 'placeOrder',
    actor: accountWithId(hold.accountId, { accounts }),
    petId: one(hold.petIds)!,
    holdId: hold.id,
  };
}

/** Returns a pet with a unique name, so that the update is always a change. */
function uniquePet({ random }: Context, { moment }: Known) {
  return { name: `Minka ${moment}`, categoryId: 1 + random(3) };
}

/** Returns an expiry in the near future. */
function soonExpiry({ now, random, ends }: Context): number {
  let end = now + SECOND_MS + random(3 * SECOND_MS);
  while (ends.has(end)) end++;
  ends.add(end);
  return end;
}

/** Usually returns this account, otherwise the caller. */
function usually(accountId: number, context: Context): Account {
  return context.random(4) > 0 ? accountWithId(accountId, context) : context.actor;
}

function accountWithId(id: number, { accounts }: Pick<Known, 'accounts'>): Account {
  return accounts.find(({ accountId }) => accountId === id)!;
}

/** Returns a pseudorandom number generator. */
export function randomFrom(seed: number): Random {
  let state = seed;
  return below => {
    // Mulberry32.
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * below);
  };
}
