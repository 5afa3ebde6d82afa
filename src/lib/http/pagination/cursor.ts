import { hash } from 'node:crypto';
import { invalidParameter, type Problem } from '../problem.ts';

/** The position of a row in a list: its id and, in a list sorted by another column, the value of that column. */
export interface Position {
  readonly id: number;
  readonly key?: string | undefined;
}

/** The position and the direction in which a page is read. */
export interface CursorPosition extends Position {
  /** Whether the page ends before the position instead of beginning after it. */
  readonly backward: boolean;
}

/**
 * Encodes a position as an opaque cursor. A cursor works only with the list and the filters that it was made for.
 * @param list identifies the list and its filters
 */
export function encodeCursor(list: readonly unknown[], { backward, id, key }: CursorPosition): string {
  const values = [backward ? 1 : 0, id];
  return encodeListToken(list, key === undefined ? values : [...values, key]);
}

/**
 * Returns the position that a cursor holds, or `undefined` if the text is not a cursor of this list.
 * @param keyed whether the list is sorted by a column other than the id
 */
export function decodeCursor(list: readonly unknown[], cursor: string, keyed = false): CursorPosition | undefined {
  const [backward, id, key] = decodeListToken(list, cursor, keyed ? 3 : 2) ?? [];
  if ((backward !== 0 && backward !== 1) || !isCount(id)) return undefined;
  if (!keyed) return { backward: backward === 1, id };
  return typeof key === 'string' && isStorable(key) ? { backward: backward === 1, id, key } : undefined;
}

/** Encodes values as an opaque text that is bound to a list and its filters. */
export function encodeListToken(list: readonly unknown[], values: readonly unknown[]): string {
  return encodeOpaque([VERSION, digestOf(list), ...values]);
}

/** Returns the values of a text from `encodeListToken`, or `undefined` for any other text, list or number of values. */
export function decodeListToken(list: readonly unknown[], text: string, count: number): unknown[] | undefined {
  const [version, digest, ...values] = decodeOpaque(text, count + 2) ?? [];
  return version === VERSION && digest === digestOf(list) ? values : undefined;
}

/** Returns the `invalid_parameter` error for a cursor of another list. */
export function invalidCursor(): Problem {
  return invalidParameter(
    'cursor',
    'Must come from a page with the same filters and sort order; follow the next link unchanged.',
  );
}

const VERSION = 1;

/** Encodes values as one text that callers send back unchanged. */
export function encodeOpaque(values: readonly unknown[]): string {
  return Buffer.from(JSON.stringify(values)).toString('base64url');
}

/** Returns the values of a text from `encodeOpaque`, or `undefined` for any other text or number of values. */
export function decodeOpaque(text: string, count: number): unknown[] | undefined {
  const bytes = Buffer.from(text, 'base64url');
  // The decoder skips invalid characters; reject them.
  if (bytes.toString('base64url') !== text) return undefined;
  try {
    const values: unknown = JSON.parse(bytes.toString('utf8'));
    return Array.isArray(values) && values.length === count ? values : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Returns a short hash that binds a cursor to its list. After a collision, a caller could only use a cursor of another
 * list of their own.
 */
function digestOf(values: readonly unknown[]): string {
  return hash('sha256', JSON.stringify(values), 'base64url').slice(0, 8);
}

/** Reports whether a value is a non-negative integer. */
export function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

/** Reports whether both engines accept a text: PostgreSQL rejects NUL, and neither stores a lone surrogate. */
function isStorable(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0');
}
