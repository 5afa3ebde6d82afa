import { timingSafeEqual } from 'node:crypto';

/** Reports whether two texts are equal. The time depends only on their lengths, which are not secret. */
export function equalsInConstantTime(actual: string, expected: string): boolean {
  const [a, b] = [Buffer.from(actual), Buffer.from(expected)];
  return a.length === b.length && timingSafeEqual(a, b);
}
