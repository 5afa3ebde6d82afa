import { recordAll } from '../events/log.ts';
import type { JobType } from '../lib/jobs/job-loop.ts';
import { type Database, type NextDue, type Params, query, sql } from '../schema.ts';
import type { MessageStatus } from './message.ts';
import { messageEvent, recordedColumns } from './rows.ts';

/**
 * Creates the job that delivers queued messages to the inboxes. Claiming a message delivers it.
 * @param options.emailQueued called when messages wait to be sent by e-mail; absent if the deployment sends no e-mail:
 *   then delivery to the inbox is all
 */
export function inboxDelivery({
  database,
  emailQueued,
}: {
  readonly database: Database;
  readonly emailQueued?: (() => void) | undefined;
}): JobType<never> {
  const emails = emailQueued !== undefined;
  return {
    name: 'messages',
    concurrency: 1,
    async claim() {
      const rows = await database.write(async tx => {
        const { now } = tx;
        const delivered = await tx.all(
          deliver,
          emails ? { now, dueAt: now, status: 'queued' } : { now, dueAt: null, status: 'delivered' },
        );
        if (!emails)
          await recordAll(
            tx,
            delivered.map(message => messageEvent(message, 'delivered')),
          );
        return delivered.length;
      });
      if (rows > 0) emailQueued?.();
      return { rows, jobs: [] };
    },
    async run() {},
  };
}

/** A message is due for as long as it is in no inbox. */
export const nextInboxDelivery: NextDue = db =>
  db.selectFrom('messages').select(sql.lit(0).as('dueAt')).where('arrived_at', 'is', null).limit(1);

const BATCH = 100;

const deliver = query((db, p: Params<{ now: number; dueAt: number | null; status: MessageStatus }>, engine) =>
  db
    .updateTable('messages')
    .set(({ eb }) => ({
      arrived_at: p.now,
      due_at: p.dueAt,
      status: p.status,
      version: eb('version', '+', 1),
      updated_at: p.now,
    }))
    .where('id', 'in', ({ selectFrom }) =>
      selectFrom('messages')
        .select('id')
        .where('arrived_at', 'is', null)
        .orderBy('id')
        .limit(BATCH)
        .$if(engine === 'postgres', rows => rows.forUpdate().skipLocked()),
    )
    .returning(recordedColumns),
);
