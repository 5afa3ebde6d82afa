import { EVENT_BYTES_DAYS } from './rules.ts';
import type { Tables } from './schema.ts';

/** The requests that an account may make on one deployment: in any 60 seconds, and per UTC calendar day. */
export interface Limits {
  /** From 1 to 10^9, or `UNLIMITED`. */
  readonly perMinute: number;
  /** From 1 to 10^9, or `UNLIMITED`. */
  readonly perDay: number;
}

/** The individual limits of a key, in addition to those of its account; absent limits do not apply. */
export type Budget = Partial<Limits>;

/** The value of a limit that does not apply. */
export const UNLIMITED = Number.POSITIVE_INFINITY;

/** The maximum of an individual limit: of an Enterprise account, or of a key. */
export const LIMIT_MAX = 1_000_000_000;

/** The maximum numbers of an account's resources on one deployment. A setting for each overrides all plans. */
export interface Bounds {
  /** Its pets. */
  readonly pets: number;
  /** Orders that are placed or approved. */
  readonly openOrders: number;
  /** The pets in all active holds. */
  readonly heldPets: number;
  /** The rows that its imports change on a UTC day. */
  readonly importedRows: number;
  /** The bytes of the events that it caused in the last `EVENT_BYTES_DAYS`. Only imports are rejected beyond it. */
  readonly eventBytes: number;
  /** The categories that it created, and those that its pets named first. */
  readonly categories: number;
  readonly webhooks: number;
  /** The open event streams on one node. */
  readonly streams: number;
  /** The messages to one recipient in any 60 seconds. */
  readonly messagesPerRecipient: number;
  /** The replies by e-mail to visitors on a UTC day. */
  readonly emailReplies: number;
  /**
   * The bytes of texts: those of messages sent, of replies and notes, the bodies of idempotent responses, and rows that wait to be imported.
   */
  readonly storedBytes: number;
  /** The bytes of the photos of its pets and its organization: originals and sizes. */
  readonly photoBytes: number;
  /** The lists in progress on one node that scan many rows. */
  readonly scans: number;
  /** The files that one node receives at the same time. */
  readonly uploads: number;
}

/** The names on pages of the bounds that count an account's resources. */
export const boundTitles = {
  pets: 'Animals',
  importedRows: 'Rows imported today',
  eventBytes: `Events of the last ${EVENT_BYTES_DAYS} days`,
  openOrders: 'Open orders',
  heldPets: 'Animals on hold',
  categories: 'Categories',
  webhooks: 'Webhooks',
  streams: 'Event streams',
  emailReplies: 'Replies by e-mail today',
  storedBytes: 'Stored texts',
  photoBytes: 'Photos',
  scans: 'Scans in progress',
  uploads: 'Uploads in progress',
} as const satisfies Record<Exclude<keyof Bounds, 'messagesPerRecipient'>, string>;

/** The bounds that the settings override. */
export type BoundSettings = Partial<Bounds>;

/** The bounds that do not derive from others; see `boundOf`. */
type PlanBounds = Omit<Bounds, 'importedRows' | 'eventBytes'>;

/** The name of a plan, as accounts and the command line use it. */
export type PlanName = Tables['accounts']['plan'];

/** The plans that an account can choose itself; the operator sets the others. */
export const ownPlans = ['free', 'pro'] as const satisfies readonly PlanName[];

export function isOwnPlan(plan: string | null): plan is (typeof ownPlans)[number] {
  return ownPlans.some(own => own === plan);
}

/** The largest value of a bound, in MiB for bytes. */
export const BOUND_MAX = 1_000_000;

export const MEBIBYTE = 1024 * 1024;

/** The largest quota of photos, in MiB. */
export const PHOTO_QUOTA_MAX = 4 * BOUND_MAX;

/** All plans with their limits (contract, Limits) and bounds. Enterprise accounts have individual limits. */
export const plans = {
  free: {
    title: 'Free',
    limits: { perMinute: 60, perDay: 1_000 },
    bounds: {
      pets: 10_000,
      openOrders: 50,
      heldPets: 100,
      categories: 100,
      webhooks: 10,
      streams: 5,
      messagesPerRecipient: 10,
      emailReplies: 50,
      storedBytes: 20 * MEBIBYTE,
      photoBytes: 2_000 * MEBIBYTE,
      scans: 10,
      uploads: 2,
    },
  },
  pro: {
    title: 'Pro',
    limits: { perMinute: 300, perDay: 10_000 },
    bounds: {
      pets: 100_000,
      openOrders: 500,
      heldPets: 500,
      categories: 500,
      webhooks: 25,
      streams: 20,
      messagesPerRecipient: 30,
      emailReplies: 200,
      storedBytes: 200 * MEBIBYTE,
      photoBytes: 20_000 * MEBIBYTE,
      scans: 20,
      uploads: 2,
    },
  },
  business: {
    title: 'Business',
    limits: { perMinute: 1_000, perDay: 100_000 },
    bounds: {
      pets: 500_000,
      openOrders: 5_000,
      heldPets: 5_000,
      categories: 5_000,
      webhooks: 100,
      streams: 100,
      messagesPerRecipient: 100,
      emailReplies: 1_000,
      storedBytes: 2_000 * MEBIBYTE,
      photoBytes: 200_000 * MEBIBYTE,
      scans: 50,
      uploads: 2,
    },
  },
  enterprise: {
    title: 'Enterprise',
    limits: undefined,
    bounds: {
      pets: BOUND_MAX,
      openOrders: BOUND_MAX,
      heldPets: BOUND_MAX,
      categories: BOUND_MAX,
      webhooks: BOUND_MAX,
      streams: BOUND_MAX,
      messagesPerRecipient: BOUND_MAX,
      emailReplies: BOUND_MAX,
      storedBytes: BOUND_MAX * MEBIBYTE,
      photoBytes: PHOTO_QUOTA_MAX * MEBIBYTE,
      scans: BOUND_MAX,
      uploads: 2,
    },
  },
} as const satisfies Record<PlanName, { title: string; limits: Limits | undefined; bounds: PlanBounds }>;

/** The requests without a valid key that an address may send to all deployments together, in any 60 seconds. */
export const addressPerMinute = 60;

/** Returns the limits of an account: those of its plan, or the individual ones of an Enterprise account. */
export function limitsOf(account: Pick<Tables['accounts'], 'plan' | 'per_minute' | 'per_day'>): Limits {
  const { limits } = plans[account.plan];
  if (limits !== undefined) return limits;
  if (account.per_minute === null || account.per_day === null) throw new Error('an Enterprise account without limits');
  return { perMinute: account.per_minute, perDay: account.per_day };
}

/** Returns a bound of an account: that of the setting, or that of its plan. */
export function boundOf(set: BoundSettings, account: { readonly plan: string }, name: keyof Bounds): number {
  if (set[name] !== undefined) return set[name];
  if (name === 'importedRows') return 2 * boundOf(set, account, 'pets');
  if (name === 'eventBytes') return EVENT_BYTES_DAYS * EVENT_BYTES * boundOf(set, account, 'importedRows');
  return plans[account.plan as PlanName].bounds[name];
}

/** The size of the event of a normal animal in bytes, rounded up. */
export const EVENT_BYTES = 1024;

/** The bounds of all sandbox accounts of a deployment together. */
export interface SandboxBounds {
  /** Their pets. */
  readonly pets: number;
  /** The bytes of their events and of the stored responses to their idempotent requests. */
  readonly bytes: number;
  /** Their requests in any 60 seconds. */
  readonly perMinute: number;
}
