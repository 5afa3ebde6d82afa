import type { Tables } from '../schema.ts';

/** How many requests an account may make on one deployment: in any 60 seconds, and on one UTC calendar day. */
export interface Limits {
  /** From 1 to 10^9. */
  readonly perMinute: number;
  /** From 1 to 10^9. */
  readonly perDay: number;
}

/** A plan's name, as accounts and the command line write it. */
export type PlanName = Tables['accounts']['plan'];

/** Every plan there is, with its limits; Enterprise has none of its own, they are agreed with each account (contract, Limits). */
export const plans = {
  free: { title: 'Free', limits: { perMinute: 60, perDay: 1_000 } },
  pro: { title: 'Pro', limits: { perMinute: 300, perDay: 10_000 } },
  business: { title: 'Business', limits: { perMinute: 1_000, perDay: 100_000 } },
  enterprise: { title: 'Enterprise', limits: undefined },
} as const satisfies Record<PlanName, { title: string; limits: Limits | undefined }>;

/** What an address may send without a valid key, over all deployments together: requests in any 60 seconds. */
export const addressPerMinute = 60;

/** What an account may do by its plan, or by what was agreed with it. */
export function limitsOf(account: Pick<Tables['accounts'], 'plan' | 'per_minute' | 'per_day'>): Limits {
  const { limits } = plans[account.plan];
  if (limits !== undefined) return limits;
  if (account.per_minute === null || account.per_day === null) throw new Error('an Enterprise account without limits');
  return { perMinute: account.per_minute, perDay: account.per_day };
}
