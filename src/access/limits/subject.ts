import { type Budget, type Limits, UNLIMITED } from '../../model/plan.ts';
import type { DeploymentName } from '../../model/schema.ts';

/**
 * A holder of limits and counts: an account on one deployment, a key of it that has a budget, all sandbox accounts
 * together, or a network without a key.
 */
export interface Subject {
  /**
   * The name of its counts in the database: `account production 7`, `account production 7 key q7Zc1Lw0aPdT`, `sandbox
   * staging`, `sandbox staging 7` for an account of the sandbox, or `classic 192.0.2.1`.
   */
  readonly name: string;
  readonly limits: Limits;
  /** The prefix of its windows in the `RateLimit` headers. */
  readonly prefix: '' | 'key-' | 'sandbox-';
}

export function accountSubject(deployment: DeploymentName, accountId: number, limits: Limits): Subject {
  return { name: `account ${deployment} ${accountId}`, limits, prefix: '' };
}

/** Returns the subject of all sandbox accounts of a deployment together. It has no day. */
export function sandboxSubject(deployment: DeploymentName, perMinute: number): Subject {
  return { name: `sandbox ${deployment}`, limits: { perMinute, perDay: UNLIMITED }, prefix: 'sandbox-' };
}

/** Returns the subject of one sandbox account, in addition to that of all sandbox accounts. */
export function sandboxAccountSubject(sandbox: Subject, accountId: number, limits: Limits): Subject {
  return { name: `${sandbox.name} ${accountId}`, limits, prefix: '' };
}

/** Returns the subject of a network that uses the classic Swagger Petstore without a key. */
export function classicSubject(network: string, limits: Limits): Subject {
  return { name: `classic ${network}`, limits, prefix: '' };
}

/** Returns the subject of a key with a budget, in addition to that of its account. */
export function keySubject(account: Subject, keyId: string, budget: Budget): Subject {
  const { perMinute = UNLIMITED, perDay = UNLIMITED } = budget;
  return { name: `${account.name} key ${keyId}`, limits: { perMinute, perDay }, prefix: 'key-' };
}

/**
 * Returns the name of a subject or an address in Valkey: `{production 7}`, `{production 7} key q7Zc1Lw0aPdT`, `{sandbox
 * staging} 7` or `{address 192.0.2.1}`. An account and its keys have the same hash tag, and so do all sandbox accounts,
 * so that one script can use their counts.
 */
export function valkeyName(name: string): string {
  if (name.startsWith('sandbox ')) return name.replace(/^sandbox \S+/, '{$&}');
  return name.startsWith('account ') ? name.replace(/^account (\S+ \S+)/, '{$1}') : `{${name}}`;
}
