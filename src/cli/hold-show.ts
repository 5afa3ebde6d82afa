import type { Hold } from '../holds/hold.ts';
import type { HoldRow } from '../holds/rows.ts';
import type { CommandOutput } from './command.ts';
import { readId, storeCommand } from './store-command.ts';
import { list } from './terminal.ts';

/** What stands behind the name of a command on one hold. */
export const holdArgument = { ID: 'The hold, as `petstore hold list` shows it.' };

/** `petstore hold show` */
export const command = storeCommand({
  name: 'hold show',
  sentence: 'Shows a hold, whoever placed it.',
  arguments: holdArgument,
  examples: [{ line: 'petstore hold show 3', sentence: 'for whom it is, and until when' }],
  read: ({ arguments: { ID } }) => readId('ID', ID!),
  async work({ database, now }, id) {
    const [{ getHold }, { operator }] = await Promise.all([import('../holds/holds.ts'), import('../events/event.ts')]);
    return holdPrinted(await getHold(database, operator, id, now));
  },
});

/** A hold as a command tells it. */
export async function holdPrinted(row: HoldRow): Promise<CommandOutput> {
  const { holdOf } = await import('../holds/rows.ts');
  const hold = holdOf(row);
  return { value: hold, text: () => holdText(hold) };
}

function holdText({ id, petIds, accountId, status, note, createdAt, expiresAt, endedAt }: Hold): string {
  return list([
    ['hold', String(id)],
    ['animals', petIds.join(', ')],
    ['account', String(accountId)],
    ['status', status],
    ...(note === undefined ? [] : [['note', note] as const]),
    ['placed', createdAt],
    endedAt === undefined ? ['ends', expiresAt] : ['ended', endedAt],
  ]);
}
