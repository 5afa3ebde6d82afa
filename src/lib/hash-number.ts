import { hash } from 'node:crypto';

/** Returns a number from 1 to 2^48 for a text: the same for equal texts, almost always another one for others. */
export function hashNumber(text: string): number {
  return hash('sha256', text, 'buffer').readUIntBE(0, 6) + 1;
}
