import { problem } from '../errors.ts';
import { type Params, query, sql, type Transaction } from '../schema.ts';

/**
 * Serializes the transactions that place holds for an account; call it before any other lock. SQLite runs one write at
 * a time, so it needs no lock.
 */
export async function lockHoldsOf(tx: Transaction, accountId: number): Promise<void> {
  if (tx.engine === 'postgres') await tx.first(lockAccount, { account: String(accountId) });
}

/**
 * Rejects a hold of `count` more pets if the active holds of the account would then have more than `heldMax`.
 * @throws {Problem} `hold_limit_exceeded`
 */
export async function requireWithinLimit(
  tx: Transaction,
  accountId: number,
  count: number,
  heldMax: number,
): Promise<void> {
  const { held } = (await tx.first(countHeld, { accountId, now: tx.now }))!;
  if (held + count <= heldMax) return;
  throw problem(
    'hold_limit_exceeded',
    `The account holds ${held} of at most ${heldMax} animals; ${count} more exceed the limit. ` +
      'Release a hold, or wait until one expires.',
  );
}

const lockAccount = query((db, p: Params<{ account: string }>) =>
  db.selectNoFrom(sql`pg_advisory_xact_lock(hashtext('petstore holds'), hashtext(${p.account}))`.as('locked')),
);

const countHeld = query((db, p: Params<{ accountId: number; now: number }>) =>
  db
    .selectFrom('holds')
    .innerJoin('reservations', 'reservations.hold_id', 'holds.id')
    .select(eb => eb.fn.countAll<number>().as('held'))
    .where('holds.account_id', '=', p.accountId)
    .where('holds.ended_at', 'is', null)
    .where('holds.expires_at', '>', p.now)
    .where('reservations.active', '=', 1),
);
