import type { RawBuilder } from 'kysely';
import { problem } from '../errors.ts';
import type { RequestOrigin } from '../lib/origin.ts';
import { createSemaphore } from '../lib/semaphore.ts';
import { useFirstSlot } from '../lib/storage/counter-slots.ts';
import { countText } from '../lib/text.ts';
import { endsWithin } from '../lib/timeout.ts';
import { type Database, type MaybePromise, type Params, query, type Reader, sql, type Transaction } from '../schema.ts';
import { lockBound } from './lock.ts';

/** What all sandbox accounts of a deployment together can have, and send. */
export interface SandboxBounds {
  /** Their pets. */
  readonly pets: number;
  /** The bytes of their events and of the stored responses to their idempotent requests. */
  readonly bytes: number;
  /** Their requests in any 60 seconds. */
  readonly perMinute: number;
}

/** What all sandbox accounts of a deployment together have. */
export type SandboxUse = Pick<SandboxBounds, 'pets' | 'bytes'>;

/** Returns what all sandbox accounts together have. The counters of deleted ones are deleted with them. */
export async function sandboxUse(reader: Reader): Promise<SandboxUse> {
  return (await reader.first(useOfAll, {}))!;
}

/**
 * Returns the database for requests of sandbox accounts that add something: a write that exceeds a bound of all of them
 * together is rolled back. A write that adds nothing to what exceeds a bound, such as a replay, is not.
 *
 * On PostgreSQL, the writes of all nodes run one at a time. A node starts one at a time, so that those that wait take no
 * connections; one that waits too long is a 503 `overloaded`.
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

/** How long a write waits for others of this node. */
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
  tx.refreshNow();
  // They run one at a time, and read the sums of these counters.
  useFirstSlot(tx);
  if ((await tx.first(accountById, { accountId })) === undefined) await tx.run(insertAccount, { accountId });
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
  // PostgreSQL reads the counters by their index, whatever its statistics say about the number of accounts.
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
