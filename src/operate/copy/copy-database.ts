import { createHash } from 'node:crypto';
import type { OfflineDatabase } from '../../lib/storage/offline.ts';
import { type Table, tablesOf } from '../../lib/storage/tables.ts';
import { UserError } from '../../lib/user-error.ts';
import { migrations } from '../../model/migrations/index.ts';
import type { Tables } from '../../model/schema.ts';
import { classicTables } from '../../store/classic/sandboxes.ts';

/** Tables about the database itself and the processes that serve it, whose rows the target has itself; and sandboxes. */
const notCopied: readonly (keyof Tables)[] = ['migrations', 'nodes', 'announcements', ...classicTables];

/** Every table that is copied. */
export const copiedTables: readonly Table[] = tablesOf(migrations).filter(
  ({ name }) => !notCopied.includes(name as keyof Tables),
);

/** The number of rows of each table. */
export type RowCounts = Readonly<Record<string, number>>;

/** How many rows are in memory at a time. */
const BATCH_SIZE = 200;

/**
 * Replaces the content of a database by that of another database, in one transaction of the target. Before the commit,
 * compares each table with the source.
 * @param source has an open transaction
 * @param onRows called with the number of rows copied or compared so far, and the name of the table
 * @throws {UserError} if a table differs
 */
export async function copyDatabase(
  source: OfflineDatabase,
  target: OfflineDatabase,
  onRows: (rows: number, table: string) => void,
): Promise<RowCounts> {
  const counts: Record<string, number> = {};
  await target.begin(copiedTables.map(({ name }) => name));
  const fingerprints = new Map<Table, string>();
  await target.deferForeignKeys(async () => {
    for (const { name } of copiedTables) await target.rows(`delete from "${name}"`);
    for (const table of copiedTables) {
      const hash = createHash('sha256');
      let count = 0;
      for await (const rows of readRows(source, table, target.engine, source.engine)) {
        await insertRows(target, table, rows);
        hash.update(JSON.stringify(rows));
        count += rows.length;
        onRows(rows.length, table.name);
      }
      counts[table.name] = count;
      fingerprints.set(table, hash.digest('hex'));
    }
  });
  // PostgreSQL plans for empty tables until they are analyzed: `petstore verify` would take hours.
  if (target.engine === 'postgres')
    await target.rows(`analyze ${copiedTables.map(({ name }) => `"${name}"`).join(', ')}`);
  for (const table of copiedTables) {
    if (table.assignsIds) await target.setLastId(table.name, await source.lastId(table.name));
    const hash = createHash('sha256');
    for await (const rows of readRows(target, table, target.engine, target.engine)) {
      hash.update(JSON.stringify(rows));
      onRows(rows.length, table.name);
    }
    if (hash.digest('hex') !== fingerprints.get(table)) {
      throw new UserError(
        `The copy of the table ${table.name} at ${target.location} differs from the source. The copy is not complete.`,
      );
    }
  }
  await target.commit();
  return counts;
}

type Engine = OfflineDatabase['engine'];

interface CopiedColumn {
  readonly name: string;
  readonly type: Table['columns'][number]['type'];
  /** The expression that selects the column from the source. */
  readonly from: string;
  /** The expression that sorts the source, if it differs: it gives the same order and uses an index. */
  readonly order?: string;
}

/**
 * Returns the columns of a table on the target. The position of an event is its `seq` on PostgreSQL and its id on
 * SQLite; both give the same order of the events of one animal.
 */
function columnsOf({ name, columns }: Table, target: Engine, source: Engine): readonly CopiedColumn[] {
  const same = columns.map(column => ({ ...column, from: `"${column.name}"` }));
  const isRenumbered = source === 'postgres' && target === 'sqlite';
  if (name === 'replaced_values' && isRenumbered) {
    const from = '(select seq from events where events.id = event_id)';
    return same.map(column => (column.name === 'event_id' ? { ...column, from, order: column.from } : column));
  }
  if (name !== 'events') return same;
  const position = source === 'postgres' ? 'seq' : 'id';
  if (target === 'postgres') return [...same, { name: 'seq', type: 'int' as const, from: position }];
  return same.map(column => (column.name === 'id' ? { ...column, from: position } : column));
}

/** Reads a table in the order of its primary key on the target. */
async function* readRows(
  database: OfflineDatabase,
  table: Table,
  target: Engine,
  source: Engine,
): AsyncGenerator<unknown[][]> {
  const columns = columnsOf(table, target, source);
  const keys = table.key.map(key => {
    const { from, order = from } = columns.find(({ name }) => name === key)!;
    return order;
  });
  const key = keys.join(', ');
  const selected = [
    ...columns.map(({ name, from }) => `${from} as "${name}"`),
    ...keys.map((from, index) => `${from} as key_${index}`),
  ].join(', ');
  const parameters = table.key.map((_, index) => (database.engine === 'postgres' ? `$${index + 1}` : '?')).join(', ');
  const page = (where: string) =>
    `select ${selected} from "${table.name}" ${where} order by ${key} limit ${BATCH_SIZE}`;
  let rows = await database.rows(page(''));
  while (rows.length > 0) {
    yield rows.map(row => columns.map(({ name }) => row[name]));
    if (rows.length < BATCH_SIZE) return;
    const last = rows.at(-1)!;
    rows = await database.rows(
      page(`where (${key}) > (${parameters})`),
      ...keys.map((_, index) => last[`key_${index}`]),
    );
  }
}

async function insertRows(database: OfflineDatabase, table: Table, rows: readonly unknown[][]): Promise<void> {
  const columns = columnsOf(table, database.engine, database.engine);
  const names = columns.map(({ name }) => `"${name}"`).join(', ');
  const postgres = database.engine === 'postgres';
  const values = columns.map(({ type }, index) => {
    if (!postgres) return `value ->> ${index}`;
    return type === 'int' ? `(value ->> ${index})::bigint` : `value ->> ${index}`;
  });
  const from = postgres ? 'json_array_elements($1::json) as rows (value)' : 'json_each(?)';
  await database.rows(
    `insert into "${table.name}" (${names}) select ${values.join(', ')} from ${from}`,
    JSON.stringify(rows),
  );
}
