import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import SqliteDatabase from 'better-sqlite3';
import { onEachEngine, onPostgres } from '../../../test/support/engines.ts';
import { admin, type OrderStore, openOrderStore, owner, placer, stranger } from '../../../test/support/order-store.ts';
import { encodeCursor } from '../../lib/http/pagination/cursor.ts';
import { dialects } from '../../lib/storage/migration.ts';
import { postgresServer } from '../../lib/storage/postgres/connection.ts';
import { type Actor, operator } from '../../model/log/event.ts';
import { migrations } from '../../model/migrations/index.ts';
import { type OrderStatus, orderStatuses } from '../../model/order.ts';
import { APPROVAL_PERIOD_MS } from '../../model/rules.ts';
import { type Database, type Params, type Query, query, type Reader, sql } from '../../model/schema.ts';
import { createPet } from '../pets/pets.ts';
import { listOrders, type OrderFilter, orderList } from './list.ts';
import { canSeeOrder, type OrderWithSteps } from './rows.ts';

/** Every kind of status filter: none, one, several, with and without expired orders. */
const someStatuses: (readonly OrderStatus[] | undefined)[] = [
  undefined,
  ['placed'],
  ['expired'],
  ['delivered', 'cancelled'],
  ['expired', 'placed', 'approved'],
  [...orderStatuses],
];

