import type { RawBuilder } from 'kysely';
import type { RequestOrigin } from '../../lib/origin.ts';
import { createSemaphore } from '../../lib/semaphore.ts';
import { useFirstSlot } from '../../lib/storage/counter-slots.ts';
import { countText } from '../../lib/text.ts';
import { endsWithin } from '../../lib/timeout.ts';
import { problem } from '../../model/errors.ts';
import type { SandboxBounds } from '../../model/plan.ts';
import {
  type Database,
  type MaybePromise,
  type Params,
  query,
  type Reader,
  sql,
  type Transaction,
} from '../../model/schema.ts';
import { lockBound } from './lock.ts';

/** The resources of all sandbox accounts of a deployment together. */
export type SandboxUse = Pick<SandboxBounds, 'pets' | 'bytes'>;

/** Returns the resources of all sandbox accounts together. The counters of a deleted account are deleted with it. */
export async function sandboxUse(reader: Reader): Promise<SandboxUse> {
  return (await reader.first(useOfAll, {}))!;
}

/**
 * Returns the database for requests of sandbox accounts that add data. It rolls back a write that exceeds a common
 * bound of all sandbox accounts. A write that adds no data, such as a replay, succeeds even above the bound.
 *
 * On PostgreSQL, the writes of all nodes run one at a time. A node starts one at a time, so that waiting writes use no
 * connections; a write that waits too long gets 503 `overloaded`.
 */
export function sandboxDatabase(database: Database, bounds: SandboxUse): Database {
  const most = database.engine === 'postgres' ? 1 : Number.POSITIVE_INFINITY;
  const slots = createSemaphore({ perKey: most, total: most });
  return {
    engine: database.engine,
    all: (...read) => database.all(...read),
    first: (...read) => database.first(...read),
    readTimestamp: now => database.readTimestamp(now),
    dataVersion: table => database.dataVersion(table),
    topicVersion: topic => database.topicVersion(topic),
    health: () => database.health(),
    close: () => database.close(),
    async write(work, origin) {
      const { accountId } = origin as RequestOrigin;
      const slot = slots.acquire(String(accountId));
      try {
        if (slot.ready !== undefined && !(await endsWithin(slot.ready, WAIT_MS))) {
          throw problem('overloaded', BUSY, { headers: ['Retry-After', '5'] });
        }
        return await database.write(tx => runWithin(tx, accountId, bounds, work), origin);
      } finally {
        slot.release();
      }
    },
  };
}

/** How long a write waits for other writes of this node. */
const WAIT_MS = 10_000;
const BUSY = 'Too many trial keys write at the moment; nothing was changed. Try again in a few seconds.';

/** @throws {Problem} `sandbox_pet_limit_exceeded`; `sandbox_storage_exceeded`; any error of `work` */
async function runWithin<T>(
  tx: Transaction,
  accountId: number,
  bounds: SandboxUse,
  work: (tx: Transaction) => MaybePromise<T>,
): Promise<T> {
  await lockBound(tx, 'sandbox writes', 0);
  // These writes run one at a time, and read the sums of these counters.
  useFirstSlot(tx);
  const account = await tx.first(accountById, { accountId });
  // The read has waited for the lock.
  tx.refreshNow();
  if (account === undefined) await tx.queue(insertAccount, { accountId });
  const before = await sandboxUse(tx);
  const result = await work(tx);
  const after = await sandboxUse(tx);
  if (after.pets > bounds.pets && after.pets > before.pets) {
    const full = `All trial keys together have ${countText(before.pets)} animals, and the maximum is ${countText(bounds.pets)}.`;
    throw problem('sandbox_pet_limit_exceeded', `${full} ${REMEDY}`);
  }
  if (after.bytes > bounds.bytes && after.bytes > before.bytes) {
    const full = `All trial keys together store ${countText(before.bytes)} bytes, and ${countText(after.bytes - before.bytes)} more would exceed ${countText(bounds.bytes)}, the maximum.`;
    throw problem('sandbox_storage_exceeded', `${full} ${REMEDY}`);
  }
  return result;
}

const REMEDY = 'Try again in a few minutes, or use a key of an account of your own.';

const accountById = query((db, p: Params<{ accountId: number }>) =>
  db.selectFrom('sandbox_accounts').select('account_id').where('account_id', '=', p.accountId),
);

const insertAccount = query((db, p: Params<{ accountId: number }>) =>
  db.insertInto('sandbox_accounts').values({ account_id: p.accountId }),
);

const useOfAll = query((db, _, engine) => {
  // PostgreSQL should read the counters by their index, even if its statistics suggest otherwise.
  const isAmong = (ids: RawBuilder<unknown>) => (engine === 'postgres' ? sql`= any(array(${ids}))` : sql`in (${ids})`);
  const ofAccounts = isAmong(sql`select account_id from sandbox_accounts`);
  const sum = (bytes: RawBuilder<unknown>) => sql`(select coalesce(sum(bytes), 0) from ${bytes})`;
  return db.selectNoFrom([
    sql<number>`(select cast(coalesce(sum(pets), 0) as bigint) from pet_counts
      where kind = 'owner' and key ${isAmong(sql`select cast(account_id as text) from sandbox_accounts`)})`.as('pets'),
    sql<number>`cast(${sum(sql`event_bytes where account_id ${ofAccounts}`)}
      + ${sum(sql`stored_bytes where account_id ${ofAccounts}`)} as bigint)`.as('bytes'),
  ]);
});
