import type { Connection } from '../../src/lib/storage/postgres/connection.ts';

/** The tables of a schema, each with its rows as JSON, and its sequences. */
export interface Contents {
  readonly tables: readonly { readonly name: string; readonly rows: string | null }[];
  readonly sequences: readonly { readonly name: string; readonly value: number; readonly called: boolean }[];
}

/** Deletes all rows of a schema but its migrations, and restores its `contents`. Takes 5 ms; a new schema takes 300 ms. */
export async function restoreContents(connection: Connection, { tables, sequences }: Contents): Promise<void> {
  const deletions = tables.map(({ name }) => `deleted_from_${name} as (delete from ${name})`);
  // One statement: foreign keys are checked at its end.
  const statements = [`with ${deletions.join(', ')} select`];
  for (const { name, rows } of tables) {
    if (rows === null) continue;
    statements.push(
      `insert into ${name} overriding system value
         select * from json_populate_recordset(null::${name}, $rows$${rows}$rows$)`,
    );
  }
  const values = sequences.map(({ name, value, called }) => `setval('${name}', ${value}, ${called})`);
  statements.push(`select ${values.join(', ')}`);
  await rowsOf(connection, statements.join(';\n'));
}

/** Reads the contents of a schema. */
export async function readContents(connection: Connection): Promise<Contents> {
  const names = await rowsOf(
    connection,
    `select relname as name from pg_class
     where relkind = 'r' and relnamespace = current_schema()::regnamespace and relname <> 'migrations'`,
  );
  const rows = names.map(({ name }) => `select '${name}' as name, json_agg(t)::text as rows from ${name} t`);
  return {
    tables: await rowsOf(connection, rows.join(' union all ')),
    sequences: await rowsOf(
      connection,
      `select sequencename as name, coalesce(last_value, start_value) as value, last_value is not null as called
       from pg_sequences where schemaname = current_schema()`,
    ),
  };
}

async function rowsOf(connection: Connection, text: string) {
  return (await connection.query(Number.POSITIVE_INFINITY, text)).rows;
}