describe('listOrders', () => {
  onEachEngine(engine => {
    it('pages through the visible, matching orders by id, forward and backward', async () => {
      const store = await openOrderStore(engine, 0);
      const { orders, pets } = await manyOrders(store);
      assert.deepEqual(new Set(orders.map(({ status }) => status)), new Set(orderStatuses));
      for (const actor of [owner, placer, stranger, admin, operator, { accountId: 99, admin: false }]) {
        for (const status of someStatuses) {
          for (const petId of [undefined, pets[0]!, pets[5]!, 999]) {
            for (const role of [undefined, 'placer', 'owner'] as const) {
              await assertWalks(store, actor, { status, petId, role }, 3, orders);
            }
          }
        }
        await assertWalks(store, actor, {}, 100, orders);
      }
    });

    it('returns the steps of each order from its events', async () => {
      const store = await openOrderStore(engine);
      await store.place(1);
      await store.place(2);
      await store.approve(1);
      await store.cancel(1);
      await store.approve(2);
      await store.deliver(2);
      await store.place(3);
      const { rows: orders } = await listOrders(store.database, placer, {}, { limit: 10 }, store.now());
      assert.deepEqual(
        orders.map(({ steps }) => Object.keys(steps)),
        [['approval', 'cancellation'], ['approval', 'delivery'], []],
      );
      assert.deepEqual(orders, [await store.order(1), await store.order(2), await store.order(3)]);
    });

    it('lists an order of one’s own animal once', async () => {
      const store = await openOrderStore(engine, 6);
      for (const petId of [1, 2, 3, 4, 5, 6]) await store.place(petId, { by: petId % 2 ? owner : placer });
      const first = await listOrders(store.database, owner, {}, { limit: 4 }, store.now());
      assert.deepEqual(first.rows.map(idOf), [1, 2, 3, 4]);
      const second = await listOrders(store.database, owner, {}, { limit: 4, cursor: first.next }, store.now());
      assert.deepEqual(second.rows.map(idOf), [5, 6]);
      assert.equal(second.next, undefined);
    });

    it('pages through an animal’s orders if most are not visible', async () => {
      const store = await openOrderStore(engine, 2);
      await store.place(1);
      await store.cancel(1);
      // 43,000 cancelled orders of another account.
      await store.database.write(async tx => {
        await tx.run(another, {});
        for (let made = 1; made < 43_000; made += Math.min(made, 43_000 - made)) {
          await tx.run(double, { rows: Math.min(made, 43_000 - made) });
        }
        await tx.run(reserveAll, {});
      });
      const last = await store.place(1);
      const all = [await store.order(1), await store.order(last.id)];
      const pages = await assertWalks(store, placer, { petId: 1 }, 10, all);
      assert.ok(pages >= 3, `${pages} pages`);
      await assertWalks(store, admin, { petId: 1, status: ['placed'] }, 10, [all[1]!]);
      await assertWalks(store, stranger, { petId: 1 }, 10, []);
      await assertWalks(store, owner, { petId: 1, status: ['approved'] }, 10, []);
    });

    it('rejects the cursor of another list; a cursor of another reader reveals nothing', async () => {
      const store = await openOrderStore(engine);
      for (const petId of [1, 2, 3]) await store.place(petId);
      const { next } = await listOrders(store.database, owner, { status: ['placed'] }, { limit: 1 }, store.now());
      for (const other of [
        {},
        { status: ['approved'] },
        { status: ['placed'], petId: 1 },
        { status: ['placed'], role: 'owner' },
      ] as OrderFilter[]) {
        await assert.rejects(listOrders(store.database, owner, other, { limit: 1, cursor: next }, store.now()), {
          code: 'invalid_parameter',
          status: 400,
        });
      }
      for (const text of ['', 'abc', '[]', Buffer.from('[1,"x",0,-1]').toString('base64url')]) {
        await assert.rejects(listOrders(store.database, owner, {}, { limit: 1, cursor: text }, store.now()), {
          code: 'invalid_parameter',
        });
      }
      const theirs = await listOrders(
        store.database,
        stranger,
        { status: ['placed'] },
        { limit: 1, cursor: next },
        store.now(),
      );
      assert.deepEqual(theirs.rows, []);
    });
  });

  it('uses an index for every reader and filter on SQLite', async () => {
    const sqlite = new SqliteDatabase(':memory:');
    for (const { up } of migrations) for (const statement of up(dialects.sqlite)) sqlite.exec(statement);
    for (const { what, sql } of await everyQuery('sqlite')) {
      const plan = sqlite
        .prepare<unknown[], { detail: string }>(`explain query plan ${sql}`)
        .all(...new Array((sql.match(/\?/g) ?? []).length).fill(1))
        .map(({ detail }) => detail);
      const text = `${what}: ${sql}: ${plan.join('; ')}`;
      for (const detail of plan.filter(one => /\b(orders|reservations)\b/.test(one) && /^(SCAN|SEARCH)/.test(one))) {
        // Orders of a pet are in the order of its reservations. Admins read all ids, others a part of an index.
        if (what.includes('petId'))
          assert.match(
            detail,
            /^SEARCH (reservations USING COVERING INDEX reservations_by_pet_and_order|orders USING INTEGER PRIMARY KEY \(rowid=\?\))/,
            text,
          );
        else if (what === 'admin {}')
          assert.match(detail, /^(SCAN orders|SEARCH orders USING INTEGER PRIMARY KEY)/, text);
        else assert.match(detail, /^SEARCH orders USING (COVERING )?INDEX orders_by_/, text);
      }
      // Only the few rows of the merged runs and of expired orders are sorted.
      const merged = plan.some(detail => /UNION ALL|CO-ROUTINE|MATERIALIZE|orders_by_end/.test(detail));
      if (!merged) assert.ok(!plan.some(detail => detail.includes('TEMP B-TREE')), text);
    }
    sqlite.close();
  });

  onPostgres(engine => {
    it('uses an index even if one account has most of the orders', async () => {
      const location = await engine.newLocation();
      await engine.open({ location });
      const { url, schema } = location as { url: string; schema: string };
      const connection = await postgresServer(url, schema).connect('petstore test', { unlimited: true });
      const ask = async (text: string, values: unknown[] = []) =>
        (await connection.query(Number.POSITIVE_INFINITY, text, values)).rows;
      await ask(
        `insert into orders (pet_id, account_id, owner_id, status, quantity, expires_at, created_at, updated_at)
         select n, case when n > 20000 then 2 else 100 end, case when n > 20000 then 1 else 101 end,
                (array['placed', 'approved', 'delivered'])[1 + n % 3], 1, 1000000 + n, 0, 0
         from generate_series(1, 40000) n`,
      );
      await ask(
        `insert into reservations (pet_id, owner_id, order_id, active) select pet_id, owner_id, id, 0 from orders`,
      );
      await ask('analyze orders');
      await ask('analyze reservations');
      for (const { what, sql, values } of await everyQuery('postgres')) {
        const rows = await ask(`explain (analyze, costs off, timing off, summary off) ${sql}`, values);
        const plan = rows.map(row => row['QUERY PLAN']).join('\n');
        assert.doesNotMatch(plan, /Seq Scan/, `${what}: ${plan}`);
        for (const [, removed] of plan.matchAll(/Rows Removed by Filter: (\d+)/g)) {
          assert.ok(Number(removed) < 100, `${what}: ${plan}`);
        }
      }
      connection.release();
    });
  });
});

/** Places orders in every status, of animals of `owner`, `placer` and others, by each of them. */
async function manyOrders(store: OrderStore): Promise<{ orders: OrderWithSteps[]; pets: number[] }> {
  const { database } = store;
  const pets: number[] = [];
  for (let index = 0; index < 12; index++) {
    const { accountId } = index % 4 === 3 ? placer : owner;
    pets.push((await database.write(tx => createPet(tx, accountId, { name: 'x', categoryId: 1 }, 'open'))).id);
  }
  const ids: number[] = [];
  const place = async (index: number) => {
    const by = [placer, stranger, owner][index % 3]!;
    const { id } = await store.place(pets[index % pets.length]!, { by });
    ids.push(id);
    return id;
  };
  for (let index = 0; index < 36; index++) {
    const id = await place(index);
    if (index % 5 === 0) await store.cancel(id, admin);
    else if (index % 5 === 1) {
      await store.approve(id, admin);
      await store.cancel(id, admin);
    } else {
      await store.approve(id, admin);
      await store.deliver(id, admin);
      await store.takeBack(id, {}, admin);
    }
  }
  for (let index = 0; index < 4; index++) await place(index);
  store.clock.advance(APPROVAL_PERIOD_MS);
  for (let index = 0; index < 12; index++) {
    const id = await place(index);
    if (index % 3 === 1) await store.approve(id, admin);
    if (index % 3 === 2) {
      await store.approve(id, admin);
      await store.deliver(id, admin);
    }
  }
  return { orders: await Promise.all(ids.map(id => store.order(id))), pets };
}

