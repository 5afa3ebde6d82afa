import { record } from '../events/log.ts';
import { formatTime } from '../lib/time.ts';
import { type DeploymentName, type Params, query, type Transaction } from '../schema.ts';

/** The ban of a key as the log has it. */
export interface BanState {
  /** The key. */
  readonly id: string;
  readonly accountId: number;
  /** The deployment that the key opens. */
  readonly deployment: DeploymentName;
  readonly bannedAt: string;
  readonly until: string;
  readonly liftedAt?: string;
}

/** What the log says of a ban. */
export interface BanEventData {
  /** The ban after the change. */
  readonly ban: BanState;
  /** What changed: the members as they were before, `null` for those that were absent. */
  readonly was?: { readonly liftedAt: null };
  /** Whose key it is. */
  readonly ownerId: number;
  /** When it began, where that was before it was written down: milliseconds since the Unix epoch. */
  readonly at?: number;
}

/**
 * Writes down what happened to the ban of a key, as it stands by now; its subject is the account that the key belongs to.
 * Nobody did it: a ban comes by itself, and the operator lifts it.
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
