import { problem } from '../errors.ts';
import { type Params, query, sql, type Transaction } from '../schema.ts';

/**
 * Lets the holds of an account come one after the other, until the transaction ends; the first thing that a new one
 * takes. Embedded, writes come one by one anyway.
 */
export async function lockHoldsOf(tx: Transaction, accountId: number): Promise<void> {
  if (tx.engine === 'postgres') await tx.first(takeTurn, { account: String(accountId) });
}

/**
 * Demands that the animals in all active holds of an account stay within what it may hold, with so many more.
 * @throws {Problem} `hold_limit_exceeded`
 */
export async function requireWithinLimit(
  tx: Transaction,
  accountId: number,
  more: number,
  heldMax: number,
): Promise<void> {
  const { held } = (await tx.first(heldBy, { accountId, now: tx.now }))!;
  if (held + more <= heldMax) return;
  throw problem(
    'hold_limit_exceeded',
    `The account holds ${held} of the ${heldMax} animals that it may hold at a time; ${more} more are too many. ` +
      'Release a hold, or wait until one ends.',
  );
}

const takeTurn = query((db, p: Params<{ account: string }>) =>
  db.selectNoFrom(sql`pg_advisory_xact_lock(hashtext('petstore holds'), hashtext(${p.account}))`.as('alone')),
);

const heldBy = query((db, p: Params<{ accountId: number; now: number }>) =>
  db
    .selectFrom('holds')
    .innerJoin('reservations', 'reservations.hold_id', 'holds.id')
    .select(eb => eb.fn.countAll<number>().as('held'))
    .where('holds.account_id', '=', p.accountId)
    .where('holds.ended_at', 'is', null)
    .where('holds.expires_at', '>', p.now)
    .where('reservations.active', '=', 1),
);
