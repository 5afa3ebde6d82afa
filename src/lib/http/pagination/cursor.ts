import { createHash } from 'node:crypto';
import { Problem } from '../problem.ts';

/** A place in a list that goes by id, and the way to read on from it. */
export interface CursorPosition {
  /** Whether the page ends before this place instead of beginning behind it. */
  readonly backward: boolean;
  /** The id that the page neither has nor passes. */
  readonly id: number;
}

/**
 * A place as text: opaque, good for as long as the list is, and for that list alone.
 * @param list says which list it is, with its filters
 */
export function encodeCursor(list: readonly unknown[], { backward, id }: CursorPosition): string {
  return opaque([VERSION, digestOf(list), backward ? 1 : 0, id]);
}

/** The place that a text stands for, or `undefined` where it is none of ours or belongs to another list. */
export function decodeCursor(list: readonly unknown[], cursor: string): CursorPosition | undefined {
  const [version, digest, backward, id] = valuesIn(cursor, 4) ?? [];
  if (version !== VERSION || digest !== digestOf(list) || (backward !== 0 && backward !== 1)) return undefined;
  return isCount(id) ? { backward: backward === 1, id } : undefined;
}

/** The refusal of a cursor that is none, or belongs to another list. */
export function invalidCursor(): Problem {
  const message = 'Must be from a page with the same filters; follow the next link as it is.';
  return new Problem('invalid_parameter', 400, `Invalid parameters. cursor: ${message}`, {
    errors: [{ path: 'cursor', code: 'invalid_value', message }],
  });
}

const VERSION = 1;

/** Values as one text that callers send back as it is. */
export function opaque(values: readonly unknown[]): string {
  return Buffer.from(JSON.stringify(values)).toString('base64url');
}

/** The values of such a text; `undefined` where it is none of so many, with a character more or less also. */
export function valuesIn(text: string, count: number): unknown[] | undefined {
  const bytes = Buffer.from(text, 'base64url');
  // What the decoder skips belongs to no text of ours.
  if (bytes.toString('base64url') !== text) return undefined;
  try {
    const values: unknown = JSON.parse(bytes.toString('utf8'));
    return Array.isArray(values) && values.length === count ? values : undefined;
  } catch {
    return undefined;
  }
}

/**
 * A short text that is another one for other values: it binds a cursor to its list. A collision would only read another
 * list of the same caller on.
 */
export function digestOf(values: readonly unknown[]): string {
  return createHash('sha256').update(JSON.stringify(values)).digest('base64url').slice(0, 8);
}

/** Whether a value is a whole number of 0 or more. */
export function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
