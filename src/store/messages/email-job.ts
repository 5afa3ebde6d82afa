import type { Selection } from 'kysely';
import type { JobType } from '../../lib/jobs/job-loop.ts';
import { scheduledDelay } from '../../lib/jobs/retry-schedule.ts';
import type { Log } from '../../lib/log.ts';
import { LogThrottle } from '../../lib/log-throttle.ts';
import type { MaybePromise } from '../../lib/maybe-promise.ts';
import { parseDuration } from '../../lib/time.ts';
import {
  type Database,
  type NextDue,
  type Params,
  type Query,
  query,
  type Tables,
  type Transaction,
} from '../../model/schema.ts';
import type { Email, EmailSender } from './email-sender.ts';

/** The dependencies of a job that sends e-mail. */
export interface EmailJobDeps {
  readonly database: Database;
  readonly sender: EmailSender;
  readonly log: Log;
}

/** A row of a table of e-mails, as the job uses it. */
interface EmailRow {
  readonly id: number;
  readonly failures: number;
}

/** The queries of a table with one e-mail per row. A row is due at `due_at`, or leased until then. */
interface EmailQueue<Row> {
  readonly claim: Query<{ now: number; until: number; most: number }, Row>;
  readonly endLeases: Query<{ now: number }, unknown>;
  readonly retry: Query<{ id: number; dueAt: number; failures: number }, unknown>;
  readonly nextDue: NextDue;
}

/** The options of a job that sends the e-mails of a queue. */
interface EmailJobOptions<Row, Name> {
  readonly name: Name;
  readonly queue: EmailQueue<Row>;
  /** Returns the e-mail to send, with new secrets; `undefined` if it is no longer needed. */
  compose(tx: Transaction, row: Row): MaybePromise<Email | undefined>;
  /**
   * Records that no further attempt follows.
   * @param outcome `failed`: no attempt succeeded; `unneeded`: `compose` returned no e-mail
   */
  finish(tx: Transaction, row: Row, outcome: 'sent' | 'failed' | 'unneeded'): MaybePromise<unknown>;
}

/**
 * Creates a job that sends e-mails with links. Each attempt composes the e-mail again, so that only the e-mail contains
 * the secret of its link. One process at a time has the lease on an e-mail; after a crash another process sends it.
 */
export function emailJob<Row extends EmailRow, Name extends string>(
  { database, sender, log }: EmailJobDeps,
  { name, queue, compose, finish }: EmailJobOptions<Row, Name>,
): JobType<Row, Name> {
  const throttle = new LogThrottle();
  return {
    name,
    concurrency: 4,
    ...leasing(database, queue, LEASE_MS),

    async run(row) {
      const email = await database.write(async tx => compose(tx, row));
      const failure = email && (await sender.send(email));
      if (failure !== undefined && throttle.shouldLog(failure.reason)) {
        log.warn({ job: name, id: row.id, reason: failure.reason, detail: failure.detail }, SENDING_FAILED);
      }
      const failures = row.failures + 1;
      const waitMs = failure?.final === false ? scheduledDelay(RETRY_SCHEDULE_MS, failures) : undefined;
      const outcome = email === undefined ? 'unneeded' : failure === undefined ? 'sent' : 'failed';
      await database.write(async tx => {
        if (waitMs === undefined) await finish(tx, row, outcome);
        else await tx.run(queue.retry, { id: row.id, dueAt: tx.now + waitMs, failures });
      });
    },
  };
}

/** Returns how a job takes the rows of a queue: each with a lease, which one process at a time has. */
export function leasing<Row extends { readonly id: number }>(
  database: Database,
  { claim, endLeases }: Pick<EmailQueue<Row>, 'claim' | 'endLeases'>,
  leaseMs: number,
): Pick<JobType<Row, string>, 'init' | 'claim' | 'idOf'> {
  return {
    async init() {
      // SQLite serves one process, so leases left in the file belong to a process that has ended.
      if (database.engine === 'sqlite') await database.write(tx => tx.run(endLeases, { now: tx.now }));
    },

    async claim(most) {
      const jobs = await database.write(tx => tx.all(claim, { now: tx.now, until: tx.now + leaseMs, most }));
      return { rows: jobs.length, jobs };
    },

    idOf: ({ id }) => id,
  };
}

const SENDING_FAILED = 'An e-mail with a link could not be sent. Further failures of this kind are not logged.';
/** The delays after each temporary failure. */
const RETRY_SCHEDULE_MS = ['5s', '1m', '5m', '30m', '2h', '8h'].map(delay => parseDuration(delay)!);
/** Longer than an attempt to send. */
const LEASE_MS = 150_000;

/**
 * Returns the queries of a table of e-mails.
 * @param columns the columns that the job gets of each row
 */
export function emailQueue<
  Table extends 'account_emails' | 'visitor_messages' | 'message_replies' | 'message_notices',
  const Column extends `${keyof Tables[Table] & string}${'' | ` as ${string}`}`,
>(table: Table, columns: readonly Column[]): EmailQueue<Selection<Tables, Table, Column>> {
  // The queries are the same for every table, so they use the types of one table.
  const emails = table as 'account_emails';
  return {
    claim: query((db, p: Params<{ now: number; until: number; most: number }>, engine) =>
      db
        .updateTable(emails)
        .set({ due_at: p.until })
        .where('id', 'in', ({ selectFrom }) =>
          selectFrom(emails)
            .select('id')
            .where('due_at', '<=', p.now)
            .orderBy('due_at')
            .limit(p.most)
            .$if(engine === 'postgres', rows => rows.forUpdate().skipLocked()),
        )
        .returning(columns as readonly 'id'[]),
    ) as Query<unknown, unknown> as EmailQueue<Selection<Tables, Table, Column>>['claim'],
    endLeases: query((db, p: Params<{ now: number }>) =>
      db.updateTable(emails).set({ due_at: p.now }).where('due_at', '>', p.now),
    ),
    retry: query((db, p: Params<{ id: number; dueAt: number; failures: number }>) =>
      db.updateTable(emails).set({ due_at: p.dueAt, failures: p.failures }).where('id', '=', p.id),
    ),
    nextDue: db =>
      db.selectFrom(emails).select('due_at as dueAt').where('due_at', 'is not', null).orderBy('due_at').limit(1),
  };
}
