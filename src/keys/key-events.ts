import type { NewEvent } from '../events/event.ts';
import { formatTime } from '../lib/time.ts';
import type { Key } from './key.ts';

/** A key as events describe it: without its secret and its last use. */
export interface KeyState extends Pick<Key, 'id' | 'accountId' | 'deployment' | 'scopes'> {
  readonly createdAt: string;
  readonly expiresAt?: string;
  readonly revokedAt?: string;
}

/** The data of a key event. */
export interface KeyEventData {
  /** The key after the change. */
  readonly key: KeyState;
  /** The previous values of the changed members; `null` for absent ones. */
  readonly was?: { readonly expiresAt?: string | null; readonly revokedAt?: null };
  /** The other key of a rotation: the previous one, or its successor. */
  readonly keyId?: string;
  /** The account that owns the key. */
  readonly ownerId: number;
}

/** Returns the event for a change of a key by the operator; its subject is the account that owns the key. */
export function keyEvent(
  action: 'created' | 'rotated' | 'revoked',
  key: Key,
  more: Pick<KeyEventData, 'was' | 'keyId'> = {},
): NewEvent {
  const { id, accountId, deployment, scopes, createdAt, expiresAt, revokedAt } = key;
  const data: KeyEventData = {
    key: {
      id,
      accountId,
      deployment,
      scopes,
      createdAt: formatTime(createdAt),
      ...(expiresAt !== null && { expiresAt: formatTime(expiresAt) }),
      ...(revokedAt !== null && { revokedAt: formatTime(revokedAt) }),
    },
    ownerId: accountId,
    ...more,
  };
  return { kind: 'key', action, subjectId: accountId, accountId: null, data };
}
