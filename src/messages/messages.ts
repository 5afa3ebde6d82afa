import { problem } from '../errors.ts';
import type { Actor } from '../events/event.ts';
import { record } from '../events/log.ts';
import { getPet } from '../pets/pets.ts';
import { type Params, query, type Reader, type Transaction } from '../schema.ts';
import { messageIdOf, type NewMessage } from './message.ts';
import { messageEvent } from './message-log.ts';
import { type MessageColumns, type MessageRow, messageColumns, rowOf } from './message-rows.ts';

/**
 * Keeps a message, to be delivered: to the owner of an animal, or to the store itself where none is named.
 *
 * Whoever delivers (`arriving.ts`) is to be nudged once the transaction is committed.
 * @throws {Problem} `pet_not_found`
 */
export async function sendMessage(
  tx: Transaction,
  { accountId }: Actor & { readonly accountId: number },
  { message, petId, replyTo }: NewMessage,
): Promise<MessageRow> {
  const toAccountId = petId === undefined ? null : (await getPet(tx, petId, tx.now)).accountId;
  return keep(tx, { accountId, toAccountId, petId: petId ?? null, replyTo: replyTo ?? null, text: message });
}

/** Keeps a message from the store itself to an account, to be delivered like any other. */
export function sendNotice(tx: Transaction, toAccountId: number, text: string): Promise<MessageRow> {
  return keep(tx, { accountId: null, toAccountId, petId: null, replyTo: null, text });
}

async function keep(tx: Transaction, values: Omit<NewRow, 'now'>): Promise<MessageRow> {
  const { id } = (await tx.first(insertMessage, { ...values, now: tx.now }))!;
  const row: MessageRow = {
    ...values,
    id,
    status: 'queued',
    arrivedAt: null,
    createdAt: tx.now,
    updatedAt: tx.now,
    version: 1,
    mailed: [],
  };
  await record(tx, messageEvent(row, 'queued'));
  return row;
}

/**
 * The message with this id, for those who may see it: who sent it, whose inbox it is in, for the store's own inbox
 * admins, and the operator.
 * @throws {Problem} `message_not_found`, also for everybody else
 */
export async function getMessage(reader: Reader, actor: Actor, id: number): Promise<MessageRow> {
  const row = Number.isSafeInteger(id) ? await reader.first(messageById, { id }) : undefined;
  if (row === undefined || !isSeenBy(actor, row)) {
    throw problem('message_not_found', `There is no message ${messageIdOf(id)}.`);
  }
  return rowOf(row);
}

function isSeenBy(actor: Actor, { accountId, toAccountId, arrivedAt }: MessageColumns): boolean {
  if (actor.accountId === null || accountId === actor.accountId) return true;
  return toAccountId === null ? actor.admin : toAccountId === actor.accountId && arrivedAt !== null;
}

type NewRow = {
  accountId: number | null;
  toAccountId: number | null;
  petId: number | null;
  replyTo: string | null;
  text: string;
  now: number;
};

const insertMessage = query((db, p: Params<NewRow>) =>
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
