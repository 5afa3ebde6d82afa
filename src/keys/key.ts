import { parseNetworks } from '../lib/networks.ts';
import { nameError } from '../lib/text.ts';
import { UserError } from '../lib/user-error.ts';
import type { Budget, Limits } from '../plans/plan.ts';
import type { DeploymentName } from '../schema.ts';

/** The scopes of API keys, with what each allows. A key created without scopes has them all. */
export const scopes = {
  'pets:read': 'read animals, their history, categories, organizations and the inventory',
  'pets:write': 'add, change and delete animals and categories',
  'organizations:write': 'publish, change and delete the public profile of the account',
  'orders:read': 'list and read orders and holds',
  'orders:write': 'place and change orders and holds',
  'messages:read': 'list and read messages',
  'messages:write': 'send messages',
  'events:read': 'read events',
  'webhooks:read': 'list and read webhooks, their deliveries and their events',
  'webhooks:write':
    'create, change and delete webhooks, which receive the events that the other scopes of the key allow',
  'audit:read': 'read the audit log of the account: the key, request id and address of every change',
  'account:read': 'read the account of the key, with its plan and bounds',
} as const;

export type Scope = keyof typeof scopes;

/** Stands for every scope, including those of later releases. */
export const EVERY_SCOPE = '*';

/** Returns scopes as a set, from their stored form. The set of every scope also has `*`. */
export function scopeSet(text: string): ReadonlySet<string> {
  return new Set(text === EVERY_SCOPE ? [EVERY_SCOPE, ...Object.keys(scopes)] : text.split(' '));
}

/** Returns a set of scopes in its stored form; every scope if absent. */
export function storedScopes(scopes: ReadonlySet<string> | undefined): string {
  return scopes === undefined || scopes.has(EVERY_SCOPE) ? EVERY_SCOPE : [...scopes].join(' ');
}

/** An API key as it is stored: without its token. */
export interface Key {
  /** The public part of the token. */
  readonly id: string;
  readonly accountId: number;
  readonly deployment: DeploymentName;
  /** The name that its owner gave; absent if it has none. */
  readonly name?: string;
  /** Scopes, or `['*']`. */
  readonly scopes: readonly string[];
  /** All times are milliseconds since the Unix epoch. */
  readonly createdAt: number;
  /** The time of expiry; `null` if the key does not expire. */
  readonly expiresAt: number | null;
  /** The time of revocation; `null` if the key is not revoked. */
  readonly revokedAt: number | null;
  /** The time of the latest use, up to a minute behind; `null` if never. */
  readonly lastUsedAt: number | null;
  /** The only networks that the key is accepted from; absent if it is accepted from all. */
  readonly networks?: readonly string[];
  /** Its own limits, within those of its account; absent if it has none. */
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

/** @throws {UserError} when it is not a valid name of a key */
export function checkKeyName(name: string): void {
  const error = nameError(name);
  if (error !== undefined) throw new UserError(`The key's name ${error}.`);
}

/** Returns a budget from its stored form; `undefined` if neither limit is set. */
export function budgetOf(perMinute: number | null, perDay: number | null): Budget | undefined {
  if (perMinute === null && perDay === null) return undefined;
  return { ...(perMinute !== null && { perMinute }), ...(perDay !== null && { perDay }) };
}

/** Returns a budget as people read it: `10 per minute, 200 per day`. */
export function budgetText({ perMinute, perDay }: Budget): string {
  const limits = [perMinute && `${perMinute} per minute`, perDay && `${perDay} per day`];
  return limits.filter(Boolean).join(', ');
}

/** @throws {UserError} when a limit is no whole number from 1 on, or above that of the account */
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
 * Returns scopes in their stored form: each once, in canonical order, separated by spaces; `*` if none is given.
 * @throws {UserError} when a scope does not exist
 */
export function scopeText(wanted: readonly string[] | undefined): string {
  if (wanted === undefined || wanted.includes(EVERY_SCOPE)) return EVERY_SCOPE;
  const names = Object.keys(scopes);
  const unknown = wanted.find(scope => !names.includes(scope));
  if (unknown !== undefined || wanted.length === 0) {
    throw new UserError(
      `There is no scope ${JSON.stringify(unknown ?? '')}; the scopes are ${names.join(', ')}, and ${EVERY_SCOPE} for all of them.`,
    );
  }
  return names.filter(name => wanted.includes(name)).join(' ');
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
