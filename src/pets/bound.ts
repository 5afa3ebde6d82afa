import { problem } from '../errors.ts';
import { onePer } from '../lib/one-per.ts';
import { countText } from '../lib/text.ts';
import { lockBound } from '../plans/lock.ts';
import type { Transaction } from '../schema.ts';
import { countOwned, countOwnedSoFar } from './counts.ts';

/**
 * Throws `pet_limit_exceeded` if an account has `max` pets. Call it once before each pet that a transaction adds.
 *
 * On PostgreSQL, transactions that add pets of one account run at the same time while it has room for many more. Near the
 * bound, they run one after the other, so that together they cannot exceed it.
 * @param planned how many pets count beside those of the account
 */
export async function requireRoomForPet(
  tx: Transaction,
  accountId: number,
  max: number,
  planned: number,
): Promise<void> {
  if (max === Number.POSITIVE_INFINITY) return;
  const stored =
    tx.engine === 'sqlite' ? await countOwnedSoFar(tx, accountId) : await countWithLock(tx, accountId, max - planned);
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

/** More than the pets that the transactions on all connections add together. */
const MARGIN = 1000;

/** The pets of accounts as a transaction on PostgreSQL counted them, with those that it has added since. */
const countedIn = onePer(() => new Map<number, number>());
