import fc from 'fast-check';
import type { NewPet, PetPatch } from '../../src/model/pet.ts';

const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
const DAY_MS = 24 * 60 * MINUTE_MS;

/**
 * A step of a random sequence, before ids are known. It refers to the pets, holds and orders of its run by small
 * numbers, so that it stays meaningful when fast-check removes steps before it.
 */
export type Command =
  | { readonly do: 'create'; readonly who: Who; readonly pet: NewPet }
  | { readonly do: 'update'; readonly who: Who; readonly pet: Which; readonly patch: PetPatch; readonly tag: Tag }
  | { readonly do: 'replace'; readonly who: Who; readonly pet: Which; readonly by: NewPet; readonly tag: Tag }
  | { readonly do: 'delete'; readonly who: Who; readonly pet: Which; readonly tag: Tag }
  | { readonly do: 'hold'; readonly who: Who; readonly pets: readonly Which[]; readonly forMs: number | undefined }
  | { readonly do: 'extend'; readonly who: Who; readonly hold: Which; readonly toMs: number; readonly tag: Tag }
  | { readonly do: 'release'; readonly who: Who; readonly hold: Which; readonly tag: Tag }
  | { readonly do: 'order'; readonly who: Who; readonly pet: Which }
  /** Orders a pet from a hold. If `fitting`, the hold includes the pet. */
  | { readonly do: 'use'; readonly who: Who; readonly hold: Which; readonly pet: Which; readonly fitting: boolean }
  | { readonly do: 'step'; readonly who: Who; readonly order: Which; readonly step: RequestedStep; readonly tag: Tag }
  | { readonly do: 'wait'; readonly ms: number }
  /** Waits until the n-th expiry, or a millisecond less. */
  | { readonly do: 'waitForEnd'; readonly end: number; readonly short: boolean }
  | { readonly do: 'sweep'; readonly what: 'pets' | 'holds' | 'orders' }
  /** Compares everything that can be read. */
  | { readonly do: 'compare' };

/** An account (0 to 2), the admin (3), the operator (4), an allowed caller, or the other party of a hold or order. */
export type Who = number | 'an allowed caller' | 'the other party';
/** A resource of its kind, counted from the newest; −1 for an unknown id. */
export type Which = number;
/** The version in If-Match: none, the current one, or an outdated one. */
export type Tag = 'any' | 'present' | 'stale';
/** A step of an order: one that can follow, or a specific one. */
export type RequestedStep = 'next' | 'approve' | 'deliver' | 'cancel' | 'return' | 'return unready';

const anyone = fc.nat({ max: 3 });
const who: fc.Arbitrary<Who> = among<Who>(
  [8, fc.constant('an allowed caller')],
  [2, fc.nat({ max: 4 })],
  [1, fc.constant('the other party')],
);
const which: fc.Arbitrary<Which> = among([14, fc.nat({ max: 3 })], [1, fc.constant(-1)]);
const newest: fc.Arbitrary<Which> = among([14, fc.constant(0)], [5, fc.nat({ max: 4 })], [1, fc.constant(-1)]);
const tag: fc.Arbitrary<Tag> = among<Tag>(
  [6, fc.constant('any')],
  [2, fc.constant('present')],
  [2, fc.constant('stale')],
);

const required = { name: fc.constantFrom('Minka', 'Rex', 'Bella'), categoryId: fc.constantFrom(1, 2, 3) };
const status = fc.constantFrom('available' as const, 'pending' as const, 'sold' as const);
const statusReason = fc.constantFrom('in foster', 'medical');
const price = fc.record({ amount: fc.constantFrom(0, 12_500), currency: fc.constantFrom('EUR', 'USD') });
const newPet: fc.Arbitrary<NewPet> = fc.record(
  { ...required, status: among([8, fc.constant('available' as const)], [1, status]), statusReason, price },
  { requiredKeys: ['name', 'categoryId'] },
);
const patch: fc.Arbitrary<PetPatch> = fc.record(
  { ...required, status, statusReason: fc.option(statusReason), price: fc.option(price) },
  { requiredKeys: [] },
);
/** From the shortest to the longest duration of a hold. */
const within = fc.constantFrom(SECOND_MS, MINUTE_MS, 20 * MINUTE_MS, 3 * DAY_MS, 30 * DAY_MS);
const beyond = fc.constantFrom(SECOND_MS - 1, 30 * DAY_MS + 1);
const span = among([12, within], [1, beyond]);

