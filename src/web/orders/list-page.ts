import { nowOf } from '../../access/deployment.ts';
import { type Html, html, timeHtml } from '../../lib/html/html.ts';
import type { HoldRow } from '../../model/hold.ts';
import { type OrderStatus, petIdsOf } from '../../model/order.ts';
import { listHolds } from '../../store/holds/list.ts';
import { listOrders } from '../../store/orders/list.ts';
import type { OrderWithSteps } from '../../store/orders/rows.ts';
import { listPage, pageLinks } from '../lists.ts';
import { accountPage, ownActor } from '../page.ts';
import { badge, type Columns, table, tabs } from '../parts.ts';
import { HOLDS_PATH, ORDERS_PATH } from '../paths.ts';
import { petLinks, petsNamed } from '../pets/names.ts';
import { partiesNamed } from './parties.ts';

/** The most active holds that are shown. */
const HOLDS_SHOWN = 50;

/** The orders and the holds of the animals of the account, and those that it placed. */
export const ordersPage = accountPage({
  path: ORDERS_PATH,
  permission: 'read',
  title: 'Holds and orders',
  menu: 'desk',
  async show(visit) {
    const { deployment, query } = visit;
    const isAll = query.get('show') === 'all';
    const [{ database }, now, actor] = [deployment, nowOf(deployment), ownActor(visit)];
    const filter = isAll ? { newestFirst: true } : ({ status: ['placed', 'approved'] } as const);
    const orders = await listOrders(database, actor, filter, listPage(visit), now);
    const page = { ...listPage(visit, HOLDS_SHOWN), cursor: undefined };
    const holds = await listHolds(database, actor, { status: ['active'] }, page, now);
    const ids = [...orders.rows.flatMap(petIdsOf), ...holds.rows.flatMap(({ petIds }) => petIds)];
    const pets = await petsNamed(visit, ids);
    const partyOf = await partiesNamed(
      visit,
      [...orders.rows, ...holds.rows].map(({ accountId }) => accountId),
    );
    const choices = [
      { href: ORDERS_PATH, title: 'Open', isCurrent: !isAll },
      { href: `${ORDERS_PATH}?show=all`, title: 'All', isCurrent: isAll },
    ];
    return {
      description: 'Who has reserved or ordered which animals, and what is to be done.',
      body: html`<h2>Orders</h2>
${tabs('Orders', choices)}
${table('Orders', orderColumns(pets, partyOf), orders.rows, isAll ? 'No one has ordered an animal.' : 'No order waits for you.')}
${pageLinks(visit, orders)}
<h2>On hold</h2>
${table('On hold', holdColumns(pets, partyOf), holds.rows, 'No animal is on hold.')}
${holds.next !== undefined && html`<p class="hint">These are the first ${HOLDS_SHOWN}.</p>`}`,
    };
  },
});

type Pets = Awaited<ReturnType<typeof petsNamed>>;
type PartyOf = Awaited<ReturnType<typeof partiesNamed>>;

function orderColumns(pets: Pets, partyOf: PartyOf): Columns<OrderWithSteps> {
  return {
    Animals: order => petLinks(petIdsOf(order), pets),
    State: stateOf,
    By: ({ accountId }) => partyOf(accountId),
    Ordered: ({ createdAt }) => timeHtml(createdAt),
    Order: ({ id }) => html`<a href="${ORDERS_PATH}/${id}">Order ${id}</a>`,
  };
}

function holdColumns(pets: Pets, partyOf: PartyOf): Columns<HoldRow> {
  return {
    Animals: ({ petIds }) => petLinks(petIds, pets),
    Until: ({ expiresAt }) => timeHtml(expiresAt),
    By: ({ accountId }) => partyOf(accountId),
    Hold: ({ id }) => html`<a href="${HOLDS_PATH}/${id}">Hold ${id}</a>`,
  };
}

const states: Readonly<Record<OrderStatus, Html>> = {
  placed: badge('warn', 'To approve'),
  approved: badge('warn', 'To hand over'),
  delivered: badge('good', 'Handed over'),
  returned: badge('', 'Returned'),
  cancelled: badge('', 'Cancelled'),
  expired: badge('', 'Expired'),
};

/** Returns the state of an order in words, and the end of a placed one. */
export function stateOf({ status, expiresAt }: OrderWithSteps): Html {
  return html`${states[status as OrderStatus]}${status === 'placed' && html` until ${timeHtml(expiresAt!)}`}`;
}
