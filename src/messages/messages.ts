import { problem } from '../errors.ts';
import type { Actor } from '../events/event.ts';
import { record } from '../events/log.ts';
import { getPet } from '../pets/pets.ts';
import { type Params, query, type Reader, type Transaction } from '../schema.ts';
import { messageIdOf, type NewMessage } from './message.ts';
import { type MessageColumns, type MessageRow, messageColumns, messageEvent, rowOf } from './rows.ts';

/**
 * Queues a message to the owner of a pet or, without one, to the store itself. Wake the inbox delivery after the commit.
 * @throws {Problem} `pet_not_found`
 */
export async function sendMessage(
  tx: Transaction,
  { accountId }: Actor & { readonly accountId: number },
  { message, petId, replyTo }: NewMessage,
): Promise<MessageRow> {
  const toAccountId = petId === undefined ? null : (await getPet(tx, petId, tx.now)).accountId;
  return enqueue(tx, { accountId, toAccountId, petId: petId ?? null, replyTo: replyTo ?? null, text: message });
}

/** Queues a message from the store itself to an account. */
export function sendNotification(tx: Transaction, toAccountId: number, text: string): Promise<MessageRow> {
  return enqueue(tx, { accountId: null, toAccountId, petId: null, replyTo: null, text });
}

type NewRow = Pick<MessageRow, 'accountId' | 'toAccountId' | 'petId' | 'replyTo' | 'text'>;

async function enqueue(tx: Transaction, values: NewRow): Promise<MessageRow> {
  const { now } = tx;
  const { id } = (await tx.first(insertMessage, { ...values, now }))!;
  const created = { status: 'queued', arrivedAt: null, createdAt: now, updatedAt: now, version: 1 } as const;
  const row: MessageRow = { ...values, id, ...created, emailAttempts: [] };
  await record(tx, messageEvent(row, 'queued'));
  return row;
}

/**
 * Returns a message to its sender, to the owner of the inbox that it is in, to admins if it was sent to the store, and
 * to the operator.
 * @throws {Problem} `message_not_found`, also for everybody else
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

const insertMessage = query((db, p: Params<NewRow & { now: number }>) =>
  db
    .insertInto('messages')
    .values({
      account_id: p.accountId,
      to_account_id: p.toAccountId,
      pet_id: p.petId,
      reply_to: p.replyTo,
      text: p.text,
      status: 'queued',
      created_at: p.now,
      updated_at: p.now,
    })
    .returning('id'),
);

const messageById = query((db, p: Params<{ id: number }>, engine) =>
  db.selectFrom('messages').select(messageColumns(engine)).$castTo<MessageColumns>().where('id', '=', p.id),
);
