import { problem } from '../errors.ts';
import { lockBound } from '../plans/lock.ts';
import { type Params, query, type Transaction } from '../schema.ts';

/** The time over which the messages to one recipient are counted, in milliseconds. */
export const WINDOW_MS = 60_000;

/**
 * Returns the number of an account's next message to a recipient, from 1. The messages of one account are sent one at a
 * time, so that concurrent requests cannot exceed `max`. Its time does not depend on the number of messages.
 * @param toAccountId the recipient; `null` is the store itself
 * @param max the maximum number of messages to one recipient in any 60 seconds
 * @throws {Problem} `message_limit_exceeded`, with the time after which the next message is accepted in `Retry-After`
 */
export async function nextSequence(
  tx: Transaction,
  accountId: number,
  toAccountId: number | null,
  max: number,
): Promise<number> {
  await lockBound(tx, 'messages', accountId);
  const pair = { accountId, to: toAccountId ?? THE_STORE };
  const last = (await tx.first(lastMessage, pair))?.sequence ?? 0;
  // If the next message is number n, then n - max is the latest that must be older than the window.
  const earlier = last < max ? undefined : await tx.first(messageNumbered, { ...pair, sequence: last + 1 - max });
  const waitMs = earlier === undefined ? 0 : earlier.createdAt + WINDOW_MS - tx.now;
  if (waitMs <= 0) return last + 1;
  throw problem(
    'message_limit_exceeded',
    `The account has sent ${max} messages to this recipient within 60 seconds, the maximum of its plan.`,
    { headers: ['Retry-After', `${Math.ceil(waitMs / 1000)}`] },
  );
}

/** Stands for the store in the index; ids of accounts begin at 1. */
const THE_STORE = 0;

type Pair = { accountId: number; to: number };

const lastMessage = query((db, p: Params<Pair>) =>
  db
    .selectFrom('messages')
    .select('sequence')
    .where('account_id', '=', p.accountId)
    .where(eb => eb.fn.coalesce('to_account_id', eb.lit(THE_STORE)), '=', p.to)
    .where('sequence', 'is not', null)
    .orderBy('sequence', 'desc')
    .limit(1),
);

const messageNumbered = query((db, p: Params<Pair & { sequence: number }>) =>
  db
    .selectFrom('messages')
    .select('created_at as createdAt')
    .where('account_id', '=', p.accountId)
    .where(eb => eb.fn.coalesce('to_account_id', eb.lit(THE_STORE)), '=', p.to)
    .where('sequence', '=', p.sequence),
);
