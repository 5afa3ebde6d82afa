import { type Params, query, type Reader, sql } from '../../model/schema.ts';
import { DISPATCHED } from './dispatch-job.ts';

/** The maximum number of webhooks that are examined: those that are due first. */
const WEBHOOKS_MAX = 250;

/**
 * Returns the time since when webhooks wait for the service, in milliseconds since the Unix epoch; null if none waits.
 * A webhook waits if the oldest event is not dispatched, or its oldest delivery is due and not attempted. Deliveries to
 * failing receivers, and to receivers with the maximum number of deliveries in progress, do not count: they wait for
 * their receivers.
 */
export async function webhooksWaitingSince(reader: Reader, now: number): Promise<number | null> {
  const { undispatched, due } = (await reader.first(waitingSince, { now }))!;
  return undispatched === null || due === null ? (undispatched ?? due) : Math.min(undispatched, due);
}

const waitingSince = query((db, p: Params<{ now: number }>, engine) => {
  const [position, integer] = engine === 'postgres' ? ['seq', 'bigint'] : ['id', 'integer'];
  const column = sql.ref(position!);
  return db.selectNoFrom([
    sql<number | null>`(select at from events
      where exists (select 1 from webhooks where status = 'active')
        and ${column} > (select cast(value as ${sql.raw(integer!)}) from facts where name = ${sql.lit(DISPATCHED)})
      order by ${column} limit 1)`.as('undispatched'),
    sql<number | null>`(select min(due_at) from (
      select (select due_at from deliveries where webhook_id = webhook.id and due_at is not null order by due_at limit 1) as due_at
      from (select id from webhooks where status = 'active' and failing_since is null and due_at <= ${p.now}
            order by due_at limit ${sql.lit(WEBHOOKS_MAX)}) as webhook) as first
      where due_at <= ${p.now})`.as('due'),
  ]);
});
