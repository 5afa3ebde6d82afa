import type { Actor } from '../events/event.ts';
import { type CursorPosition, decodeCursor, encodeCursor, invalidCursor } from '../lib/http/pagination/cursor.ts';
import type { PageLinks } from '../lib/http/pagination/page-links.ts';
import type { Reader } from '../schema.ts';
import { withSteps } from './events.ts';
import { type OrderFilter, orderList } from './filter.ts';
import { edgeQuery, type PageValues, pageQuery, type Shape, shapeOf } from './page-query.ts';
import type { OrderRow, OrderWithSteps } from './rows.ts';

/** One page of a list of orders. */
export interface OrderPage extends PageLinks {
  readonly orders: OrderWithSteps[];
}

/**
 * One page of the orders that somebody may see and a filter lets through, by rising id: those that he placed and those of
 * his animals; all for admins.
 *
 * Every list follows an index. That of one animal ends after 20,000 orders looked at: the page may then be short, even
 * empty, and still have a next one.
 * @param limit how many orders at most, 1–100
 * @param cursorText where to read on, from another page of the same list
 * @param now a placed order that has run out by then is expired
 * @throws {Problem} `invalid_parameter` where the cursor is not one of this list
 */
export async function listOrders(
  reader: Reader,
  actor: Actor,
  filter: OrderFilter,
  limit: number,
  cursorText: string | undefined,
  now: number,
): Promise<OrderPage> {
  const list = orderList(filter);
  const from = cursorText === undefined ? undefined : decodeCursor(list, cursorText);
  if (cursorText !== undefined && from === undefined) throw invalidCursor();
  const backward = from?.backward === true;
  const { rows, edge } = await look(reader, shapeOf(actor, filter, from), {
    accountId: actor.accountId,
    petId: filter.petId ?? 0,
    startId: from === undefined ? 0 : from.id + (backward ? -1 : 1),
    rows: limit + 1,
    twice: 2 * (limit + 1),
    now,
  });

  const found = rows.slice(0, limit);
  // Where the page reads on: behind its last order, or behind the last one that was looked at.
  const onward = rows.length > limit ? found.at(-1)!.id : edge;
  const ahead = onward === undefined ? undefined : { backward, id: onward };
  const back = from && (found[0] === undefined ? returning(from) : { backward: !backward, id: found[0].id });
  const cursor = (place: CursorPosition | undefined) => place && encodeCursor(list, place);
  const orders = await withSteps(reader, backward ? found.reverse() : found);
  if (!backward) return { orders, next: cursor(ahead), previous: cursor(back) };
  return { orders, next: cursor(back), previous: cursor(ahead) };
}

/** What was found of a page: one row more than it has, where there are so many, and where looking ended before the list. */
interface Found {
  readonly rows: OrderRow[];
  readonly edge: number | undefined;
}

async function look(reader: Reader, shape: Shape, values: PageValues): Promise<Found> {
  if (!shape.ofPet) {
    const rows = await reader.all(pageQuery(shape), values);
    // An order of one's own for one's own animal is in two runs.
    const distinct = rows.filter(({ id }, index) => id !== rows[index - 1]?.id);
    return { rows: distinct.slice(0, values.rows), edge: undefined };
  }
  const found = await lookAt(reader, shape, values, FEW_ROWS);
  if (found.rows.length === values.rows || found.edge === undefined) return found;
  return lookAt(reader, shape, values, ROWS_LOOKED_AT_MAX);
}

async function lookAt(reader: Reader, shape: Shape, values: PageValues, rowsMax: number): Promise<Found> {
  const edge = (await reader.first(edgeQuery(shape), { ...values, beforeEdge: rowsMax - 1 }))?.id;
  const rows = await reader.all(
    pageQuery({ ...shape, edged: edge !== undefined }),
    edge === undefined ? values : { ...values, edgeId: edge },
  );
  return { rows, edge };
}

/** The way back from a page on which there was nothing: the place that it began at, with what stands there. */
function returning({ backward, id }: CursorPosition): CursorPosition {
  return { backward: !backward, id: backward ? id - 1 : id + 1 };
}

/** The most orders of one animal that a page looks at, and how many it looks at first: enough for most, and soon done. */
const ROWS_LOOKED_AT_MAX = 20_000;
const FEW_ROWS = 500;
