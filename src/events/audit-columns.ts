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

/** Returns the audit columns of an event that is recorded in `tx`. */
export function auditColumnsOf({ origin }: Pick<Transaction, 'origin'>, event: NewEvent): AuditColumns {
  if (origin === undefined || event.automatic) return none;
  if ('command' in origin) {
    const { ownerId = null } = event.data as LoggedData;
    return { origin: JSON.stringify(origin), auditAccountId: event.accountId ?? ownerId };
  }
  const { accountId, ...shown } = origin;
  return { origin: JSON.stringify(shown), auditAccountId: accountId };
}

const none: AuditColumns = { origin: null, auditAccountId: null };
