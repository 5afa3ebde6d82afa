import { parseNetworks } from '../lib/networks.ts';
import { nameError } from '../lib/text.ts';
import { UserError } from '../lib/user-error.ts';
import type { Budget, Limits } from './plan.ts';
import type { DeploymentName } from './schema.ts';

/** An API key as it is stored: without its token. */
export interface Key {
  /** The public part of the token. */
  readonly id: string;
  readonly accountId: number;
  readonly deployment: DeploymentName;
  /** The name that its owner chose; absent if it has none. */
  readonly name?: string;
  /** Scopes, or `['*']`. */
  readonly scopes: readonly string[];
  /** All times are milliseconds since the Unix epoch. */
  readonly createdAt: number;
  /** The time of expiry; `null` if the key does not expire. */
  readonly expiresAt: number | null;
  /** The time of revocation; `null` if it is not revoked. */
  readonly revokedAt: number | null;
  /** The time of the latest use, up to a minute behind; `null` if it was never used. */
  readonly lastUsedAt: number | null;
  /** The only networks from which the key is accepted; absent if all are. */
  readonly networks?: readonly string[];
  /** The individual limits of the key, within those of its account; absent if it has none. */
  readonly budget?: Budget;
}

/** A new key with its token, which is shown only once. */
export interface IssuedKey extends Key {
  readonly token: string;
}

/** The properties of a new key. By default it has every scope and does not expire. */
export interface NewKey
  extends Pick<Key, 'accountId' | 'deployment'>,
    Partial<Pick<Key, 'name' | 'scopes' | 'networks' | 'budget'>> {
  readonly expiresAt?: number;
}

/** @throws {UserError} if it is not a valid name of a key */
export function checkKeyName(name: string): void {
  const error = nameError(name);
  if (error !== undefined) throw new UserError(`The key's name ${error}.`);
}

/** Returns a budget from its stored form; `undefined` if neither limit is set. */
export function budgetOf(perMinute: number | null, perDay: number | null): Budget | undefined {
  if (perMinute === null && perDay === null) return undefined;
  return { ...(perMinute !== null && { perMinute }), ...(perDay !== null && { perDay }) };
}

/** Returns a budget as text: `10 per minute, 200 per day`. */
export function budgetText({ perMinute, perDay }: Budget): string {
  const limits = [perMinute && `${perMinute} per minute`, perDay && `${perDay} per day`];
  return limits.filter(Boolean).join(', ');
}

/** @throws {UserError} when a limit is not a whole number from 1 upward, or exceeds that of the account */
export function checkBudget({ perMinute, perDay }: Budget, account: Limits): void {
  checkLimit('minute', perMinute, account.perMinute);
  checkLimit('day', perDay, account.perDay);
}

function checkLimit(window: 'minute' | 'day', limit: number | undefined, most: number): void {
  if (limit === undefined || (Number.isInteger(limit) && limit >= 1 && limit <= most)) return;
  throw new UserError(
    `The key's requests per ${window} must be a whole number from 1 to ${most}, the limit of its account.`,
  );
}

/** Returns the state of a key at `now` (milliseconds since the Unix epoch). */
export function keyState(key: Pick<Key, 'revokedAt' | 'expiresAt'>, now: number): 'active' | 'expired' | 'revoked' {
  if (key.revokedAt !== null) return 'revoked';
  return key.expiresAt !== null && key.expiresAt <= now ? 'expired' : 'active';
}

/**
 * Returns networks in their stored form: separated by spaces; `null` for all.
 * @throws {UserError} naming the entry that is neither an address nor a network
 */
export function networkText(wanted: readonly string[] | undefined): string | null {
  if (wanted === undefined) return null;
  try {
    parseNetworks(wanted);
  } catch (error) {
    throw new UserError(`${(error as Error).message}.`);
  }
  return wanted.join(' ');
}
