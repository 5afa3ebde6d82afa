import { lockedFact, storeFact } from '../../model/facts.ts';
import { forgetReplaced } from '../../model/log/long-values.ts';
import { CLOCK_TOLERANCE_MS } from '../../model/log/ordering.ts';
import type { LoggedData } from '../../model/log/owners.ts';
import { redactEvents } from '../../model/log/redaction.ts';
import { nounEvents } from '../../model/nouns.ts';
import { SYNC_TOKEN_MS } from '../../model/rules.ts';
import {
  type Database,
  type EventKind,
  type Params,
  query,
  selectJsonNumbers,
  sql,
  type Transaction,
} from '../../model/schema.ts';
import type { PetEventData } from '../../store/pets/change.ts';

// The deletion of events must not cause ids to be reused. A log without its last event would assign a position twice,
// so the last event waits until there is a later one. The id of a category without events would be free again, so the
// deletion event of a category stays.

/** Schedules the deletion of all events of some resources. */
export async function scheduleEventDeletion(
  tx: Transaction,
  kind: EventKind,
  subjectIds: readonly number[],
): Promise<void> {
  if (subjectIds.length === 0) return;
  await tx.run(schedule, { kind, ids: JSON.stringify(subjectIds), dueAt: tx.now });
}

/**
 * Schedules the deletion of the events about pets, categories, holds, orders, messages and the organization of an
 * account of the sandbox, also those that the account deleted itself. Reads the log since `createdAt`. Call it once the
 * resources are deleted.
 * @param createdAt when the account was created
 * @returns the number of scheduled deletions; 0 if none is left
 */
export async function scheduleOwnEvents(database: Database, accountId: number, createdAt: number): Promise<number> {
  let after = (await database.first(lastBefore, { time: createdAt - CLOCK_TOLERANCE_MS }))?.id ?? 0;
  let scheduled = 0;
  for (;;) {
    const upTo = (await database.first(endOfBatch, { after, size: SCAN_SIZE }))!.id;
    if (upTo === null) return scheduled;
    const range = { accountId, after, upTo };
    if ((await database.first(anyMade, range)) !== undefined) {
      scheduled += await database.write(tx =>
        tx.run(scheduleMade, { ...range, dueAt: tx.now, expiresAt: tx.now + SYNC_TOKEN_MS }),
      );
    }
    after = upTo;
  }
}

/**
 * Deletes events whose deletion is due. The `pet.deleted` of a pet stays until earlier sync tokens have expired, with
 * only the members that a copy of the catalog needs.
 * @param limit the maximum number of events
 * @returns the number of changed rows; 0 if none is left
 */
export async function deleteScheduledEvents(tx: Transaction, limit: number): Promise<number> {
  const due = await tx.all(dueDeletions, { now: tx.now });
  if (due.length === 0) return 0;
  const ids = JSON.stringify(due.map(({ id }) => id));
  const pets = due.filter(({ kind, keeps }) => kind === 'pet' && keeps !== null).map(({ subjectId }) => subjectId);
  // Run this first, because the events may be deleted in several transactions.
  await tx.run(forgetReplaced, { petIds: JSON.stringify(pets) });
  const deleted = await tx.run(deleteEvents, { ids, limit });
  if (deleted > 0) {
    const { value } = (await tx.first(lockedFact, { name: DELETED_EVENTS }))!;
    await tx.run(storeFact, { name: DELETED_EVENTS, value: String(Number(value) + deleted) });
  }
  if (deleted === limit) return deleted;
  await redactEvents<PetEventData>(tx, 'pet', pets, ({ action, data }) =>
    action === 'deleted' ? tombstoneOf(data) : data,
  );
  return deleted + (await tx.run(deleteDone, { ids }));
}

/** The name of the fact that stores the number of deleted events. */
const DELETED_EVENTS = 'deleted events';

const DUE_SIZE = 50;
const SCAN_SIZE = 2000;

function tombstoneOf({ pet: { name, categoryId, status }, ownerId }: PetEventData): LoggedData {
  return { pet: { name, categoryId, status }, ...(ownerId !== undefined && { ownerId }) };
}

