import {
  decodeListToken,
  decodeOpaque,
  encodeListToken,
  encodeOpaque,
  invalidCursor,
  isCount,
} from '../../lib/http/pagination/cursor.ts';
import { type PageRequest, SCAN_LIMIT } from '../../lib/http/pagination/paginate.ts';
import { requireScanRoom, startScan } from '../../lib/http/pagination/scan-queue.ts';
import { invalidParameter } from '../../lib/http/problem.ts';
import { bestEffort } from '../../lib/storage/best-effort.ts';
import { formatTime, HOUR_MS, parseTime } from '../../lib/time.ts';
import { problem } from '../../model/errors.ts';
import type { PositionedEvent } from '../../model/log/event.ts';
import { assignPositions, lastEvents, lastPosition, positionBefore } from '../../model/log/ordering.ts';
import {
  anyone,
  fullPetOf,
  type PetReader,
  type PetRow,
  type PetView,
  petColumns,
  petValues,
  type RemovedPet,
} from '../../model/pet.ts';
import { SYNC_TOKEN_MS } from '../../model/rules.ts';
import { amongNumbers, type Database, type Params, query, type Reader } from '../../model/schema.ts';
import type { PetEventData } from './change.ts';
import { expireReservations } from './expiry.ts';
import { categoriesOf, type PetFilter } from './filter.ts';
import { withBonds } from './groups.ts';
import type { PetViews } from './list.ts';

export interface ChangeFilter extends Pick<PetFilter, 'status' | 'categoryId' | 'includeDescendants' | 'ownerId'> {
  /** An RFC 3339 time, or the sync token of an earlier list. */
  readonly updatedSince: string;
  /** Whether to include deleted pets. */
  readonly includeRemoved?: boolean | undefined;
}

/** A page of changes: it has a next page, or ends with a sync token. */
export type ChangePage<Item> = { readonly rows: (Item | RemovedPet)[] } & (
  | { readonly next: string; readonly token?: never }
  | { readonly next?: never; readonly token: string }
);

/**
 * Returns one page of the pets that changed since a time or a sync token: each once, as of `now`, in the order of their
 * last changes in the event log.
 *
 * A client that reads all pages, and then continues from each token, receives every change at least once, whenever it
 * was committed. A pet that changes meanwhile is listed again. A filter applies to the current pet, and to the last
 * category of a deleted pet. A page scans up to 20,000 events: it may be short or empty and still have a next page.
 *
 * Records expired reservations first, on a best-effort basis.
 * @throws {Problem} `invalid_parameter` for an invalid `updatedSince`, or a cursor of another list;
 *   `sync_token_expired`; `overloaded`
 */
export async function changedPets<View extends PetView = 'plain'>(
  database: Database,
  filter: ChangeFilter,
  page: PageRequest,
  now: number,
  view?: View,
  viewer: PetReader = anyone,
): Promise<ChangePage<PetViews[View]>> {
  const { cursor, request } = page;
  if (isFiltered(filter)) requireScanRoom(request);
  const range =
    cursor === undefined ? await wholeRange(database, filter, now) : await remainingRange(database, filter, cursor);
  const categories = await categoriesOf(database, filter, request);
  const wanted = { ...filter, categories: categories && new Set(categories) };
  const { found, upTo } = await scan(database, wanted, range, page, now);
  const items = found.map(pet => itemOf<View>(pet, view, viewer, now));
  const rows = view === 'full' ? await withBonds(database, items) : items;
  return upTo < range.end
    ? { rows, next: encodeListToken(listOf(filter), [upTo, range.end]) }
    : { rows, token: encodeToken({ position: range.end, issuedAt: Math.ceil(now / TOKEN_STEP_MS) * TOKEN_STEP_MS }) };
}

/** A range of the log: after one position, up to and including another. */
interface Range {
  readonly after: number;
  readonly end: number;
  /** Only pets whose last change was recorded at this time or later. */
  readonly since: number;
}

/** Returns the range of the first page and all following pages. */
async function wholeRange(database: Database, { updatedSince }: ChangeFilter, now: number): Promise<Range> {
  const since = parseTime(updatedSince);
  const token = since === undefined ? decodeToken(updatedSince) : undefined;
  if (since === undefined && token === undefined) throw invalidSince();
  if (token !== undefined && now >= token.issuedAt + SYNC_TOKEN_MS) throw problem('sync_token_expired');

  await bestEffort(recordPending(database, now));
  // No event gets a position up to this one any more.
  const end = await lastPosition(database);
  if (token === undefined) return { after: Math.min(await positionBefore(database, since!), end), end, since: since! };
  if (token.position <= end) return { after: token.position, end, since: 0 };
  throw problem('sync_token_expired', 'The sync token is newer than the store, which was restored from a backup.');
}

/** Records expired reservations, and assigns positions to all events. */
async function recordPending(database: Database, now: number): Promise<void> {
  await bestEffort(expireReservations(database, now));
  await assignPositions(database);
}

/** Returns the range that remains after a page. */
async function remainingRange(reader: Reader, filter: ChangeFilter, cursor: string): Promise<Range> {
  const [after, end] = decodeListToken(listOf(filter), cursor, 2) ?? [];
  if (!isCount(after) || !isCount(end) || after > end || end > (await lastPosition(reader))) throw invalidCursor();
  return { after, end, since: parseTime(filter.updatedSince) ?? 0 };
}

