import { type Params, query, type Reader, sql } from '../../model/schema.ts';
import { COUNTED_MAX } from '../../operate/metrics/backlog.ts';

/** The maximum number of webhooks that are searched for disabled ones. */
const WEBHOOKS_MAX = 10_000;

/** The pending work of a database besides its backlog. Each number is at most `COUNTED_MAX + 1`. */
interface Waiting {
  readonly failingWebhooks: number;
  readonly disabledWebhooks: number;
  /** Messages that are not in an inbox yet. */
  readonly inbox: number;
  /** Photos of earlier releases whose sizes are not counted yet. */
  readonly photos: number;
  /** Accounts in their grace period, or being deleted. */
  readonly deletions: number;
}

/** Counts the pending work of a database. Uses indexes and reads a limited number of rows. */
export async function countWaiting(reader: Reader): Promise<Waiting> {
  return (await reader.first(waiting, {}))!;
}

/** A process that serves a database. Times are milliseconds since the Unix epoch, by its own clock. */
interface ServingNode {
  readonly id: string;
  readonly startedAt: number;
  readonly seenAt: number;
}

/**
 * Returns the nodes that serve PostgreSQL, including those that were killed within the last minute; an empty list on
 * SQLite.
 */
export async function listNodes(reader: Reader): Promise<ServingNode[]> {
  return await reader.all(allNodes, {});
}

/** A table with its newest id, which approximates the number of rows ever inserted. */
interface TableSize {
  readonly name: string;
  readonly newestId: number | null;
}

/** Returns the newest ids of the tables that grow. Reads the end of one index for each. */
export async function newestIds(reader: Reader): Promise<TableSize[]> {
  const row = (await reader.first(newest, {}))! as Record<string, number | null>;
  return growing.map(name => ({ name, newestId: row[name] ?? null }));
}

/** Returns the sizes of the 15 largest tables of PostgreSQL with their indexes, and an estimate of their rows. */
export async function tableSizes(reader: Reader): Promise<{ name: string; bytes: number; rows: number }[]> {
  return await reader.all(postgresTables, {});
}

const growing = ['pets', 'orders', 'holds', 'messages', 'events', 'deliveries', 'webhooks', 'accounts'] as const;

const counted = (rows: string) =>
  sql<number>`(select count(*) from (select 1 as one ${sql.raw(rows)} limit ${sql.lit(COUNTED_MAX + 1)}) as counted)`;

const waiting = query(db =>
  db.selectNoFrom([
    counted(`from webhooks where status = 'active' and failing_since is not null and due_at is not null`).as(
      'failingWebhooks',
    ),
    counted(`from (select status, deleted_at from webhooks order by id desc limit ${WEBHOOKS_MAX}) as latest
      where status = 'disabled' and deleted_at is null`).as('disabledWebhooks'),
    counted('from messages where arrived_at is null').as('inbox'),
    counted('from photos where sizes_bytes is null').as('photos'),
    counted('from accounts where delete_at is not null').as('deletions'),
  ]),
);

const allNodes = query(db =>
  db.selectFrom('nodes').select(['id', 'started_at as startedAt', 'seen_at as seenAt']).orderBy('started_at'),
);

const newest = query(db =>
  db.selectNoFrom(eb =>
    growing.map(name =>
      eb
        .selectFrom(name)
        .select(({ fn }) => fn.max('id').as('id'))
        .as(name),
    ),
  ),
);

const postgresTables = query((db, _: Params<Record<never, never>>) =>
  db
    .selectFrom(
      sql<{ name: string; bytes: number; rows: number }>`(
        select relname as name, pg_total_relation_size(oid) as bytes, cast(greatest(reltuples, 0) as bigint) as rows
        from pg_class where relnamespace = cast(current_schema() as regnamespace) and relkind = 'r'
        order by 2 desc limit 15)`.as('sizes'),
    )
    .selectAll(),
);
