import { type Budget, type Limits, UNLIMITED } from '../plans/plan.ts';
import type { DeploymentName } from '../schema.ts';

/**
 * What has limits and counts of its own: an account on one deployment, one of its keys that has a budget, or all sandbox
 * accounts together.
 */
export interface Subject {
  /**
   * Names its counts in the database: `account production 7`, `account production 7 key q7Zc1Lw0aPdT`, `sandbox staging`, or
   * `sandbox staging 7` for an account of the sandbox.
   */
  readonly name: string;
  readonly limits: Limits;
  /** What the names of its windows in the `RateLimit` headers start with. */
  readonly prefix: '' | 'key-' | 'sandbox-';
}

export function accountSubject(deployment: DeploymentName, accountId: number, limits: Limits): Subject {
  return { name: `account ${deployment} ${accountId}`, limits, prefix: '' };
}

/** Returns all sandbox accounts of a deployment together. They have no day. */
export function sandboxSubject(deployment: DeploymentName, perMinute: number): Subject {
  return { name: `sandbox ${deployment}`, limits: { perMinute, perDay: UNLIMITED }, prefix: 'sandbox-' };
}

/** Returns an account of the sandbox, which counts beside all others. */
export function sandboxAccountSubject(sandbox: Subject, accountId: number, limits: Limits): Subject {
  return { name: `${sandbox.name} ${accountId}`, limits, prefix: '' };
}

/** Returns the key with this id and budget, which counts beside its account. */
export function keySubject(account: Subject, keyId: string, budget: Budget): Subject {
  const { perMinute = UNLIMITED, perDay = UNLIMITED } = budget;
  return { name: `${account.name} key ${keyId}`, limits: { perMinute, perDay }, prefix: 'key-' };
}

/**
 * Returns the name of a subject or an address in Valkey: `{production 7}`, `{production 7} key q7Zc1Lw0aPdT`,
 * `{sandbox staging} 7` or `{address 192.0.2.1}`. An account and its keys have one hash tag, and so has the whole sandbox, so
 * that one script can use the counts of both.
 */
export function valkeyName(name: string): string {
  if (name.startsWith('sandbox ')) return name.replace(/^sandbox \S+/, '{$&}');
  return name.startsWith('account ') ? name.replace(/^account (\S+ \S+)/, '{$1}') : `{${name}}`;
}
