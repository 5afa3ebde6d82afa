import { recordAll } from '../events/log.ts';
import type { Work } from '../lib/jobs/job-loop.ts';
import { type Database, type MessageStatus, type NextDue, type Params, query, sql } from '../schema.ts';
import { loggedColumns, messageEvent } from './message-log.ts';

/**
 * The work of bringing messages into the inboxes: it is done with being taken.
 * @param options.toMail told that there are some to be mailed; left out where no mail goes out: then messages come into
 *   inboxes only
 */
export function arriving({
  database,
  toMail,
}: {
  readonly database: Database;
  readonly toMail?: (() => void) | undefined;
}): Work<never> {
  const mailed = toMail !== undefined;
  return {
    name: 'messages',
    atOnce: 1,
    async take() {
      const rows = await database.write(async tx => {
        const arrived = await tx.all(arrive, {
          now: tx.now,
          dueAt: mailed ? tx.now : null,
          status: mailed ? 'queued' : 'delivered',
        });
        if (!mailed) {
          await recordAll(
            tx,
            arrived.map(message => messageEvent(message, 'delivered')),
          );
        }
        return arrived.length;
      });
      if (rows > 0) toMail?.();
      return { rows, jobs: [] };
    },
    async work() {},
  };
}

/** A message that is not in an inbox is due. */
export const nextToArrive: NextDue = db =>
  db.selectFrom('messages').select(sql.lit(0).as('dueAt')).where('arrived_at', 'is', null).limit(1);

const ARRIVING_AT_ONCE = 100;

const arrive = query((db, p: Params<{ now: number; dueAt: number | null; status: MessageStatus }>, engine) =>
  db
    .updateTable('messages')
    .set(eb => ({
      arrived_at: p.now,
      due_at: p.dueAt,
      status: p.status,
      version: eb('version', '+', 1),
      updated_at: p.now,
    }))
    .where('id', 'in', eb =>
      eb
        .selectFrom('messages')
        .select('id')
        .where('arrived_at', 'is', null)
        .orderBy('id')
        .limit(ARRIVING_AT_ONCE)
        .$if(engine === 'postgres', some => some.forUpdate().skipLocked()),
    )
    .returning(loggedColumns),
);
