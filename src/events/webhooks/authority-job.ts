import { type RegistryJob, registryJob } from '../../access/accounts/registry-job.ts';
import { authoritiesOf } from '../../access/keys/authority.ts';
import { type Database, query, sql } from '../../model/schema.ts';
import { disableUnauthorized, handOverWebhooks } from './disable.ts';

interface AuthorityDeps {
  readonly database: Database;
  /** Production's database, which stores accounts and keys. */
  readonly accounts: Database;
  now(): number;
}

/**
 * Returns the job that disables webhooks whose key or account may no longer act, and moves webhooks of rotated keys to
 * the new key. It runs after an expiry; on staging, whose database has no keys, after every change of a key or account.
 */
export function authorityJob({ database, accounts, now }: AuthorityDeps): RegistryJob<'authority'> {
  return registryJob('authority', { accounts, now }, async startedAt => {
    const { rows, expiresAt } = await enforceAuthority(database, accounts, startedAt);
    return { rows, dueAt: expiresAt };
  });
}

/**
 * Disables the webhooks whose authority has ended, and moves webhooks of rotated keys to the new key.
 * @returns the number of changed webhooks, and when the next key of a webhook expires
 */
export async function enforceAuthority(
  database: Database,
  accounts: Database,
  now: number,
): Promise<{ readonly rows: number; readonly expiresAt: number }> {
  const webhooks = await database.all(activeDependents, {});
  if (webhooks.length === 0) return { rows: 0, expiresAt: Number.POSITIVE_INFINITY };
  let rows = 0;
  let expiresAt = Number.POSITIVE_INFINITY;
  const authorities = await authoritiesOf(accounts, webhooks, now);
  for (const [index, webhook] of webhooks.entries()) {
    const { keyId, ended, ...authority } = authorities[index]!;
    if (keyId !== webhook.keyId) {
      rows += (await database.write(tx => handOverWebhooks(tx, webhook.keyId!, keyId))).length;
    }
    if (ended === undefined) expiresAt = Math.min(expiresAt, authority.expiresAt);
    else rows += (await database.write(tx => disableUnauthorized(tx, { ...webhook, keyId }, ended))).length;
  }
  return { rows, expiresAt };
}

const activeDependents = query(db =>
  db
    .selectFrom('webhooks')
    .select(['account_id as accountId', 'key_id as keyId', sql<string>`'*'`.as('scopes')])
    .distinct()
    .where('status', '=', sql.lit('active'))
    .where('deleted_at', 'is', null),
);
