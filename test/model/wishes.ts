import type { Account, HoldView, Operation, OrderView } from './operation.ts';
import type { Action } from './resolve.ts';
import type { Read } from './steps.ts';

/** What the callers of a round know, all of them together. */
export interface Known {
  /** Three who own animals, one more, and an admin. */
  readonly accounts: readonly Account[];
  readonly petIds: number[];
  readonly holds: HoldView[];
  readonly orders: OrderView[];
  /** The ends that holds were given: each is another one, so that to move an end is a change whatever it was. */
  readonly ends: Set<number>;
  /** Numbers beginnings and ends of what is done. */
  moment: number;
}

/** Something to do now, as a caller sees it. */
export type Wish = Exclude<Action, { act: 'look' }> | Read;

/** A whole number from 0 up to, not including, this. */
export type Random = (below: number) => number;

/**
 * What a caller does next: what may come to something, and what may not.
 * @param eager whether it takes an animal
 */
export function wishOf(random: Random, known: Known, actor: Account, now: number, eager: boolean): Wish {
  const chosen = eager ? wishes.slice(0, 1 + random(2)) : wishes;
  const drawn = chosen.flatMap(([weight, wish]) => new Array<typeof wish>(weight).fill(wish));
  const wish = drawn[random(drawn.length)]!;
  const one = <T>(of: readonly T[]): T | undefined => of[random(of.length)];
  const here: Here = { ...known, random, actor, now, petId: one(known.petIds)!, one };
  return wish(here, known) ?? { act: 'placeOrder', actor, petId: here.petId };
}

interface Here extends Omit<Known, 'moment'> {
  readonly random: Random;
  readonly actor: Account;
  readonly now: number;
  /** Any animal. */
  readonly petId: number;
  readonly one: <T>(of: readonly T[]) => T | undefined;
}

const SECOND_MS = 1000;
const WEEK_MS = 7 * 24 * 60 * 60 * SECOND_MS;

/** By how often they come; `undefined` where there is nothing yet to do it to. What takes animals comes first. */
const wishes: readonly (readonly [weight: number, wish: (here: Here, known: Known) => Wish | undefined])[] = [
  [
    18,
    here => {
      const { actor, petIds, random, one } = here;
      const several = new Set(Array.from({ length: 1 + random(3) }, () => one(petIds)!));
      return { act: 'createHold', actor, petIds: [...several], expiresAt: soon(here) };
    },
  ],
  [10, ({ actor, petId }) => ({ act: 'placeOrder', actor, petId })],
  [12, ({ one, holds, accounts }) => one(holds.slice(-3).map(hold => orderFrom(hold, accounts, one)))],
  [
    5,
    here => {
      const hold = here.one(here.holds.slice(-3));
      return hold && { act: 'extendHold', actor: mostly(hold.accountId, here), id: hold.id, expiresAt: soon(here) };
    },
  ],
  [
    5,
    here => {
      const hold = here.one(here.holds.slice(-3));
      return hold && { act: 'releaseHold', actor: mostly(hold.accountId, here), id: hold.id };
    },
  ],
  [
    20,
    here => {
      const order = here.one(here.orders.slice(-3));
      const act = here.one(['approveOrder', 'deliverOrder', 'cancelOrder', 'returnOrder'] as const)!;
      return order && { act, actor: mostly(order.ownerId, here), id: order.id };
    },
  ],
  [1, ({ accounts, petId, one }) => ({ act: 'deletePet', actor: one(accounts.slice(0, 3))!, id: petId })],
  [1, (here, known) => ({ act: 'createPet', actor: here.one(here.accounts.slice(0, 3))!, pet: petNamed(here, known) })],
  [2, (here, known) => ({ act: 'replacePet', actor: here.accounts[4]!, id: here.petId, pet: petNamed(here, known) })],
  [
    8,
    (here, known) => {
      const status = here.one([undefined, undefined, 'available', 'pending', 'sold'] as const);
      const patch = { name: petNamed(here, known).name, ...(status !== undefined && { status }) };
      return { act: 'updatePet', actor: here.one(here.accounts.slice(0, 3))!, id: here.petId, patch };
    },
  ],
  [4, ({ actor, petId }) => ({ act: 'getPet', actor, id: petId })],
  [2, () => ({ act: 'countByStatus' })],
  [
    6,
    here => {
      const hold = here.one(here.holds.slice(-3));
      return hold && { act: 'getHold', actor: ofId(hold.accountId, here), id: hold.id };
    },
  ],
  [
    3,
    here => {
      const order = here.one(here.orders.slice(-3));
      return order && { act: 'getOrder', actor: ofId(order.ownerId, here), id: order.id };
    },
  ],
  [4, ({ one }) => ({ act: 'sweep', what: one(['pets', 'holds', 'orders'] as const)! })],
  [4, ({ random }) => ({ act: 'wait', ms: 1 + random(2 * SECOND_MS) })],
  [
    1,
    ({ orders, now, random }) => {
      // Now and then until an order is about to run out, and has for a node whose clock is ahead.
      const end = (orders.at(-1)?.createdAt ?? now) + WEEK_MS - SECOND_MS / 4;
      return { act: 'wait', ms: random(3) > 0 ? 1 : Math.max(1, end - now) };
    },
  ],
];

function orderFrom(hold: HoldView, accounts: readonly Account[], one: Here['one']): Operation {
  return { act: 'placeOrder', actor: ofId(hold.accountId, { accounts }), petId: one(hold.petIds)!, holdId: hold.id };
}

/** Another name each time, so that it is a change whatever was there before. */
function petNamed({ random }: Here, { moment }: Known) {
  return { name: `Minka ${moment}`, categoryId: 1 + random(3) };
}

/** An end that comes soon. */
function soon({ now, random, ends }: Here): number {
  let end = now + SECOND_MS + random(3 * SECOND_MS);
  while (ends.has(end)) end++;
  ends.add(end);
  return end;
}

/** Mostly this account, else who came. */
function mostly(accountId: number, here: Here): Account {
  return here.random(4) > 0 ? ofId(accountId, here) : here.actor;
}

function ofId(id: number, { accounts }: Pick<Known, 'accounts'>): Account {
  return accounts.find(({ accountId }) => accountId === id)!;
}

/** Numbers that look as if they were drawn, the same ones for the same seed. */
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
