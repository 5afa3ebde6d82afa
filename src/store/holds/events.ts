import type { HoldOutcome, HoldRow, HoldState } from '../../model/hold.ts';
import { record } from '../../model/log/log.ts';
import type { Transaction } from '../../model/schema.ts';
import { holdValues } from './rows.ts';

export interface HoldEventData {
  readonly hold: HoldState;
  /** The previous values of the members that changed. */
  readonly was?: Partial<HoldState>;
  /** The owners of the pets; absent in events of earlier releases. */
  readonly ownerIds?: readonly number[];
  /** When the change took effect, if before the event was recorded: milliseconds since the Unix epoch. */
  readonly at?: number;
}

/**
 * Records an event of a hold in the transaction of the change.
 * @param accountId the account that made the change; `null` for the operator and for an expiry
 */
export async function recordHoldEvent(
  tx: Transaction,
  action: 'created' | 'extended' | HoldOutcome,
  hold: HoldRow,
  accountId: number | null,
  more: Omit<HoldEventData, 'hold'> = {},
): Promise<void> {
  const data: HoldEventData = { hold: holdValues.stateOf(hold), ownerIds: [...new Set(hold.ownerIds)], ...more };
  await record(tx, { kind: 'hold', action, subjectId: hold.id, accountId, data });
}
