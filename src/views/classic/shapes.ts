/**
 * A type of a member, as Jackson reads it: numbers and texts are converted into each other, a missing number is 0, a
 * missing list is empty, and any other missing member stays missing. An `id` is a `long` that stays missing.
 */
export type MemberType = 'id' | 'long' | 'int' | 'boolean' | 'text' | 'date' | ClassicShape | ListType;

export interface ListType {
  readonly items: 'text' | ClassicShape;
  /** The name of an item in XML. */
  readonly item: string;
}

/** The members of an object, in order. */
export interface ClassicShape {
  /** The name in the documents. */
  readonly name: string;
  readonly members: Readonly<Record<string, MemberType>>;
}

/** An object of a shape. An `id` and a `long` are bigints, a `date` is a `Date`. */
export type Item = Record<string, unknown>;

/** A value that does not fit its type. */
export class MismatchError extends Error {}

const category: ClassicShape = { name: 'Category', members: { id: 'long', name: 'text' } };
const tag: ClassicShape = { name: 'Tag', members: { id: 'long', name: 'text' } };

export const pet: ClassicShape = {
  name: 'Pet',
  members: {
    id: 'id',
    category,
    name: 'text',
    photoUrls: { items: 'text', item: 'photoUrl' },
    tags: { items: tag, item: 'tag' },
    status: 'text',
  },
};

export const order: ClassicShape = {
  name: 'Order',
  members: { id: 'long', petId: 'long', quantity: 'int', shipDate: 'date', status: 'text', complete: 'boolean' },
};

export const user: ClassicShape = {
  name: 'User',
  members: {
    id: 'long',
    username: 'text',
    firstName: 'text',
    lastName: 'text',
    email: 'text',
    password: 'text',
    phone: 'text',
    userStatus: 'int',
  },
};

export const apiResponse: ClassicShape = {
  name: 'ApiResponse',
  members: { code: 'int', type: 'text', message: 'text' },
};

/** The named shapes of the documents. */
export const shapes = [order, category, user, tag, pet, apiResponse];

/**
 * Returns the members of a value that the shape knows.
 * @throws {MismatchError}
 */
export function readItem({ members }: ClassicShape, value: unknown): Item {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new MismatchError();
  const item: Item = {};
  for (const [name, type] of Object.entries(members)) {
    const read = readMember(type, Object.hasOwn(value, name) ? (value as Item)[name] : undefined);
    if (read !== undefined) item[name] = read;
  }
  return item;
}

/**
 * Returns the items of a list.
 * @throws {MismatchError}
 */
export function readItems(shape: ClassicShape, value: unknown): Item[] {
  if (!Array.isArray(value)) throw new MismatchError();
  return value.map(one => readItem(shape, one));
}

function readMember(type: MemberType, value: unknown): unknown {
  if (typeof type === 'string') return scalars[type](value);
  if ('members' in type) return value === undefined || value === null ? undefined : readItem(type, value);
  if (value === undefined) return [];
  if (value === null) return undefined;
  if (!Array.isArray(value)) throw new MismatchError();
  return value.map(one => (one === null ? null : readMember(type.items, one)));
}

const LONG_MAX = 2n ** 63n - 1n;
const INT_MAX = 2n ** 31n - 1n;

const scalars: Readonly<Record<Extract<MemberType, string>, (value: unknown) => unknown>> = {
  id: value => (value === undefined || value === null ? undefined : wholeNumber(value, LONG_MAX)),
  long: value => wholeNumber(value, LONG_MAX),
  int: value => Number(wholeNumber(value, INT_MAX)),
  boolean(value) {
    if (value === undefined || value === null || value === '') return false;
    if (typeof value === 'boolean') return value;
    if (typeof value === 'number') return value !== 0;
    if (value === 'true' || value === 'false') return value === 'true';
    throw new MismatchError();
  },
  text(value) {
    if (value === undefined || value === null) return undefined;
    if (typeof value === 'object') throw new MismatchError();
    return String(value);
  },
  date(value) {
    if (value === undefined || value === null || value === '') return undefined;
    const ms = typeof value === 'number' ? value : typeof value === 'string' ? dateOf(value) : Number.NaN;
    const date = new Date(ms);
    const year = date.getUTCFullYear();
    if (!(year >= 0 && year <= 9999)) throw new MismatchError();
    return date;
  },
};

/** Returns a number without its fraction. */
function wholeNumber(value: unknown, max: bigint): bigint {
  if (value === undefined || value === null || value === '') return 0n;
  let number: bigint | undefined;
  if (typeof value === 'bigint') number = value;
  else if (typeof value === 'number' && Number.isFinite(value)) number = BigInt(Math.trunc(value));
  else if (typeof value === 'string') number = parseLong(value.trim());
  if (number === undefined || number > max || number < -max - 1n) throw new MismatchError();
  return number;
}

/** Returns the number that Java's `Long.parseLong` returns, or undefined where it throws. */
export function parseLong(text: string): bigint | undefined {
  if (!/^[+-]?\d{1,100}$/.test(text)) return undefined;
  const number = BigInt(text.replace('+', ''));
  return number > LONG_MAX || number < -LONG_MAX - 1n ? undefined : number;
}

/** A date with an optional time and zone; without a zone, UTC. */
const DATE = /^(\d{4}-\d\d-\d\d)(?:T(\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?)(Z|[+-]\d\d(?::?\d\d)?)?)?$/;

function dateOf(text: string): number {
  const match = DATE.exec(text.trim());
  if (match === null) return Number.NaN;
  const [, date, time = '00:00', zone = 'Z'] = match;
  const offset = zone.replace(/^([+-]\d\d)$/, '$1:00').replace(/^([+-]\d\d)(\d\d)$/, '$1:$2');
  return Date.parse(`${date}T${time}${offset}`);
}
