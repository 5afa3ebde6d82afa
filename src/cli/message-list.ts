import type { Box, MessageFilter } from '../messages/list.ts';
import type { Message } from '../messages/message.ts';
import { UsageError } from './command.ts';
import { readId, storeCommand } from './store-command.ts';
import { listed, readPages, readSection, sectionOptions } from './store-list.ts';

/** How the store itself is named where an account could be. */
const STORE = 'store';

/** `petstore message list` */
export const command = storeCommand({
  name: 'message list',
  sentence: 'Lists messages, by id, whoever wrote them.',
  options: {
    account: {
      sentence: `Only messages that this account sent or got; \`${STORE}\` is the store itself.`,
      value: 'ID',
    },
    box: {
      sentence: 'Only what it sent, or only what came into its inbox; with --account.',
      value: 'BOX',
      choices: ['sent', 'inbox'],
    },
    ...sectionOptions,
  },
  examples: [
    { line: `petstore message list --account ${STORE} --box inbox`, sentence: 'what was sent to the store itself' },
    { line: 'petstore message list --account 2 --json', sentence: 'for a program' },
  ],
  read: call => {
    const { account, box } = call.options;
    if (account === undefined && box !== undefined) {
      throw new UsageError(`Say whose box with --account, such as --account ${STORE}.`);
    }
    const filter: MessageFilter = {
      ...(account !== undefined && { accountId: account === STORE ? null : readId('--account', account) }),
      ...(box !== undefined && { box: box as Box }),
    };
    return { filter, section: readSection(call) };
  },
  async work(store, { filter, section }) {
    if (typeof filter.accountId === 'number') await store.requireAccount(filter.accountId);
    const [{ listEveryMessage }, { messageOf }] = await Promise.all([
      import('../messages/list.ts'),
      import('../messages/rows.ts'),
    ]);
    const found = await readPages(section, async (limit, cursor) => {
      const { rows, next } = await listEveryMessage(store.database, filter, { limit, cursor });
      return { items: rows.map(messageOf), next };
    });
    const all = filter.accountId === undefined && section.cursor === undefined;
    return listed(found, columns, all ? NONE : NONE_SUCH);
  },
});

const columns = {
  ID: (message: Message) => message.id,
  FROM: (message: Message) => partyText(message.accountId),
  TO: (message: Message) => partyText(message.toAccountId),
  ANIMAL: (message: Message) => message.petId?.toString() ?? '-',
  STATUS: (message: Message) => message.status,
  SENT: (message: Message) => message.createdAt,
  TEXT: (message: Message) => beginning(message.message),
};

/** Who wrote a message, or whom it is for. */
export function partyText(accountId: number | undefined): string {
  return accountId === undefined ? 'the store' : `account ${accountId}`;
}

const BEGINNING_MAX = 40;

/** How a text begins, on one line. */
function beginning(text: string): string {
  const characters = Array.from(text.trim().replaceAll(/\s+/g, ' '));
  return characters.length <= BEGINNING_MAX
    ? characters.join('')
    : `${characters.slice(0, BEGINNING_MAX - 1).join('')}…`;
}

const NONE = 'There are no messages; accounts send them with POST /messages.';
const NONE_SUCH = 'There are no such messages; `petstore message list` lists all that there are.';
