import { type Budget, type Limits, UNLIMITED } from '../plans/plan.ts';
import type { DeploymentName } from '../schema.ts';

/** What has limits and counts of its own: an account on one deployment, or one of its keys that has a budget. */
export interface Subject {
  /** Names its counts in the database: `account production 7`, or `account production 7 key q7Zc1Lw0aPdT`. */
  readonly name: string;
  readonly limits: Limits;
  /** What the names of its windows in the `RateLimit` headers start with. */
  readonly prefix: '' | 'key-';
}

export function accountSubject(deployment: DeploymentName, accountId: number, limits: Limits): Subject {
  return { name: `account ${deployment} ${accountId}`, limits, prefix: '' };
}

/** Returns the key with this id and budget, which counts beside its account. */
export function keySubject(account: Subject, keyId: string, budget: Budget): Subject {
  const { perMinute = UNLIMITED, perDay = UNLIMITED } = budget;
  return { name: `${account.name} key ${keyId}`, limits: { perMinute, perDay }, prefix: 'key-' };
}

/**
 * Returns the name of a subject or an address in Valkey: `{production 7}`, `{production 7} key q7Zc1Lw0aPdT` or
 * `{address 192.0.2.1}`. An account and its keys have one hash tag, so that one script can use the counts of both.
 */
export function valkeyName(name: string): string {
  return name.startsWith('account ') ? name.replace(/^account (\S+ \S+)/, '{$1}') : `{${name}}`;
}