const on = { who, tag };
const create = fc.record({ do: fc.constant('create' as const), who: anyone, pet: newPet });
const update = fc.record({ do: fc.constant('update' as const), ...on, pet: which, patch });
const replace = fc.record({ do: fc.constant('replace' as const), ...on, pet: which, by: newPet });
const remove = fc.record({ do: fc.constant('delete' as const), ...on, pet: which });
const hold = fc.record({
  do: fc.constant('hold' as const),
  who: anyone,
  pets: fc.uniqueArray(which, { minLength: 1, maxLength: 3 }),
  forMs: fc.option(span, { nil: undefined }),
});
const extend = fc.record({
  do: fc.constant('extend' as const),
  ...on,
  hold: newest,
  toMs: among([5, within], [1, beyond]),
});
const release = fc.record({ do: fc.constant('release' as const), ...on, hold: newest });
const order = fc.record({ do: fc.constant('order' as const), who: anyone, pet: which });
const use = fc.record({
  ...{ do: fc.constant('use' as const), who, hold: newest, pet: which },
  fitting: among([6, fc.constant(true)], [1, fc.constant(false)]),
});
const step = fc.record({
  ...{ do: fc.constant('step' as const), ...on, order: newest },
  step: among<RequestedStep>(
    [6, fc.constant('next')],
    [3, fc.constantFrom('cancel', 'return', 'return unready')],
    [1, fc.constantFrom('approve', 'deliver')],
  ),
});
const wait = fc.record({ do: fc.constant('wait' as const), ms: among([1, fc.constant(1)], [2, span]) });
const waitForEnd = fc.record({
  do: fc.constant('waitForEnd' as const),
  end: among([3, fc.constant(0)], [1, fc.nat({ max: 2 })]),
  short: fc.boolean(),
});
const what = fc.constantFrom('pets' as const, 'holds' as const, 'orders' as const);
const sweep = fc.record({ do: fc.constant('sweep' as const), what });
const compare = fc.record({ do: fc.constant('compare' as const) });

/** A command, by frequency. The one without effect comes first: fast-check shrinks towards it. */
export const command: fc.Arbitrary<Command> = fc.oneof(
  { withCrossShrink: true },
  { weight: 1, arbitrary: compare },
  { weight: 1, arbitrary: create },
  { weight: 5, arbitrary: update },
  { weight: 2, arbitrary: replace },
  { weight: 2, arbitrary: remove },
  { weight: 7, arbitrary: hold },
  { weight: 3, arbitrary: extend },
  { weight: 2, arbitrary: release },
  { weight: 5, arbitrary: order },
  { weight: 4, arbitrary: use },
  { weight: 9, arbitrary: step },
  { weight: 2, arbitrary: wait },
  { weight: 5, arbitrary: waitForEnd },
  { weight: 2, arbitrary: sweep },
);

/** The pets at the start of a run, each with the number of its owner. */
export type InitialPets = readonly (readonly [owner: number, pet: NewPet])[];
export const initialPets: fc.Arbitrary<InitialPets> = fc.array(fc.tuple(fc.nat({ max: 2 }), newPet), {
  minLength: 2,
  maxLength: 4,
});

/** A sequence of commands; all lengths are equally likely. */
export const sequence = fc.noBias(fc.array(command, { minLength: 5, maxLength: 25, size: 'max' }));

/** Chooses one by weight. fast-check shrinks towards the first. */
function among<T>(...weighted: readonly [weight: number, arbitrary: fc.Arbitrary<T>][]): fc.Arbitrary<T> {
  return fc.oneof({ withCrossShrink: true }, ...weighted.map(([weight, arbitrary]) => ({ weight, arbitrary })));
}
