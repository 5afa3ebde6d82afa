import type { Tables } from '../schema.ts';

/** The requests that an account may make on one deployment: in any 60 seconds, and per UTC calendar day. */
export interface Limits {
  /** From 1 to 10^9. */
  readonly perMinute: number;
  /** From 1 to 10^9. */
  readonly perDay: number;
}

/** The name of a plan, as accounts and the command line use it. */
export type PlanName = Tables['accounts']['plan'];

/** All plans with their limits (contract, Limits). The limits of Enterprise are set per account. */
export const plans = {
  free: { title: 'Free', limits: { perMinute: 60, perDay: 1_000 } },
  pro: { title: 'Pro', limits: { perMinute: 300, perDay: 10_000 } },
  business: { title: 'Business', limits: { perMinute: 1_000, perDay: 100_000 } },
  enterprise: { title: 'Enterprise', limits: undefined },
} as const satisfies Record<PlanName, { title: string; limits: Limits | undefined }>;

/** The requests without a valid key that an address may send to all deployments together, in any 60 seconds. */
export const addressPerMinute = 60;

/** Returns the limits of an account: those of its plan, or its own on Enterprise. */
export function limitsOf(account: Pick<Tables['accounts'], 'plan' | 'per_minute' | 'per_day'>): Limits {
  const { limits } = plans[account.plan];
  if (limits !== undefined) return limits;
  if (account.per_minute === null || account.per_day === null) throw new Error('an Enterprise account without limits');
  return { perMinute: account.per_minute, perDay: account.per_day };
}
