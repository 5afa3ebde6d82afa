import { countText } from '../../lib/text.ts';
import { problem } from '../../model/errors.ts';
import type { Transaction } from '../../model/schema.ts';
import { accountCounter } from './account-counter.ts';

/**
 * The bytes of text that each account stores: its messages, the bodies of its idempotent responses, and rows that wait
 * to be imported.
 */
export const storedBytes = accountCounter('stored_bytes', 'bytes');

/**
 * Counts bytes that an account stores, in the transaction that stores them. Call it last: on PostgreSQL, the account's
 * next transaction that stores text waits until this one ends. Transactions lock the number of open orders before that
 * of stored bytes, so they cannot deadlock.
 * @throws {Problem} `storage_limit_exceeded`
 */
export async function countStored(tx: Transaction, accountId: number, bytes: number, max: number): Promise<void> {
  if (bytes === 0) return;
  const stored = await storedBytes.add(tx, accountId, bytes);
  if (stored <= max) return;
  const message = `The account stores ${countText(stored - bytes)} bytes of texts, and ${countText(bytes)} more would exceed ${countText(max)}, the maximum of its plan.`;
  throw problem('storage_limit_exceeded', message);
}

/** Counts the texts of deleted rows, in the transaction that deletes them. */
export function countDeleted(
  tx: Transaction,
  rows: readonly { readonly accountId: number | null; readonly bytes: number }[],
): void {
  for (const { accountId, bytes } of rows) if (accountId !== null) storedBytes.addLater(tx, accountId, -bytes);
}
