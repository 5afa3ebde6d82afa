import { lockBound } from '../../access/plans/lock.ts';
import type { MessageRow } from '../../model/message.ts';
import { BLOCKED_SENDERS_MAX } from '../../model/rules.ts';
import { deletingOldest, type Params, query, type Reader, type Transaction } from '../../model/schema.ts';

/** A sender whose further messages go to the spam of an account, without a notification. */
export interface BlockedSender {
  readonly id: number;
  /** See `senderKey`. */
  readonly sender: string;
  readonly createdAt: number;
}

type Sender = Pick<MessageRow, 'accountId' | 'petId' | 'replyTo'>;

/**
 * Returns the text that identifies the sender of a message: the e-mail address of a visitor in lower case, or
 * `account 7`; `undefined` for the store itself, and if the sender was deleted.
 */
export function senderKey({ accountId, petId, replyTo }: Sender): string | undefined {
  if (accountId !== null) return `account ${accountId}`;
  return petId === null ? undefined : replyTo?.toLowerCase();
}

/** Blocks the sender of a message. Beyond the maximum, the sender that has not written for longest is unblocked. */
export async function blockSender(tx: Transaction, accountId: number, message: Sender): Promise<void> {
  const sender = senderKey(message);
  if (sender === undefined) return;
  await lockBound(tx, 'messages', accountId);
  await tx.run(insertBlock, { accountId, sender, now: tx.now });
  const { blocked } = (await tx.first(countBlocked, { accountId }))!;
  if (blocked > BLOCKED_SENDERS_MAX) await tx.run(deleteLast, { accountId, count: blocked - BLOCKED_SENDERS_MAX });
}

/** Unblocks the sender of a message. */
export async function unblockSenderOf(tx: Transaction, accountId: number, message: Sender): Promise<void> {
  const sender = senderKey(message);
  if (sender !== undefined) await tx.run(deleteBlock, { accountId, sender });
}

/** Unblocks a sender by the id of the block. Returns whether it was blocked. */
export async function unblockSender(tx: Transaction, accountId: number, id: number): Promise<boolean> {
  return (await tx.run(deleteBlockById, { accountId, id })) > 0;
}

/** Reports whether an account has blocked the sender of a message, which renews the block. */
export async function isBlocked(tx: Transaction, accountId: number | null, message: Sender): Promise<boolean> {
  const sender = senderKey(message);
  if (accountId === null || sender === undefined) return false;
  return (await tx.first(renewBlock, { accountId, sender, now: tx.now })) !== undefined;
}

/** Returns all blocked senders of an account, newest first: at most `BLOCKED_SENDERS_MAX`. */
export async function listBlocked(reader: Reader, accountId: number): Promise<readonly BlockedSender[]> {
  return reader.all(blockedOf, { accountId });
}

/** Unblocks senders that have not written for `keptMs`; a retention rule. */
export function deleteOldBlocks(tx: Transaction, keptMs: number, limit: number): Promise<number> | number {
  return tx.run(deleteOld, { before: tx.now - keptMs, limit });
}

type Block = { accountId: number; sender: string };

const insertBlock = query((db, p: Params<Block & { now: number }>) =>
  db
    .insertInto('blocked_senders')
    .values({ account_id: p.accountId, sender: p.sender, created_at: p.now, last_at: p.now })
    .onConflict(conflict => conflict.columns(['account_id', 'sender']).doUpdateSet({ last_at: p.now })),
);

const renewBlock = query((db, p: Params<Block & { now: number }>) =>
  db
    .updateTable('blocked_senders')
    .set({ last_at: p.now })
    .where('account_id', '=', p.accountId)
    .where('sender', '=', p.sender)
    .returning('id'),
);

const countBlocked = query((db, p: Params<{ accountId: number }>) =>
  db
    .selectFrom('blocked_senders')
    .select(({ fn }) => fn.countAll<number>().as('blocked'))
    .where('account_id', '=', p.accountId),
);

const deleteLast = query((db, p: Params<{ accountId: number; count: number }>) =>
  db
    .deleteFrom('blocked_senders')
    .where('id', 'in', ({ selectFrom }) =>
      selectFrom('blocked_senders')
        .select('id')
        .where('account_id', '=', p.accountId)
        .orderBy('last_at')
        .orderBy('id')
        .limit(p.count),
    ),
);

const deleteBlock = query((db, p: Params<Block>) =>
  db.deleteFrom('blocked_senders').where('account_id', '=', p.accountId).where('sender', '=', p.sender),
);

const deleteBlockById = query((db, p: Params<{ accountId: number; id: number }>) =>
  db.deleteFrom('blocked_senders').where('account_id', '=', p.accountId).where('id', '=', p.id),
);

const blockedOf = query((db, p: Params<{ accountId: number }>) =>
  db
    .selectFrom('blocked_senders')
    .select(['id', 'sender', 'created_at as createdAt'])
    .where('account_id', '=', p.accountId)
    .orderBy('id', 'desc'),
);

const deleteOld = deletingOldest('blocked_senders', ['id'], 'last_at');
