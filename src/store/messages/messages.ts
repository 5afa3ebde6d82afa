import { lockBound } from '../../access/plans/lock.ts';
import { countStored } from '../../access/plans/stored-bytes.ts';
import { durationIn } from '../../lib/time.ts';
import { problem } from '../../model/errors.ts';
import type { Actor } from '../../model/log/event.ts';
import { record } from '../../model/log/log.ts';
import { type InsertedMessageRow, type MessageRow, messageIdOf, type NewMessage } from '../../model/message.ts';
import { type Bounds, plans } from '../../model/plan.ts';
import { MESSAGES_WINDOW_MS } from '../../model/rules.ts';
import { insertingOne, type Params, query, type Reader, type Transaction } from '../../model/schema.ts';
import { getPet } from '../pets/pets.ts';
import { isBlocked } from './blocks.ts';
import { bytesOf, inserted, type MessageColumns, messageColumns, messageEvent, messageValues, rowOf } from './rows.ts';

/** The bounds of an account's messages. */
type MessageBounds = Pick<Bounds, 'messagesPerRecipient' | 'storedBytes'>;

/**
 * Queues a message to the owner of a pet or, without `petId`, to the store itself. The caller wakes the job `messages`
 * after the commit.
 * @throws {Problem} `pet_not_found`, `message_limit_exceeded`, `storage_limit_exceeded`
 */
export async function sendMessage(
  tx: Transaction,
  { accountId }: Actor & { readonly accountId: number },
  message: NewMessage,
  bounds: MessageBounds = plans.enterprise.bounds,
): Promise<MessageRow> {
  const { petId } = message;
  const toAccountId = petId === undefined ? null : (await getPet(tx, petId, tx.now)).accountId;
  const sequence = await nextSequence(tx, accountId, toAccountId, bounds.messagesPerRecipient);
  const row = await enqueue(tx, message, { accountId, toAccountId, sequence });
  await countStored(tx, accountId, bytesOf(message), bounds.storedBytes);
  return row;
}

/**
 * Queues a message of a visitor to the owner of a pet. The caller limits their number.
 * @throws {Problem} `pet_not_found`
 */
export async function sendVisitorMessage(
  tx: Transaction,
  message: NewMessage & { readonly petId: number },
): Promise<MessageRow> {
  const { accountId: toAccountId } = await getPet(tx, message.petId, tx.now);
  return enqueue(tx, message, { accountId: null, toAccountId, sequence: null });
}

/** Queues a message from the store itself to an account. */
export function sendNotification(tx: Transaction, toAccountId: number, text: string): Promise<MessageRow> {
  return enqueue(tx, { message: text }, { accountId: null, toAccountId, sequence: null });
}

async function enqueue(
  tx: Transaction,
  message: NewMessage,
  parties: Pick<MessageRow, 'accountId' | 'toAccountId' | 'sequence'>,
): Promise<MessageRow> {
  const created = { status: 'queued', arrivedAt: null, createdAt: tx.now, updatedAt: tx.now } as const;
  const sent = { ...messageValues.toRow(message), ...parties };
  const folder = (await isBlocked(tx, parties.toAccountId, sent)) ? 'spam' : null;
  const values = { ...sent, ...created, folder } as const;
  const id = await tx.insert(insertMessage, values);
  const row: MessageRow = { ...values, id, version: 1, unread: null, assignedTo: null, emailAttempts: [] };
  await record(tx, messageEvent(row, 'queued'));
  return row;
}

/**
 * Returns a message, if the actor is its sender, the owner of its inbox, an admin for a message to the store, or the
 * operator.
 * @throws {Problem} `message_not_found`, also for every other account
 */
export async function getMessage(reader: Reader, actor: Actor, id: number): Promise<MessageRow> {
  const row = Number.isSafeInteger(id) ? await reader.first(messageById, { id }) : undefined;
  if (row === undefined || !canSee(actor, row)) {
    throw problem('message_not_found', `There is no message ${messageIdOf(id)}.`);
  }
  return rowOf(row);
}

function canSee(actor: Actor, { accountId, toAccountId, arrivedAt }: MessageColumns): boolean {
  if (actor.accountId === null || accountId === actor.accountId) return true;
  return toAccountId === null ? actor.admin : toAccountId === actor.accountId && arrivedAt !== null;
}

const insertMessage = query((db, p: Params<InsertedMessageRow>, engine) =>
  insertingOne(db.insertInto('messages').values(inserted(p)), engine),
);

const messageById = query((db, p: Params<{ id: number }>, engine) =>
  db.selectFrom('messages').select(messageColumns(engine)).$castTo<MessageColumns>().where('id', '=', p.id),
);

/**
 * Returns the number of an account's next message to a recipient, from 1. The messages of one account are sent one at a
 * time, so that concurrent requests cannot exceed `max`. The time it takes does not depend on the number of messages.
 * @param toAccountId the recipient; `null` is the store itself
 * @param max the maximum number of messages to one recipient in any 60 seconds
 * @throws {Problem} `message_limit_exceeded`, with the time after which the next message is accepted in `Retry-After`
 */
async function nextSequence(
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
  const waitMs = earlier === undefined ? 0 : earlier.createdAt + MESSAGES_WINDOW_MS - tx.now;
  if (waitMs <= 0) return last + 1;
  throw problem(
    'message_limit_exceeded',
    `The account has sent ${max} messages to this recipient within ${durationIn('second', MESSAGES_WINDOW_MS)}, the maximum of its plan.`,
    { headers: ['Retry-After', `${Math.ceil(waitMs / 1000)}`] },
  );
}

/** The id of the store in the index; ids of accounts begin at 1. */
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
