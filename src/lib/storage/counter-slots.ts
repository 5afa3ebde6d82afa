import type { Transaction } from './database.ts';

/**
 * Returns the slot in which a transaction increments counters. On PostgreSQL concurrent transactions would wait for each
 * other's counter rows, so each counter is the sum of several slots. A transaction uses one slot, so that two of them meet at
 * the first row and cannot deadlock.
 */
export function slotOf(tx: Transaction): number {
  return tx.engine === 'sqlite' ? 0 : slots.getOrInsertComputed(tx, randomSlot);
}

/** Makes a transaction use the first slot: its counters have few rows if the transactions that increment them do this. */
export function useFirstSlot(tx: Transaction): void {
  slots.set(tx, 0);
}

const slots = new WeakMap<Transaction, number>();
const randomSlot = () => Math.floor(Math.random() * SLOTS);
const SLOTS = 32;
