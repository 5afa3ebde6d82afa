import type { Message } from '../messages/message.ts';
import type { MessageRow } from '../messages/rows.ts';
import { type CommandOutput, UsageError } from './command.ts';
import { partyText } from './message-list.ts';
import { storeCommand } from './store-command.ts';
import { list } from './terminal.ts';

/** `petstore message show` */
export const command = storeCommand({
  name: 'message show',
  sentence: 'Shows a message with its whole text and every attempt to deliver it, whoever wrote it.',
  arguments: { ID: 'The message, as `petstore message list` shows it.' },
  examples: [{ line: 'petstore message show msg_12', sentence: 'what it says, and how far it is' }],
  read: ({ arguments: { ID } }) => readMessageId(ID!),
  async work({ database }, id) {
    const [{ getMessage }, { operator }] = await Promise.all([
      import('../messages/messages.ts'),
      import('../events/event.ts'),
    ]);
    return messagePrinted(await getMessage(database, operator, id));
  },
});

/** A message as a command tells it. */
export async function messagePrinted(row: MessageRow): Promise<CommandOutput> {
  const { messageOf } = await import('../messages/rows.ts');
  const message = messageOf(row);
  return { value: message, text: () => messageText(message) };
}

function messageText(message: Message): string {
  const { id, accountId, toAccountId, petId, replyTo, status, createdAt, attempts } = message;
  const rows: (readonly [string, string | undefined])[] = [
    ['message', id],
    ['from', partyText(accountId)],
    ['to', partyText(toAccountId)],
    ['animal', petId?.toString()],
    ['answer to', replyTo],
    ['status', status],
    ['sent', createdAt],
    ['attempts', attempts.length === 0 ? undefined : attempts.map(attemptText).join('\n')],
    ['text', message.message],
  ];
  return list(rows.filter((row): row is readonly [string, string] => row[1] !== undefined));
}

function attemptText({ at, by, outcome, reason }: Message['attempts'][number]): string {
  return `${at} ${by === 'inbox' ? 'into the inbox' : `by e-mail: ${outcome}`}${reason === undefined ? '' : `, ${reason}`}`;
}

function readMessageId(text: string): number {
  const [, digits] = /^msg_([1-9]\d{0,15})$/.exec(text) ?? [];
  if (digits === undefined || !Number.isSafeInteger(Number(digits))) {
    throw new UsageError('ID must be that of a message, such as msg_12.');
  }
  return Number(digits);
}
