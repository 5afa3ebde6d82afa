import { UserError } from '../lib/user-error.ts';

/** The scopes of API keys, with their permissions. A key created without scopes has all of them. */
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

/** The scope that includes every scope, also those of later releases. */
export const EVERY_SCOPE = '*';

/** Returns scopes as a set, from their stored form. The set of every scope also has `*`. */
export function scopeSet(text: string): ReadonlySet<string> {
  return new Set(text === EVERY_SCOPE ? [EVERY_SCOPE, ...Object.keys(scopes)] : text.split(' '));
}

/** Returns a set of scopes in its stored form; every scope if absent. */
export function storedScopes(scopes: ReadonlySet<string> | undefined): string {
  return scopes === undefined || scopes.has(EVERY_SCOPE) ? EVERY_SCOPE : [...scopes].join(' ');
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
