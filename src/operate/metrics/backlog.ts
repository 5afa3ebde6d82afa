import { query, type Reader, sql } from '../../model/schema.ts';

/** The maximum number of rows of a queue that are counted. */
export const COUNTED_MAX = 10_000;
/** The maximum number of rows, or webhooks, that are searched for the oldest: those that are due first. */
export const EXAMINED_MAX = 250;

/** The queues of work that leaves the service. */
export type QueueName =
  | 'deliveries'
  | 'message_emails'
  | 'account_emails'
  | 'visitor_emails'
  | 'reply_emails'
  | 'notice_emails';

export interface Queue {
  /** The number of pending rows: at most `COUNTED_MAX + 1`; exact for deliveries, which webhooks count. */
  readonly pending: number;
  /** When the oldest row was created, in milliseconds since the Unix epoch; null if none is pending. */
  readonly oldestAt: number | null;
}

/**
 * Returns the pending work of a database and its age. Uses indexes and reads a limited number of rows. Counts only
 * deliveries of active webhooks.
 */
export async function readBacklog(reader: Reader): Promise<Readonly<Record<QueueName, Queue>>> {
  const rows = await reader.all(queues, {});
  return Object.fromEntries(rows.map(({ name, ...queue }) => [name, queue])) as Record<QueueName, Queue>;
}

const dueWebhooks = (failing: string) =>
  `select * from (select id from webhooks where status = 'active' and failing_since is ${failing} and due_at is not null
   order by due_at limit ${EXAMINED_MAX}) as due`;

const queueOf = (table: string, isPending = 'due_at is not null') =>
  `(select count(*) from (select 1 as one from ${table} where ${isPending} limit ${COUNTED_MAX + 1}) as counted),
   (select min(created_at) from (
      select created_at from ${table} where ${isPending} order by due_at limit ${EXAMINED_MAX}) as first)`;

const queues = query(db =>
  db
    .selectFrom(
      sql<{ name: QueueName; pending: number; oldestAt: number | null }>`${sql.raw(`(
        select 'deliveries' as name,
          (select cast(coalesce(sum(pending), 0) as bigint) from (
             select pending from webhooks where status = 'active' limit ${COUNTED_MAX}) as counted) as pending,
          (select min(created_at) from (
             select (select created_at from deliveries where webhook_id = webhook.id and status = 'pending' order by id limit 1)
               as created_at
             from (${dueWebhooks('null')} union all ${dueWebhooks('not null')}) as webhook) as first) as "oldestAt"
        union all select 'message_emails', ${queueOf('messages')}
        union all select 'account_emails', ${queueOf('account_emails')}
        union all select 'visitor_emails', ${queueOf('visitor_messages')}
        union all select 'reply_emails', ${queueOf('message_replies')}
        union all select 'notice_emails', ${queueOf('message_notices', 'collects is null')})`)}`.as('queues'),
    )
    .selectAll(),
);
