import type { Deployment } from '../../access/deployment.ts';
import { nowOf } from '../../access/deployment.ts';
import { authoritiesOf, type Dependent } from '../../access/keys/authority.ts';
import type { Origin } from '../../lib/origin.ts';
import { type ErrorCode, problem } from '../../model/errors.ts';
import type { Key } from '../../model/key.ts';
import { type Params, query, type Reader, type Transaction } from '../../model/schema.ts';
import { EVERY_SCOPE } from '../../model/scopes.ts';
import type { AuthorityReason } from '../../model/webhook.ts';
import { type ImportRow, originOf } from './import.ts';
import { saveImport } from './steps.ts';

// An import acts for its key and its account, or only for its account if it was started on a page. When one of them may
// no longer act, the import ends: on production by the transaction of that change; on staging, whose database has no
// keys, by a second transaction, or at the latest before its next step.

interface Ending {
  readonly code: ErrorCode;
  readonly message: string;
}

/** The code and message of an import whose key or account may no longer act. */
export const endings: Readonly<Record<AuthorityReason, Ending>> = {
  key_revoked: { code: 'revoked_api_key', message: 'The API key of the import was revoked.' },
  key_expired: { code: 'expired_api_key', message: 'The API key of the import has expired.' },
  account_suspended: { code: 'account_suspended', message: 'The account is suspended.' },
  account_deleted: { code: 'account_suspended', message: 'The account was deleted.' },
};

/** Returns the key and account that an import depends on. */
export function dependentOf(row: ImportRow): Dependent {
  return dependentFor(row.account_id, originOf(row));
}

/** An import requires no scopes besides those of its request. */
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

/** Returns the error of an upload whose import has ended, or was deleted. */
export function uploadError(row: ImportRow | undefined) {
  return row?.code == null ? problem('import_canceled') : endedError(row.code as ErrorCode);
}

function endedError(code: ErrorCode) {
  const challenge = code === 'account_suspended' ? [] : ['WWW-Authenticate', 'Bearer'];
  return problem(code, undefined, { headers: challenge });
}

/** Ends the import in progress that depends on a revoked key. Idempotent. */
export async function endImportsOfKey(
  tx: Transaction,
  { id, accountId }: Pick<Key, 'id' | 'accountId'>,
): Promise<void> {
  for (const row of await ofKey(tx, accountId, id)) await endImport(tx, row, endings.key_revoked);
}

/** Ends the import in progress of an account. Idempotent. */
export async function endImportsOfAccount(tx: Transaction, accountId: number, reason: AuthorityReason): Promise<void> {
  for (const row of await tx.all(lockInProgress, { accountId })) await endImport(tx, row, endings[reason]);
}

/** Ends the import in progress that a member started on a page, when the member leaves the account. Idempotent. */
export async function endImportsOfMember(tx: Transaction, accountId: number, personId: number): Promise<void> {
  for (const row of await tx.all(lockInProgress, { accountId })) {
    const origin = originOf(row);
    if ('personId' in origin && origin.personId === personId) await endImport(tx, row, memberLeft);
  }
}

const memberLeft: Ending = {
  code: 'import_canceled',
  message: 'The person who started the import has left the account.',
};

/** Moves the import in progress of a key to the key that replaces it. Idempotent. */
export async function handOverImports(
  tx: Transaction,
  { accountId, keyId }: Pick<Dependent, 'accountId' | 'keyId'>,
  toKeyId: string,
): Promise<void> {
  for (const row of await ofKey(tx, accountId, keyId)) {
    await saveImport(tx, row, { origin: JSON.stringify({ ...originOf(row), keyId: toKeyId }) });
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

/** Locks the imports in progress of an account that depend on a key. Waits until their current step ends. */
async function ofKey(tx: Transaction, accountId: number, keyId: string | null): Promise<ImportRow[]> {
  const rows = await tx.all(lockInProgress, { accountId });
  return rows.filter(row => dependentOf(row).keyId === keyId);
}

async function endImport(tx: Transaction, row: ImportRow, ending: Ending): Promise<void> {
  tx.refreshNow();
  await saveImport(tx, row, { state: 'failed', ...ending, ended_at: tx.now, due_at: tx.now });
}

/** An account has at most one import in progress. */
const lockInProgress = query((db, p: Params<{ accountId: number }>, engine) =>
  db
    .selectFrom('imports')
    .selectAll()
    .where('account_id', '=', p.accountId)
    .where('ended_at', 'is', null)
    .$if(engine === 'postgres', rows => rows.forUpdate()),
);

const failedWith = query((db, p: Params<{ accountId: number; code: string }>) =>
  db.selectFrom('imports').selectAll().where('account_id', '=', p.accountId).where('code', '=', p.code).orderBy('id'),
);
