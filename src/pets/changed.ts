import { setImmediate } from 'node:timers/promises';
import { problem } from '../errors.ts';
import type { PlacedEvent } from '../events/event.ts';
import { lastEvents, lastPlace, placeBefore, putInOrder, type Stretch } from '../events/ordering.ts';
import { digestOf, isCount, opaque, valuesIn } from '../lib/http/pagination/cursor.ts';
import { bestEffort } from '../lib/storage/best-effort.ts';
import { formatTime, parseTime } from '../lib/time.ts';
import { type Database, type Params, query, type Reader } from '../schema.ts';
import { categoriesOf } from './categories-of.ts';
import type { PetEventData } from './change.ts';
import { expireReservations } from './expiry.ts';
import { foreignCursor, invalidParameter, type PetFilter } from './filter.ts';
import type { PetViews } from './list.ts';
import type { PetRow, RemovedPet } from './pet.ts';
import { among, petColumns, petValues } from './rows.ts';

/** Which changes a mirror asks for. */
export interface ChangeFilter extends Pick<PetFilter, 'status' | 'categoryId' | 'includeDescendants'> {
  /** A time as RFC 3339 has it, or the token of an earlier listing. */
  readonly updatedSince: string;
  /** Whether animals that were taken out are in it, too. */
  readonly includeRemoved?: boolean | undefined;
}

/** One page of changes: it either goes on, or ends with a token. */
export type ChangePage<Item> = { readonly pets: (Item | RemovedPet)[] } & (
  | { readonly next: string; readonly token?: never }
  | { readonly next?: never; readonly token: string }
);

/**
 * One page of the animals that changed since a time or a token, each once, as it is now, in the order of the log: at the
 * place of its last change up to the moment at which the first page was asked for.
 *
 * A time is judged by the times of the changes. Who goes through all pages, and then on from the token of the last, hears of every change at least once, also of one
 * that was committed late; an animal that changes meanwhile comes again. With a filter it hears of what the filter lets
 * through now, and of what was taken out of the filter's categories. A page looks at 20,000 events: it may be short, even
 * empty, and still have a next one.
 *
 * What has run out is written down first, as far as storage takes it in a moment.
 * @param limit how many animals at most, 1–100
 * @param cursorText where to read on, from the page before
 * @throws {Problem} `invalid_parameter` where `updatedSince` is neither a time nor a token, or the cursor is not one of
 *   this list; `sync_token_expired`
 */
export async function changedPets<View extends keyof PetViews = 'plain'>(
  database: Database,
  filter: ChangeFilter,
  limit: number,
  cursorText: string | undefined,
  now: number,
  view?: View,
): Promise<ChangePage<PetViews[View]>> {
  const stretch =
    cursorText === undefined ? await wholeStretch(database, filter, now) : await restOf(database, filter, cursorText);
  const categories = await categoriesOf(database, filter);
  const wanted = await look(database, filter, categories, stretch, limit, now);
  const pets = wanted.pets.map(found => shown<View>(found, view));
  return wanted.upTo < stretch.end
    ? { pets, next: encodeCursor(filter, { ...stretch, after: wanted.upTo }) }
    : { pets, token: encodeToken({ place: stretch.end, issuedAt: Math.ceil(now / HOUR_MS) * HOUR_MS }) };
}

/** All that is to be listed, from the first page on. */
async function wholeStretch(database: Database, { updatedSince }: ChangeFilter, now: number): Promise<Listed> {
  const since = parseTime(updatedSince);
  const token = since === undefined ? decodeToken(updatedSince) : undefined;
  if (since === undefined && token === undefined) throw notSince();
  if (token !== undefined && now >= token.issuedAt + TOKEN_MS) throw problem('sync_token_expired');

  await bestEffort(bringUpToDate(database, now));
  // Nothing appears before this place any more.
  const end = await lastPlace(database);
  if (token === undefined) return { after: Math.min(await placeBefore(database, since!), end), end, since: since! };
  if (token.place > end) {
    throw problem(
      'sync_token_expired',
      'The sync token is of a later state of the store than there is: it was restored.',
    );
  }
  return { after: token.place, end, since: 0 };
}

/** Has the log know what has run out, and all of it in order. */
async function bringUpToDate(database: Database, now: number): Promise<void> {
  await bestEffort(expireReservations(database, now));
  await putInOrder(database);
}

/** What of it comes after a page. */
async function restOf(reader: Reader, filter: ChangeFilter, cursorText: string): Promise<Listed> {
  const rest = decodeCursor(filter, cursorText);
  if (rest === undefined || rest.end > (await lastPlace(reader))) throw foreignCursor();
  return { ...rest, since: parseTime(filter.updatedSince) ?? 0 };
}

/** The stretch of the log that a page and those behind it go through. */
type Place = Omit<Stretch, 'upTo'>;

/** What is listed of it: the animals whose last change was written at this time or later. */
interface Listed extends Place {
  readonly since: number;
}

/** What became of an animal: it is there, or it was taken out. */
type Found = { readonly place: number } & ({ readonly row: PetRow } | { readonly removed: RemovedPet });