const columns = ['kind', 'subject_id', 'keeps', 'due_at'] as const;

const schedule = query((db, p: Params<{ kind: EventKind; ids: string; dueAt: number }>, engine) =>
  db
    .insertInto('event_deletions')
    .columns(columns)
    .expression(
      sql`select cast(${p.kind} as text), ids.value, null, cast(${p.dueAt} as bigint)
          from ${selectJsonNumbers(p.ids, engine)} as ids`,
    ),
);

interface Made {
  accountId: number;
  after: number;
  upTo: number;
}

/** The condition that an event is about a creation. */
const isCreation = sql.join(
  Object.entries(nounEvents).flatMap(([kind, { actions }]) =>
    Object.keys(actions)
      .filter(action => actions[action] === 'creates')
      .map(action => sql`(kind = ${sql.lit(kind)} and action = ${sql.lit(action)})`),
  ),
  sql` or `,
);

/**
 * Selects resources that an account has created and that are deleted except for events whose deletion is not scheduled.
 */
const selectMade = (p: Params<Made>) => sql<{ kind: EventKind; subject_id: number }>`
  select kind, subject_id from events
  where id > ${p.after} and id <= ${p.upTo} and account_id = ${p.accountId} and (${isCreation})
  and not (kind = 'pet' and exists (select 1 from pets where pets.id = subject_id))
  and not (kind = 'category' and exists (select 1 from categories where categories.id = subject_id))
  and not exists (
    select 1 from event_deletions as other where other.kind = events.kind and other.subject_id = events.subject_id
  )`;

const anyMade = query((db, p: Params<Made>) =>
  db
    .selectFrom(sql<{ kind: EventKind }>`(${selectMade(p)})`.as('made'))
    .select('kind')
    .limit(1),
);

const scheduleMade = query((db, p: Params<Made & { dueAt: number; expiresAt: number }>) =>
  db
    .insertInto('event_deletions')
    .columns(columns)
    .expression(
      sql`with made as (${selectMade(p)})
          select kind, subject_id, case when kind in ('pet', 'category') then 'deleted' end, cast(${p.dueAt} as bigint)
          from made
          union all select kind, subject_id, null, cast(${p.expiresAt} as bigint) from made where kind = 'pet'`,
    ),
);

const lastBefore = query((db, p: Params<{ time: number }>) =>
  db.selectFrom('events').select('id').where('at', '<', p.time).orderBy('at', 'desc').orderBy('id', 'desc').limit(1),
);

const endOfBatch = query((db, p: Params<{ after: number; size: number }>) =>
  db
    .selectFrom(eb =>
      eb.selectFrom('events').select('id').where('id', '>', p.after).orderBy('id').limit(p.size).as('batch'),
    )
    .select(({ fn }) => fn.max<number | null>('id').as('id')),
);

const dueDeletions = query((db, p: Params<{ now: number }>, engine) =>
  db
    .selectFrom('event_deletions')
    .select(['id', 'kind', 'subject_id as subjectId', 'keeps'])
    .where('due_at', '<=', p.now)
    .orderBy('due_at')
    .limit(DUE_SIZE)
    .$if(engine === 'postgres', rows => rows.forUpdate().skipLocked()),
);

/** The condition that an event is still to be deleted. */
const isToDelete = sql`events.kind = event_deletions.kind and events.subject_id = event_deletions.subject_id
  and (keeps is null or action <> keeps)`;

const deleteEvents = query((db, p: Params<{ ids: string; limit: number }>, engine) => {
  const position = sql.ref(engine === 'postgres' ? 'events.seq' : 'events.id');
  return db.deleteFrom('events').where(
    sql<boolean>`id in (
      select events.id from events join event_deletions on ${isToDelete}
      where event_deletions.id in ${selectJsonNumbers(p.ids, engine)}
        and ${position} < (select max(${position}) from events) limit ${p.limit})`,
  );
});

const deleteDone = query((db, p: Params<{ ids: string }>, engine) =>
  db
    .deleteFrom('event_deletions')
    .where('id', 'in', selectJsonNumbers(p.ids, engine))
    .where(sql<boolean>`not exists (select 1 from events where ${isToDelete})`),
);
