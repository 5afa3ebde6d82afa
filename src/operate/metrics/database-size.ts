import { type Params, query, type Reader, sql } from '../../model/schema.ts';

/** The size of a database, in bytes. */
export interface DatabaseSize {
  /** The size of its rows and indexes; on PostgreSQL including the space that new rows reuse. */
  readonly used: number;
  /** The size of pages that new rows reuse; null on PostgreSQL, which does not count them. */
  readonly free: number | null;
}

/**
 * Returns the size of a database. Reads no rows: SQLite has both numbers in the header of the file, and PostgreSQL adds
 * the sizes of files.
 */
export async function databaseSize(reader: Reader): Promise<DatabaseSize> {
  return (await reader.first(size, {}))!;
}

const size = query<Record<never, never>, DatabaseSize>((db, _: Params<Record<never, never>>, engine) =>
  db
    .selectFrom(
      (engine === 'sqlite'
        ? sql<DatabaseSize>`(
            select page_size * (page_count - freelist_count) as used, page_size * freelist_count as free
            from pragma_page_size, pragma_page_count, pragma_freelist_count)`
        : sql<DatabaseSize>`(
            select cast(sum(pg_total_relation_size(oid)) as bigint) as used, cast(null as bigint) as free
            from pg_class where relnamespace = cast(current_schema() as regnamespace) and relkind = 'r')`
      ).as('size'),
    )
    .selectAll(),
);
