import type { Migration } from '../../../src/lib/storage/migration.ts';
import { createQueryFactory, type Params } from '../../../src/lib/storage/query.ts';

/** What the load adds: rows with an id, and one total that counts them in the same transaction. */
interface Tables {
  rows: { id: number; name: string };
  totals: { id: number; total: number };
}

export const migrations: readonly Migration[] = [
  {
    name: '0001-rows',
    up: ({ id, int, text, end }) => [
      `create table rows (id ${id}, name ${text} not null) ${end}`,
      'create index rows_by_name on rows (name)',
      `create table totals (id ${int} primary key, total ${int} not null) ${end}`,
      'insert into totals (id, total) values (1, 0)',
    ],
  },
  { name: '0002-index', up: () => ['create index rows_by_length on rows (length(name))'] },
];

const query = createQueryFactory<Tables>();

export const addRow = query((db, p: Params<{ name: string }>) =>
  db
    .insertInto('rows')
    .values({ name: p.name } as never)
    .returning('id'),
);
export const raiseTotal = query((db, _: Params<Record<never, never>>) =>
  db.updateTable('totals').set(eb => ({ total: eb('total', '+', 1) })),
);
export const total = query((db, _: Params<Record<never, never>>) => db.selectFrom('totals').select('total'));
export const rowsAfter = query((db, p: Params<{ id: number }>) =>
  db.selectFrom('rows').select(['id', 'name']).where('id', '>', p.id).orderBy('id').limit(1000),
);
export const counted = query((db, _: Params<Record<never, never>>) =>
  db.selectFrom('rows').select(eb => eb.fn.countAll<number>().as('rows')),
);
