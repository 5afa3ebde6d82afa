import type { Transaction } from './database.ts';

/**
 * Returns the slot in which a transaction on PostgreSQL increments counters. Concurrent transactions would wait for each
 * other's counter rows, so each counter is the sum of several slots. A transaction uses one slot for all counters, so
 * that two transactions conflict at their first row and cannot deadlock. SQLite runs one at a time, and uses slot 0.
 */
export function slotOf(tx: Transaction): number {
  return slots.getOrInsertComputed(tx, randomSlot);
}

/** Makes a transaction use the first slot. Counters have few rows if the transactions that increment them call this. */
export function useFirstSlot(tx: Transaction): void {
  slots.set(tx, 0);
}

const slots = new WeakMap<Transaction, number>();
const randomSlot = () => Math.floor(Math.random() * SLOTS);
const SLOTS = 32;
