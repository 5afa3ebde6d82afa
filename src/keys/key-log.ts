import type { NewEvent } from '../events/event.ts';
import { formatTime } from '../lib/time.ts';
import type { Key } from './key.ts';

/** A key as the log has it: nothing of its secret, and not when it was last used. */
export interface KeyState extends Pick<Key, 'id' | 'accountId' | 'deployment' | 'scopes'> {
  readonly createdAt: string;
  readonly expiresAt?: string;
  readonly revokedAt?: string;
}

/** What the log says of a key. */
export interface KeyEventData {
  /** The key after the change. */
  readonly key: KeyState;
  /** What changed: the members as they were before, `null` for those that were absent. */
  readonly was?: { readonly expiresAt?: string | null; readonly revokedAt?: null };
  /** The other key of a rotation: the one before it, or the one that takes its place. */
  readonly keyId?: string;
  /** Whose key it is. */
  readonly ownerId: number;
}

/** What is written down when the operator has done something to a key; its subject is the account that it belongs to. */
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
