import { dialects, type Migration } from './migration.ts';
import { SqliteConnection } from './sqlite/connection.ts';
import { migrateSqlite } from './sqlite/migrate.ts';

/** A table as both engines have it. */
export interface Table {
  readonly name: string;
  readonly columns: readonly Column[];
  /** The columns of its primary key, in order. */
  readonly key: readonly string[];
  /** Whether the database assigns the ids, and never reuses one. */
  readonly assignsIds: boolean;
}

interface Column {
  readonly name: string;
  readonly type: 'int' | 'text';
}

/**
 * Returns every table that migrations create, from a new database in memory.
 * @throws {Error} if a table has no primary key, or a column is neither a number nor text
 */
export function tablesOf(migrations: readonly Migration[]): Table[] {
  const connection = new SqliteConnection(':memory:', { synchronous: 'off', cacheKiB: 1024, busyMs: 0 });
  try {
    migrateSqlite(connection, ':memory:', migrations, 0);
    const tables = connection.rows(
      `select name, sql from sqlite_schema where type = 'table' and name not like 'sqlite_%' order by name`,
    ) as { name: string; sql: string }[];
    return tables.map(({ name, sql }) => {
      const columns = connection.rows('select name, type, pk from pragma_table_info(?)', name) as ColumnInfo[];
      const key = columns.filter(({ pk }) => pk > 0).sort((a, b) => a.pk - b.pk);
      if (key.length === 0) throw new Error(`The table ${name} has no primary key.`);
      return {
        name,
        columns: columns.map(column => ({ name: column.name, type: typeOf(column, name) })),
        key: key.map(column => column.name),
        assignsIds: sql.includes(dialects.sqlite.id),
      };
    });
  } finally {
    connection.close();
  }
}

interface ColumnInfo {
  readonly name: string;
  readonly type: string;
  /** The position in the primary key, from 1; 0 for columns outside the key. */
  readonly pk: number;
}

function typeOf({ name, type }: ColumnInfo, table: string): Column['type'] {
  if (/^integer$/i.test(type)) return 'int';
  if (/^text$/i.test(type)) return 'text';
  throw new Error(`The column ${name} of ${table} is neither a number nor text.`);
}
