import { formatTime } from '../../lib/time.ts';
import type { Key } from '../../model/key.ts';
import type { NewEvent } from '../../model/log/event.ts';
import type { ActionOf } from '../../model/nouns.ts';

/** The details of a change besides its action. */
interface KeyChange {
  /** The previous values of the changed members; `null` for absent ones. */
  readonly was?: { readonly expiresAt?: string | null; readonly revokedAt?: null };
  /** The other key of a rotation: the previous one, or its successor. */
  readonly keyId?: string;
}

/**
 * Returns the event for a change of a key. Its subject is the account that owns the key. The event contains the key
 * after the change, without its secret and its last use.
 */
export function keyEvent(action: ActionOf<'key'>, key: Key, change: KeyChange = {}): NewEvent {
  const { id, accountId, deployment, scopes, networks, budget, createdAt, expiresAt, revokedAt } = key;
  const state = {
    ...{ id, accountId, deployment, scopes },
    ...(networks !== undefined && { networks }),
    ...(budget !== undefined && { budget }),
    createdAt: formatTime(createdAt),
    ...(expiresAt !== null && { expiresAt: formatTime(expiresAt) }),
    ...(revokedAt !== null && { revokedAt: formatTime(revokedAt) }),
  };
  const data = { key: state, ownerId: accountId, ...change };
  return { kind: 'key', action, subjectId: accountId, accountId: null, data };
}