/** The animals of a page, and how far of the log that goes. */
async function look(
  reader: Reader,
  filter: ChangeFilter,
  categories: readonly number[] | undefined,
  { after, end, since }: Listed,
  limit: number,
  now: number,
): Promise<{ pets: Found[]; upTo: number }> {
  const edge = Math.min(after + EVENTS_LOOKED_AT_MAX, end);
  const found: Found[] = [];
  let size = limit + 1;
  for (let place = after; place < edge; ) {
    const events = await lastEvents<PetEventData>(reader, 'pet', { after: place, upTo: edge, end }, size);
    // A stretch begins some seconds before the time: places are in the order of times only roughly.
    const wanted = events.filter(({ at }) => at >= since);
    found.push(...(await matching(reader, filter, categories, wanted, now)));
    if (found.length > limit) {
      const pets = found.slice(0, limit);
      return { pets, upTo: pets.at(-1)!.place };
    }
    place = events.length < size ? edge : events.at(-1)!.place;
    size = EVENTS_AT_ONCE;
    // Embedded, nothing else runs meanwhile: let others come in between.
    if (place < edge) await setImmediate();
  }
  return { pets: found, upTo: edge };
}

async function matching(
  reader: Reader,
  { status, includeRemoved }: ChangeFilter,
  categories: readonly number[] | undefined,
  events: readonly PlacedEvent<PetEventData>[],
  now: number,
): Promise<Found[]> {
  const ids = JSON.stringify(events.map(({ subjectId }) => subjectId));
  const rows = new Map((await reader.all(petsWithIds, { ids, now })).map(row => [row.id, row]));
  const isWanted = (categoryId: number) => categories === undefined || categories.includes(categoryId);
  return events.flatMap((event): Found[] => {
    const { place } = event;
    const row = rows.get(event.subjectId);
    if (row !== undefined) {
      const fits = isWanted(row.categoryId) && (status === undefined || status.includes(row.status));
      return fits ? [{ place, row }] : [];
    }
    // One that was taken out after the end of the list is told of in the next.
    const told = includeRemoved && event.action === 'deleted' && isWanted(event.data.pet.categoryId);
    return told ? [{ place, removed: removedPetOf(event) }] : [];
  });
}

function removedPetOf({ subjectId, at, data }: PlacedEvent<PetEventData>): RemovedPet {
  const { name, categoryId } = data.pet;
  return { id: subjectId, name, categoryId, deletedAt: formatTime(data.at ?? at) };
}

function shown<View extends keyof PetViews>(found: Found, view: View | undefined): PetViews[View] | RemovedPet {
  if ('removed' in found) return found.removed;
  return (view === 'full' ? petValues.fullOf(found.row) : petValues.plainOf(found.row)) as PetViews[View];
}

/** The most events that a page looks at, and how many are read at once where the first few were not enough. */
const EVENTS_LOOKED_AT_MAX = 20_000;
const EVENTS_AT_ONCE = 1000;

/** How far a mirror is, and since when it may say so. */
interface Token {
  readonly place: number;
  readonly issuedAt: number;
}

/** How long a token is good. */
const TOKEN_MS = 30 * 24 * 60 * 60 * 1000;
/** While nothing happens a token stays the same for so long, and with it the answer that it is part of. */
const HOUR_MS = 60 * 60 * 1000;

const VERSION = 1;

function encodeToken({ place, issuedAt }: Token): string {
  return opaque([VERSION, place, issuedAt]);
}

function decodeToken(text: string): Token | undefined {
  const [version, place, issuedAt] = valuesIn(text, 3) ?? [];
  return version === VERSION && isCount(place) && isCount(issuedAt) ? { place, issuedAt } : undefined;
}

function encodeCursor(filter: ChangeFilter, { after, end }: Place): string {
  return opaque([VERSION, digest(filter), after, end]);
}

function decodeCursor(filter: ChangeFilter, text: string): Place | undefined {
  const [version, filters, after, end] = valuesIn(text, 4) ?? [];
  if (version !== VERSION || filters !== digest(filter) || !isCount(after) || !isCount(end)) return undefined;
  return after <= end ? { after, end } : undefined;
}

/** Binds a cursor to its list. */
function digest({ updatedSince, status = [], categoryId, includeDescendants, includeRemoved }: ChangeFilter): string {
  return digestOf([
    updatedSince,
    [...status].sort(),
    categoryId ?? 0,
    includeDescendants ?? false,
    includeRemoved ?? false,
  ]);
}

function notSince() {
  return invalidParameter(
    'updatedSince',
    'Must be a time such as 2026-11-20T12:00:00Z (a plus sign percent-encoded as %2B), or a token from X-Sync-Token.',
  );
}

const petsWithIds = query((db, p: Params<{ ids: string; now: number }>, engine) =>
  db
    .selectFrom('pets')
    .select(petColumns.full(p.now))
    .where(({ ref }) => among(ref('id'), p.ids, engine)),
);