type Found = { readonly position: number } & ({ readonly row: PetRow } | { readonly removed: RemovedPet });

/** The criteria of a list. */
interface Wanted extends Pick<ChangeFilter, 'status' | 'ownerId' | 'includeRemoved'> {
  readonly categories: ReadonlySet<number> | undefined;
}

/** Returns the pets of a page, and the position up to which it scanned the log. */
async function scan(
  reader: Reader,
  wanted: Wanted,
  { after, end, since }: Range,
  { limit, request }: PageRequest,
  now: number,
): Promise<{ found: Found[]; upTo: number }> {
  const scanEnd = Math.min(after + SCAN_LIMIT, end);
  const found: Found[] = [];
  let position = after;
  if (position < scanEnd) await read(limit);
  if (position < scanEnd && found.length < limit) {
    using turns = startScan(request);
    while (position < scanEnd && found.length < limit && (await turns.turn())) await read(EVENTS_PER_TURN);
  }
  return { found, upTo: position };

  /** Reads that many further events, until the page is full. */
  async function read(positions: number): Promise<void> {
    const upTo = Math.min(scanEnd, position + positions);
    const events = await lastEvents<PetEventData>(reader, 'pet', { after: position, upTo, end });
    // Positions follow times only approximately, so the range begins some seconds early.
    const recent = events.filter(({ at }) => at >= since);
    const matches = await matching(reader, wanted, recent, now);
    const missing = limit - found.length;
    found.push(...matches.slice(0, missing));
    position = matches.length < missing ? upTo : matches[missing - 1]!.position;
  }
}

async function matching(
  reader: Reader,
  { status, ownerId, includeRemoved, categories }: Wanted,
  events: readonly PositionedEvent<Partial<PetEventData>>[],
  now: number,
): Promise<Found[]> {
  const ids = JSON.stringify(events.map(({ subjectId }) => subjectId));
  const rows = new Map((await reader.all(petsByIds, { ids, now })).map(row => [row.id, row]));
  const inCategories = (id: number) => categories === undefined || categories.has(id);
  const isOwned = (accountId: number | undefined) => ownerId === undefined || accountId === ownerId;
  return events.flatMap((event): Found[] => {
    const { position } = event;
    const row = rows.get(event.subjectId);
    if (row !== undefined) {
      const matches =
        isOwned(row.accountId) && inCategories(row.categoryId) && (status === undefined || status.includes(row.status));
      return matches ? [{ position, row }] : [];
    }
    // A pet that was deleted after the end of the range belongs in the next list.
    if (!includeRemoved || event.action !== 'deleted') return [];
    const removal = event as PositionedEvent<PetEventData>;
    const { pet, ownerId: owner } = removal.data;
    return isOwned(owner) && inCategories(pet.categoryId) ? [{ position, removed: removedPetOf(removal) }] : [];
  });
}

function removedPetOf({ subjectId, at, data }: PositionedEvent<PetEventData>): RemovedPet {
  const { name, categoryId } = data.pet;
  return { id: subjectId, name, categoryId, deletedAt: formatTime(data.at ?? at) };
}

function itemOf<View extends PetView>(
  found: Found,
  view: View | undefined,
  viewer: PetReader,
  now: number,
): PetViews[View] | RemovedPet {
  if ('removed' in found) return found.removed;
  return (view === 'full' ? fullPetOf(found.row, viewer, now) : petValues.plainOf(found.row)) as PetViews[View];
}

/** The number of events in each turn of a scan. */
const EVENTS_PER_TURN = 500;

/** The position up to which a client has read, and when it got the token. */
interface SyncToken {
  readonly position: number;
  readonly issuedAt: number;
}

/** Without changes, the token and the ETag of the response stay the same for this time. */
const TOKEN_STEP_MS = HOUR_MS;

const VERSION = 1;

function encodeToken({ position, issuedAt }: SyncToken): string {
  return encodeOpaque([VERSION, position, issuedAt]);
}

function decodeToken(text: string): SyncToken | undefined {
  const [version, position, issuedAt] = decodeOpaque(text, 3) ?? [];
  return version === VERSION && isCount(position) && isCount(issuedAt) ? { position, issuedAt } : undefined;
}

function isFiltered({ status, categoryId, ownerId }: ChangeFilter): boolean {
  return status !== undefined || categoryId !== undefined || ownerId !== undefined;
}

/** Binds a cursor to its list. */
function listOf({ updatedSince, status = [], categoryId, includeDescendants, includeRemoved, ownerId }: ChangeFilter) {
  const flags = [includeDescendants ?? false, includeRemoved ?? false];
  return [updatedSince, [...status].sort(), categoryId ?? 0, ...flags, ...(ownerId === undefined ? [] : [ownerId])];
}

function invalidSince() {
  return invalidParameter(
    'updatedSince',
    'Must be a time such as 2026-11-20T12:00:00Z (a plus sign percent-encoded as %2B), or a token from X-Sync-Token.',
  );
}

const petsByIds = query((db, p: Params<{ ids: string; now: number }>, engine) =>
  db
    .selectFrom('pets')
    .select(petColumns.full(p.now))
    .where(({ ref }) => amongNumbers(ref('id'), p.ids, engine)),
);
