import { problem } from '../errors.ts';
import type { Actor } from '../events/event.ts';
import { record } from '../events/log.ts';
import { getPet } from '../pets/pets.ts';
import { type Bounds, plans } from '../plans/plan.ts';
import { countStored } from '../plans/stored-bytes.ts';
import { insertingOne, type Params, query, type Reader, type Transaction } from '../schema.ts';
import { type InsertedMessageRow, type MessageRow, messageIdOf, type NewMessage } from './message.ts';
import { nextSequence } from './recipient-bound.ts';
import { bytesOf, inserted, type MessageColumns, messageColumns, messageEvent, messageValues, rowOf } from './rows.ts';

/** What bounds the messages of an account. */
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
 * Queues a message of a visitor to the owner of a pet. The caller limits how many.
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
  const values = { ...messageValues.toRow(message), ...parties, ...created };
  const id = await tx.insert(insertMessage, values);
  const row: MessageRow = { ...values, id, version: 1, emailAttempts: [] };
  await record(tx, messageEvent(row, 'queued'));
  return row;
}

/**
 * Returns a message to its sender, to the owner of the inbox that it is in, to admins if it was sent to the store, and
 * to the operator.
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
