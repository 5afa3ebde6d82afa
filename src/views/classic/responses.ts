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
) => Promise<ViewResponse> | ViewResponse;

/** Returns a response with an object, or a list below `root`, in the format that the client prefers. */
export function respond(
  request: ViewRequest,
  format: XmlFormat,
  { status = 200, shape, value, root = shape.name }: ClassicContent,
): ViewResponse {
  if (!prefersXml(request)) return { status, contentType: JSON_TYPE, bytes: formatJson(value, format.formatDate) };
  return { status, contentType: 'application/xml', bytes: formatXml(shape, value, root, format) };
}

export interface ClassicContent {
  readonly status?: number;
  readonly shape: ClassicShape;
  readonly value: Item | readonly Item[];
  /** The name of the root in XML. */
  readonly root?: string;
}

/** The original names no charset. */
export const JSON_TYPE = 'application/json';

/** Returns a response with a list of pets. */
export function respondPets(request: ViewRequest, format: XmlFormat, value: readonly Item[]): ViewResponse {
  return respond(request, format, { shape: pet, value, root: 'pets' });
}

/** Returns numbers by name. */
export function respondNumbers(numbers: ReadonlyMap<string, bigint>): ViewResponse {
  return { status: 200, contentType: JSON_TYPE, bytes: formatJson(Object.fromEntries(numbers)) };
}

/** Returns the pets with one of these tags. */
export function withTags(pets: readonly Item[], tags: readonly string[]): Item[] {
  // Requests can name thousands of tags, and sandboxes contain tens of thousands.
  const wanted = new Set<unknown>(tags);
  return pets.filter(one => ((one['tags'] ?? []) as readonly (Item | null)[]).some(tag => wanted.has(tag?.['name'])));
}

/** Returns the pets with one of these statuses. */
export function withStatus(pets: readonly Item[], statuses: readonly string[]): Item[] {
  const wanted = new Set<unknown>(statuses);
  return pets.filter(one => wanted.has(one['status']));
}

/** Returns a date as `Date.toString` of Java: `Tue Nov 24 10:00:00 UTC 2026`. */
export function javaDate(ms: number): string {
  const [weekday, day, month, year, time] = new Date(ms).toUTCString().replace(',', '').split(' ');
  return `${weekday} ${month} ${day} ${time} UTC ${year}`;
}

/** How long a login is said to last. */
export const LOGIN_MS = 3_600_000;
export const LOGIN_RATE = '5000';
