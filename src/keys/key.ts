import { UserError } from '../lib/user-error.ts';
import type { DeploymentName } from '../schema.ts';

/** What a key may be allowed to do: the scope, and what it opens. A key without scopes of its own has them all. */
export const scopes = {
  'pets:read': 'list and read animals and categories',
  'pets:write': 'add, change and delete animals and categories',
  'orders:read': 'list and read orders',
  'orders:write': 'place and move orders and holds',
  'messages:read': 'list and read messages',
  'messages:write': 'send messages',
  'events:read': 'read events',
  'webhooks:write': 'create, change and delete webhooks, which get every event that the account may see',
} as const;

/** The name of a scope. */
export type Scope = keyof typeof scopes;

/** How every scope is written, those of later releases included. */
export const EVERY_SCOPE = '*';

/** What is on record about an API key; the token itself is not. */
export interface Key {
  /** The public part of the token. */
  readonly id: string;
  readonly accountId: number;
  readonly deployment: DeploymentName;
  /** Scopes, or `['*']`. */
  readonly scopes: readonly string[];
  /** All times are milliseconds since the Unix epoch. */
  readonly createdAt: number;
  /** From this moment the key is refused; `null` where it does not expire. */
  readonly expiresAt: number | null;
  /** When it was revoked; `null` where it was not. */
  readonly revokedAt: number | null;
  /** When it was last used, a little behind; `null` where it never was. */
  readonly lastUsedAt: number | null;
}

/** A key that has just been made, with the token that is shown this once. */
export interface IssuedKey extends Key {
  readonly token: string;
}

/** What is needed to make a key. */
export interface NewKey {
  readonly accountId: number;
  readonly deployment: DeploymentName;
  /** Every scope where left out. */
  readonly scopes?: readonly string[];
  /** Milliseconds since the Unix epoch; never where left out. */
  readonly expiresAt?: number;
}

/** Whether a key was revoked, has expired, or works at `now` (milliseconds since the Unix epoch). */
export function keyState(key: Pick<Key, 'revokedAt' | 'expiresAt'>, now: number): 'active' | 'expired' | 'revoked' {
  if (key.revokedAt !== null) return 'revoked';
  return key.expiresAt !== null && key.expiresAt <= now ? 'expired' : 'active';
}

/**
 * Scopes as they are stored: each once, in the catalogue's order, one space between them; `*` where none is given.
 * @throws {UserError} when one does not exist
 */
export function scopeText(wanted: readonly string[] | undefined): string {
  if (wanted === undefined || wanted.includes(EVERY_SCOPE)) return EVERY_SCOPE;
  const names = Object.keys(scopes);
  const unknown = wanted.find(scope => !names.includes(scope));
  if (unknown !== undefined || wanted.length === 0) {
    throw new UserError(
      `There is no scope ${JSON.stringify(unknown ?? '')}; the scopes are ${names.join(', ')}, and ${EVERY_SCOPE} for every one.`,
    );
  }
  return names.filter(name => wanted.includes(name)).join(' ');
}
