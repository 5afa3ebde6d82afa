import { problem } from '../errors.ts';
import { digestOf, isCount, opaque, valuesIn } from '../lib/http/pagination/cursor.ts';
import type { Problem } from '../lib/http/problem.ts';
import type { Pet, PetStatus } from './pet.ts';

/** In which order animals are listed: by id or by name, by code point and with ties by id; `-` for the other way. */
export type PetSort = 'id' | '-id' | 'name' | '-name';

/** Which animals a list has, and in which order. */
export interface PetFilter {
  /** Only these ids. */
  readonly id?: readonly number[] | undefined;
  /** Only with one of these statuses. */
  readonly status?: readonly PetStatus[] | undefined;
  readonly categoryId?: number | undefined;
  /** Whether those of every category below that one are in it, too. */
  readonly includeDescendants?: boolean | undefined;
  readonly sort: PetSort;
}

/** A place between two animals of a list, and the way to read on from it. */
export interface Cursor {
  /** Whether the page ends before this place instead of beginning behind it. */
  readonly backward: boolean;
  readonly id: number;
  /** Where the list is sorted by name. */
  readonly name: string;
}

/**
 * A cursor as text: opaque, good for as long as the animals are, and only with the same filters and sort.
 * It names a place by what is there, so it stays right when animals come and go.
 */
export function encodeCursor(filter: PetFilter, cursor: Cursor): string {
  const place = [VERSION, digest(filter), cursor.backward ? 1 : 0, cursor.id];
  return opaque(byName(filter.sort) ? [...place, cursor.name] : place);
}

/** The cursor that a text stands for, or `undefined` where it is none of ours or belongs to another list. */
export function decodeCursor(filter: PetFilter, text: string): Cursor | undefined {
  const [version, filters, backward, id, name = ''] = valuesIn(text, byName(filter.sort) ? 5 : 4) ?? [];
  if (version !== VERSION || filters !== digest(filter) || (backward !== 0 && backward !== 1)) return undefined;
  if (!isCount(id) || typeof name !== 'string' || !isStorable(name)) return undefined;
  return { backward: backward === 1, id, name };
}

/** Where one animal stands in the list. */
export function placeOf(pet: Pick<Pet, 'id' | 'name'>, backward: boolean): Cursor {
  return { backward, id: pet.id, name: pet.name };
}

/** Whether a sort goes by name. */
export function byName(sort: PetSort): boolean {
  return sort === 'name' || sort === '-name';
}

/** The refusal of one parameter of a list. */
export function invalidParameter(name: string, message: string, code = 'invalid_value'): Problem {
  return problem('invalid_parameter', `Invalid parameters. ${name}: ${message}`, {
    errors: [{ path: name, code, message }],
  });
}

/** The refusal of a cursor that is none, or belongs to another list. */
export function foreignCursor(): Problem {
  return invalidParameter(
    'cursor',
    'Must be from a page with the same filters and sort; follow the next link as it is.',
  );
}

const VERSION = 1;

/** Binds a cursor to its list. A collision would only show another list's page, which the caller may see anyway. */
function digest({ id = [], status = [], categoryId, includeDescendants, sort }: PetFilter): string {
  const filters: unknown[] = [[...id].sort((a, b) => a - b), [...status].sort(), categoryId ?? 0, sort];
  if (includeDescendants) filters.push('descendants');
  return digestOf(filters);
}

/** PostgreSQL takes no NUL in a text, and neither engine a lone surrogate. */
function isStorable(name: string): boolean {
  return name.isWellFormed() && !name.includes('\0');
}
