import { record } from '../events/log.ts';
import { formatTime } from '../lib/time.ts';
import type { HoldOutcome, Transaction } from '../schema.ts';
import type { Hold } from './hold.ts';
import type { HoldRow } from './rows.ts';

/** A hold as the log has it. */
export type HoldState = Pick<Hold, 'petIds' | 'accountId' | 'status' | 'note' | 'expiresAt'>;

/** What the log says of a hold. */
export interface HoldEventData {
  /** The hold after the change. */
  readonly hold: HoldState;
  /** What changed: the members as they were before. */
  readonly was?: Partial<HoldState>;
  /** Whose animals they are; absent in what earlier releases wrote down. */
  readonly ownerIds?: readonly number[];
  /** When it happened, where that was before it was written down: milliseconds since the Unix epoch. */
  readonly at?: number;
}

/**
 * Writes down what happened to a hold, in the transaction in which it does.
 * @param accountId who did it; `null` for the operator and for what happened by itself
 */
export async function recordHoldEvent(
  tx: Transaction,
  action: 'created' | 'extended' | HoldOutcome,
  hold: HoldRow,
  accountId: number | null,
  more: Omit<HoldEventData, 'hold'> = {},
): Promise<void> {
  const data: HoldEventData = { hold: stateOf(hold), ownerIds: [...new Set(hold.ownerIds)], ...more };
  await record(tx, { kind: 'hold', action, subjectId: hold.id, accountId, data });
}

function stateOf({ petIds, accountId, status, note, expiresAt }: HoldRow): HoldState {
  return {
    petIds: [...petIds],
    accountId,
    status,
    ...(note !== null && { note }),
    expiresAt: formatTime(expiresAt),
  };
}
