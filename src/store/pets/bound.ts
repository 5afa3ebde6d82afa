import { lockBound } from '../../access/plans/lock.ts';
import { onePer } from '../../lib/one-per.ts';
import { countText } from '../../lib/text.ts';
import { problem } from '../../model/errors.ts';
import type { Transaction } from '../../model/schema.ts';
import { countOwned, ownerKey, petCounters } from './counts.ts';

/**
 * Throws `pet_limit_exceeded` if an account has `max` pets. Call it once before each pet that a transaction adds.
 *
 * On PostgreSQL, transactions that add pets of one account run concurrently while it is far below the bound. Near the
 * bound, they run one after the other, so that together they cannot exceed it.
 * @param planned the number of pets that count in addition to those of the account
 */
export async function requireRoomForPet(
  tx: Transaction,
  accountId: number,
  max: number,
  planned: number,
): Promise<void> {
  if (max === Number.POSITIVE_INFINITY) return;
  const stored =
    tx.engine === 'sqlite'
      ? await tx.incrementAndGet(petCounters, ownerKey(accountId), 0)
      : await countWithLock(tx, accountId, max - planned);
  const owned = stored + planned;
  if (owned < max) return;
  const message = `The account has ${countText(owned)} animals, and its plan allows ${countText(max)}.`;
  throw problem('pet_limit_exceeded', `${message} Delete animals that you no longer need.`);
}

async function countWithLock(tx: Transaction, accountId: number, max: number): Promise<number> {
  const counts = countedIn(tx);
  const owned = counts.get(accountId) ?? (await countOwned(tx, accountId));
  counts.set(accountId, owned + 1);
  if (owned + MARGIN < max) return owned;
  await lockBound(tx, 'pets', accountId);
  return countOwned(tx, accountId);
}

/** More pets than the transactions on all connections add together. */
const MARGIN = 1000;

/** The number of pets of accounts, counted by a transaction on PostgreSQL, plus the pets that it has added since. */
const countedIn = onePer(() => new Map<number, number>());
