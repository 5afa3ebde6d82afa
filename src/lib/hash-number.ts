import { hash } from 'node:crypto';

/** Returns a number from 1 to 2^48 for a text. Different texts almost always have different numbers. */
export function hashNumber(text: string): number {
  return hash('sha256', text, 'buffer').readUIntBE(0, 6) + 1;
}
