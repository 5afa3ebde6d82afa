import type { Origin } from '../lib/origin.ts';
import type { Transaction } from '../schema.ts';
import type { NewEvent } from './event.ts';
import type { LoggedData } from './owners.ts';

/** The columns of an event that only the audit log shows; both are `null` for automatic changes. */
export interface AuditColumns {
  /** The key, request id and address of a request, or the command of the operator: a JSON object. */
  readonly origin: string | null;
  /** The account that can see the entry: that of the key, or the one that a command acted for or upon. */
  readonly auditAccountId: number | null;
}

/** The JSON of the latest request. A request records several events. */
let latest: { readonly origin: Origin; readonly json: string } | undefined;

/** Returns the audit columns of an event that is recorded in `tx`. */
export function auditColumnsOf({ origin }: Pick<Transaction, 'origin'>, event: NewEvent): AuditColumns {
  if (origin === undefined || event.automatic) return none;
  if ('command' in origin) {
    const { ownerId = null } = event.data as LoggedData;
    return { origin: JSON.stringify(origin), auditAccountId: event.accountId ?? ownerId };
  }
  const { accountId, ...shown } = origin;
  if (latest?.origin !== origin) latest = { origin, json: JSON.stringify(shown) };
  return { origin: latest.json, auditAccountId: accountId };
}

const none: AuditColumns = { origin: null, auditAccountId: null };
