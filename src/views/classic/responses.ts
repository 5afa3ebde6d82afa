import type { AdmittedViewRequest, ViewRequest, ViewResponse } from '../../lib/http/server/view.ts';
import { formatJson } from './json.ts';
import { prefersXml } from './requests.ts';
import { type ClassicShape, type Item, pet } from './shapes.ts';
import type { ClassicStore } from './store.ts';
import { formatXml, type XmlFormat } from './xml.ts';

/** Responds to the request of an operation. */
export type ClassicHandler = (
  request: AdmittedViewRequest,
  store: ClassicStore,
) => Promise<ClassicResponse> | ClassicResponse;

/** A response: its bytes, or its content, which is encoded in the format that the client prefers. */
export type ClassicResponse = ViewResponse | ClassicContent;

/** A response with an object, or a list below `root`. Its status is 200 by default. */
export interface ClassicContent extends Partial<Omit<ViewResponse, 'bytes' | 'contentType'>> {
  readonly shape: ClassicShape;
  readonly value: Item | readonly Item[];
  /** The name of the root in XML. By default, that of the shape. */
  readonly root?: string;
}

/** The original names no charset. */
export const JSON_TYPE = 'application/json';

/** Encodes a response, and adds the headers that every response of the original has. */
export function encode(request: ViewRequest, format: XmlFormat, response: ClassicResponse): ViewResponse {
  const headers = [...(response.headers ?? []), ...cors];
  if ('bytes' in response) return { ...response, headers };
  const { shape, value, root = shape.name, ...rest } = response;
  const content = prefersXml(request)
    ? { contentType: 'application/xml', bytes: formatXml(shape, value, root, format) }
    : { contentType: JSON_TYPE, bytes: formatJson(value, format.formatDate) };
  return { status: 200, ...rest, ...content, headers };
}

const cors = [
  ...['Access-Control-Allow-Methods', 'GET, POST, DELETE, PUT'],
  ...['Access-Control-Allow-Headers', 'Content-Type, api_key, Authorization'],
];

/** Returns a list of the pets with one of these statuses. */
export function petsWithStatus(store: ClassicStore, statuses: readonly string[]): Promise<ClassicContent> {
  return findPets(store, statuses, ({ status }) => [status]);
}

/** Returns a list of the pets with one of these tags. */
export function petsWithTags(store: ClassicStore, names: readonly string[]): Promise<ClassicContent> {
  return findPets(store, names, ({ tags = [] }) => (tags as readonly (Item | null)[]).map(tag => tag?.['name']));
}

async function findPets(
  store: ClassicStore,
  values: readonly string[],
  valuesOf: (item: Item) => readonly unknown[],
): Promise<ClassicContent> {
  // Requests can name thousands of tags, and sandboxes contain tens of thousands.
  const wanted = new Set<unknown>(values);
  const value = (await store.list('pet')).filter(item => valuesOf(item).some(one => wanted.has(one)));
  return { shape: pet, value, root: 'pets' };
}

/** Returns the sums of numbers by name, always as JSON. */
export function sumsByName(numbers: Iterable<readonly [name: string, number: number]>): ViewResponse {
  const sums = new Map<string, number>();
  for (const [name, number] of numbers) sums.set(name, (sums.get(name) ?? 0) + number);
  return { status: 200, contentType: JSON_TYPE, bytes: JSON.stringify(Object.fromEntries(sums)) };
}

/** The header with the end of a login: an hour from now, as `Date.toString` of Java: `Tue Nov 24 10:00:00 UTC 2026`. */
export function loginExpiry(now: number): readonly string[] {
  const date = new Date(now + 3_600_000).toUTCString().replace(',', '');
  const [weekday, day, month, year, time] = date.split(' ');
  return ['X-Expires-After', `${weekday} ${month} ${day} ${time} UTC ${year}`];
}

/** The header with the requests per hour that the original promises to users, which nothing enforces. */
export const loginRate: readonly string[] = ['X-Rate-Limit', '5000'];
