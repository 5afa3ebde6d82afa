import { record } from '../events/log.ts';
import { formatTime } from '../lib/time.ts';
import { type DeploymentName, type Params, query, type Transaction } from '../schema.ts';

/** A ban of a key, as events describe it. */
export interface BanState {
  /** The id of the key. */
  readonly id: string;
  readonly accountId: number;
  /** The deployment of the key. */
  readonly deployment: DeploymentName;
  readonly bannedAt: string;
  readonly until: string;
  readonly liftedAt?: string;
}

/** The data of a ban event. */
export interface BanEventData {
  /** The ban after the change. */
  readonly ban: BanState;
  /** The previous values of the changed members; `null` for absent ones. */
  readonly was?: { readonly liftedAt: null };
  /** The account that owns the key. */
  readonly ownerId: number;
  /** When the ban started, if before the event was recorded: milliseconds since the Unix epoch. */
  readonly at?: number;
}

/**
 * Records an event about the current ban of a key; its subject is the account that owns the key. The event has no
 * actor: the limiter imposes bans, and the operator lifts them.
 */
export async function recordBan(tx: Transaction, action: 'imposed' | 'lifted', keyId: string): Promise<void> {
  const { accountId, deployment, bannedAt, until, liftedAt } = (await tx.first(banned, { keyId }))!;
  const data: BanEventData = {
    ban: {
      id: keyId,
      accountId,
      deployment,
      bannedAt: formatTime(bannedAt),
      until: formatTime(until),
      ...(liftedAt !== null && { liftedAt: formatTime(liftedAt) }),
    },
    ...(action === 'lifted' && { was: { liftedAt: null } }),
    ownerId: accountId,
    ...(action === 'imposed' && bannedAt !== tx.now && { at: bannedAt }),
  };
  await record(tx, { kind: 'ban', action, subjectId: accountId, accountId: null, data });
}

const banned = query((db, p: Params<{ keyId: string }>) =>
  db
    .selectFrom('bans')
    .innerJoin('keys', 'keys.id', 'bans.key_id')
    .select([
      'keys.account_id as accountId',
      'keys.deployment',
      'bans.banned_at as bannedAt',
      'bans.until',
      'bans.lifted_at as liftedAt',
    ])
    .where('bans.key_id', '=', p.keyId),
);
