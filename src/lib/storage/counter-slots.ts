import { onePer } from '../one-per.ts';
import type { Transaction } from './database.ts';

/**
 * Returns the slot in which a transaction increments counters. On PostgreSQL concurrent transactions would wait for each
 * other's counter rows, so each counter is the sum of several slots. A transaction uses one slot, so that two of them meet at
 * the first row and cannot deadlock.
 */
export function slotOf(tx: Transaction): number {
  return tx.engine === 'sqlite' ? 0 : randomSlotOf(tx);
}

const randomSlotOf = onePer((): number => Math.floor(Math.random() * SLOTS));
const SLOTS = 32;
