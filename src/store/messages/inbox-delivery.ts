import { batchJob } from '../../lib/jobs/batch-job.ts';
import type { JobType } from '../../lib/jobs/job-loop.ts';
import { recordEvents } from '../../model/log/log.ts';
import type { MessageStatus } from '../../model/message.ts';
import {
  type Database,
  type NextDue,
  type Params,
  query,
  selectJsonNumbers,
  sql,
  type Transaction,
} from '../../model/schema.ts';
import { messageEvent, recordedColumns } from './rows.ts';

/** The dependencies of the job that delivers to inboxes. */
interface InboxDeps {
  readonly database: Database;
  /** Called when messages wait to be sent by e-mail; absent if the deployment sends no e-mail. */
  readonly emailQueued?: (() => void) | undefined;
}

/** Creates the job that delivers queued messages to the inboxes. Without e-mail, that completes their delivery. */
export function inboxDelivery({ database, emailQueued }: InboxDeps): JobType<never, 'messages'> {
  return batchJob('messages', async () => {
    const rows = await database.write(async tx => {
      const { now } = tx;
      if (emailQueued !== undefined) {
        const arrived = await tx.all(deliver, { now, dueAt: now, status: 'queued' });
        await queueNotices(tx, arrived);
        return arrived.length;
      }
      const delivered = await tx.all(deliver, { now, dueAt: null, status: 'delivered' });
      const events = delivered.map(message => messageEvent(message, 'delivered'));
      await recordEvents(tx, events);
      return delivered.length;
    });
    if (rows > 0) emailQueued?.();
    return rows;
  });
}

/**
 * Queues an e-mail to each member who wants to learn of messages about animals, without spam. `store/inbox/notice-job.ts`
 * sends it.
 */
async function queueNotices(tx: Transaction, arrived: readonly { readonly id: number }[]): Promise<void> {
  if (arrived.length > 0) await tx.run(insertNotices, { ids: JSON.stringify(arrived.map(({ id }) => id)) });
}

/** A message is due while it is not in an inbox. */
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
      unread: 1,
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

const insertNotices = query((db, p: Params<{ ids: string }>, engine) =>
  db
    .insertInto('message_notices')
    .columns(['account_id', 'person_id', 'kind', 'message_id', 'created_at', 'due_at'])
    .expression(
      sql`select members.account_id, person_id, 'message', messages.id, arrived_at, arrived_at
          from messages join members on members.account_id = to_account_id
          where messages.id in ${selectJsonNumbers(p.ids, engine)} and pet_id is not null and folder is null
            and left_at is null and notices in ('each', 'daily')`,
    ),
);
