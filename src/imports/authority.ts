import type { Deployment } from '../deployment.ts';
import { nowOf } from '../deployment.ts';
import { type ErrorCode, problem } from '../errors.ts';
import { authoritiesOf, type Dependent } from '../keys/authority.ts';
import { EVERY_SCOPE, type Key } from '../keys/key.ts';
import type { Origin } from '../lib/origin.ts';
import { type Params, query, type Reader, type Transaction } from '../schema.ts';
import type { AuthorityReason } from '../webhooks/webhook.ts';
import { returnRows } from './budget.ts';
import { type ImportRow, originOf } from './import.ts';

// An import acts for the key that began it and for its account, or for its account alone if it was begun on a page. When one
// of them may no longer act, the import ends: in production by the transaction of that change; in staging, whose database has
// no keys, by a second transaction, or else before its next step.

/** Why an import fails whose key or account may no longer act. */
export const endings: Readonly<Record<AuthorityReason, { readonly code: ErrorCode; readonly message: string }>> = {
  key_revoked: { code: 'revoked_api_key', message: 'The API key of the import was revoked.' },
  key_expired: { code: 'expired_api_key', message: 'The API key of the import has expired.' },
  account_suspended: { code: 'account_suspended', message: 'The account is suspended.' },
  account_deleted: { code: 'account_suspended', message: 'The account was deleted.' },
};

/** Returns what an import depends on. */
export function dependentOf(row: ImportRow): Dependent {
  return dependentFor(row.account_id, originOf(row));
}

/** An import needs no other scope than its request did. */
function dependentFor(accountId: number, origin: Origin): Dependent {
  return { accountId, keyId: 'keyId' in origin ? origin.keyId : null, scopes: EVERY_SCOPE };
}

/**
 * Requires that the key and the account that sent a file may still act.
 * @throws {Problem} `revoked_api_key`; `expired_api_key`; `account_suspended`
 */
export async function requireAuthority(deployment: Deployment, accountId: number, origin: Origin): Promise<void> {
  const dependents = [dependentFor(accountId, origin)];
  const [authority] = await authoritiesOf(deployment.webhooks.accounts, dependents, nowOf(deployment));
  if (authority!.ended !== undefined) throw endedError(endings[authority!.ended].code);
}

/** Returns the error of an upload whose import has ended. */
export async function uploadError(reader: Reader, id: number) {
  const row = await reader.first(codeOf, { id });
  return row?.code == null ? problem('import_canceled') : endedError(row.code as ErrorCode);
}

function endedError(code: ErrorCode) {
  const challenge = code === 'account_suspended' ? [] : ['WWW-Authenticate', 'Bearer'];
  return problem(code, undefined, { headers: challenge });
}

/** Ends the import in progress that depends on a key which is revoked. Idempotent. */
export async function endImportsOfKey(
  tx: Transaction,
  { id, accountId }: Pick<Key, 'id' | 'accountId'>,
): Promise<void> {
  for (const row of await ofKey(tx, accountId, id)) await endImport(tx, row, 'key_revoked');
}

/** Ends the import in progress of an account. Idempotent. */
export async function endImportsOfAccount(tx: Transaction, accountId: number, reason: AuthorityReason): Promise<void> {
  for (const row of await tx.all(lockInProgress, { accountId })) await endImport(tx, row, reason);
}

/** Makes the import in progress that depends on a key depend on the one that replaces it. Idempotent. */
export async function handOverImports(
  tx: Transaction,
  { accountId, keyId }: Pick<Dependent, 'accountId' | 'keyId'>,
  toKeyId: string,
): Promise<void> {
  for (const row of await ofKey(tx, accountId, keyId)) {
    await tx.run(setOrigin, { id: row.id, origin: JSON.stringify({ ...originOf(row), keyId: toKeyId }) });
  }
}

/** Returns the imports that the revocation of a key has ended, by id ascending. */
export async function importsEndedWith(
  reader: Reader,
  { id, accountId }: Pick<Key, 'id' | 'accountId'>,
): Promise<ImportRow[]> {
  const rows = await reader.all(failedWith, { accountId, code: endings.key_revoked.code });
  return rows.filter(row => dependentOf(row).keyId === id);
}

/** Locks the imports in progress of an account that depend on a key: waits until their step is done. */
async function ofKey(tx: Transaction, accountId: number, keyId: string | null): Promise<ImportRow[]> {
  const rows = await tx.all(lockInProgress, { accountId });
  return rows.filter(row => dependentOf(row).keyId === keyId);
}

async function endImport(tx: Transaction, { id }: ImportRow, reason: AuthorityReason): Promise<void> {
  tx.refreshNow();
  const ended = await tx.first(fail, { id, now: tx.now, ...endings[reason] });
  await returnRows(tx, ended!);
}

/** An account has at most one. */
const lockInProgress = query((db, p: Params<{ accountId: number }>, engine) =>
  db
    .selectFrom('imports')
    .selectAll()
    .where('account_id', '=', p.accountId)
    .where('ended_at', 'is', null)
    .$if(engine === 'postgres', rows => rows.forUpdate()),
);

const fail = query((db, p: Params<{ id: number; code: string; message: string; now: number }>) =>
  db
    .updateTable('imports')
    .set({ state: 'failed', code: p.code, message: p.message, ended_at: p.now, due_at: p.now })
    .where('id', '=', p.id)
    .returningAll(),
);

const setOrigin = query((db, p: Params<{ id: number; origin: string }>) =>
  db.updateTable('imports').set({ origin: p.origin }).where('id', '=', p.id),
);

const failedWith = query((db, p: Params<{ accountId: number; code: string }>) =>
  db.selectFrom('imports').selectAll().where('account_id', '=', p.accountId).where('code', '=', p.code).orderBy('id'),
);

const codeOf = query((db, p: Params<{ id: number }>) => db.selectFrom('imports').select('code').where('id', '=', p.id));
