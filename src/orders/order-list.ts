import { createHash } from 'node:crypto';
import type { OrderStatus } from '../schema.ts';

/** Which orders a list has, of those that its reader may see. They come by rising id. */
export interface OrderFilter {
  /** Only with one of these statuses. */
  readonly status?: readonly OrderStatus[] | undefined;
  /** Only of this animal. */
  readonly petId?: number | undefined;
}

/** A place beside an order of a list, and the way to read on from it. */
export interface Cursor {
  /** Whether the page ends before this place instead of beginning behind it. */
  readonly backward: boolean;
  readonly id: number;
}

/** A cursor as text: opaque, good for as long as the orders are, and only with the same filters. */
export function encodeCursor(filter: OrderFilter, { backward, id }: Cursor): string {
  return Buffer.from(JSON.stringify([VERSION, digest(filter), backward ? 1 : 0, id])).toString('base64url');
}

/** The cursor that a text stands for, or `undefined` where it is none of ours or belongs to another list. */
export function decodeCursor(filter: OrderFilter, text: string): Cursor | undefined {
  let place: unknown;
  try {
    place = JSON.parse(Buffer.from(text, 'base64url').toString('utf8'));
  } catch {
    return undefined;
  }
  if (!Array.isArray(place) || place.length !== 4) return undefined;
  const [version, filters, backward, id] = place as unknown[];
  if (version !== VERSION || filters !== digest(filter) || (backward !== 0 && backward !== 1)) return undefined;
  if (!Number.isSafeInteger(id) || (id as number) < 0) return undefined;
  return { backward: backward === 1, id: id as number };
}

const VERSION = 1;

/** Binds a cursor to its list. Who reads sees only what he may, with whosever cursor. */
function digest({ status = [], petId }: OrderFilter): string {
  const text = JSON.stringify(['orders', [...status].sort(), petId ?? 0]);
  return createHash('sha256').update(text).digest('base64url').slice(0, 8);
}