/**
 * Reads all pages of a list forward and backward, and asserts the same orders both times. Returns the number of pages.
 */
async function assertWalks(
  { database, now }: OrderStore,
  actor: Actor,
  filter: OrderFilter,
  limit: number,
  all: readonly OrderWithSteps[],
): Promise<number> {
  const { status, petId, role } = filter;
  const expected = all
    .filter(order => canSeeOrder(actor, order))
    .filter(order => status === undefined || status.includes(order.status))
    .filter(order => petId === undefined || order.petId === petId)
    .filter(order => role === undefined || (role === 'owner' ? order.ownerId : order.accountId) === actor.accountId)
    .map(idOf);
  const what = JSON.stringify({ actor, filter });
  const read = (cursor: string | undefined) => listOrders(database, actor, filter, { limit, cursor }, now());

  const forward: number[] = [];
  let page = await read(undefined);
  let pages = 1;
  assert.equal(page.previous, undefined);
  for (forward.push(...page.rows.map(idOf)); page.next !== undefined; forward.push(...page.rows.map(idOf))) {
    page = await read(page.next);
    assert.ok(page.rows.length <= limit);
    assert.ok(++pages <= 100);
  }
  assert.deepEqual(forward, expected, what);

  const backward = page.rows.map(idOf);
  for (let back = 0; page.previous !== undefined; backward.unshift(...page.rows.map(idOf))) {
    page = await read(page.previous);
    assert.ok(page.rows.length <= limit);
    assert.ok(++back <= 100);
  }
  assert.deepEqual(backward, expected, `back: ${what}`);
  return pages;
}

const idOf = ({ id }: { id: number }) => id;

/** Collects every query of the list, for all kinds of readers, filters and positions. */
async function everyQuery(engine: Database['engine']) {
  const asked: { what: string; sql: string; values: unknown[] }[] = [];
  let what = '';
  const note = (one: Query<never, unknown>, params: never) => {
    const { sql, values } = one.compiledFor(engine);
    asked.push({ what, sql, values: values(params) });
  };
  const reader = (edge: { id: number } | undefined) =>
    ({
      engine,
      first: (one: Query<never, unknown>, params: never) => {
        note(one, params);
        return edge;
      },
      all: (one: Query<never, unknown>, params: never) => {
        note(one, params);
        return [];
      },
    }) as unknown as Reader;
  for (const actor of [owner, placer, admin]) {
    for (const status of someStatuses) {
      for (const petId of [undefined, 30_000]) {
        for (const role of [undefined, 'placer', 'owner'] as const) {
          const filter: OrderFilter = { status, petId, role };
          for (const from of [undefined, { backward: false, id: 10 }, { backward: true, id: 39_990 }]) {
            const all = status === undefined || status.length === orderStatuses.length;
            what = `${actor.admin ? 'admin' : 'account'} ${JSON.stringify({ ...(all ? {} : { status }), petId, role })}`;
            for (const edge of [undefined, { id: 30_000 }]) {
              await listOrders(
                reader(edge),
                actor,
                filter,
                { limit: 20, cursor: from && encodeCursor(orderList(filter), from) },
                500_000,
              );
            }
          }
        }
      }
    }
  }
  return asked;
}

const columns = ['pet_id', 'account_id', 'owner_id', 'status', 'quantity', 'created_at', 'updated_at'] as const;

const another = query((db, _: Params<Record<never, never>>) =>
  db
    .insertInto('orders')
    .values({ pet_id: 1, account_id: 77, owner_id: 1, status: 'cancelled', quantity: 1, created_at: 0, updated_at: 0 }),
);

const reserveAll = query((db, _: Params<Record<never, never>>) =>
  db
    .insertInto('reservations')
    .columns(['pet_id', 'owner_id', 'order_id', 'active'])
    .expression(
      db
        .selectFrom('orders')
        .select(['pet_id', 'owner_id', 'id', sql<number>`0`.as('active')])
        .where('account_id', '=', 77),
    ),
);

const double = query((db, p: Params<{ rows: number }>) =>
  db
    .insertInto('orders')
    .columns(columns)
    .expression(db.selectFrom('orders').select(columns).where('account_id', '=', 77).orderBy('id').limit(p.rows)),
);
