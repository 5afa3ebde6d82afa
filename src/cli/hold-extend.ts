import { holdArgument, holdPrinted } from './hold-show.ts';
import { readId, storeCommand } from './store-command.ts';
import { readWhen, WHEN } from './time-text.ts';

/** `petstore hold extend` */
export const command = storeCommand({
  name: 'hold extend',
  sentence: 'Moves the end of a hold, to a later or an earlier time.',
  details: 'A hold ends at least one second from now and at most 30 days after it was placed.',
  arguments: holdArgument,
  options: { until: { sentence: `When it ends: ${WHEN}.`, value: 'WHEN', required: true } },
  examples: [
    { line: 'petstore hold extend 3 --until 2h', sentence: 'two hours from now' },
    { line: 'petstore hold extend 3 --until 2026-11-24T18:00:00+01:00', sentence: 'until the evening' },
  ],
  read: ({ arguments: { ID }, options: { until } }) => ({ id: readId('ID', ID!), until: readWhen('until', until!) }),
  async work({ database }, { id, until }) {
    const [{ extendHold }, { operator }, { formatTime }] = await Promise.all([
      import('../holds/holds.ts'),
      import('../events/event.ts'),
      import('../lib/time.ts'),
    ]);
    return holdPrinted(
      await database.write(tx => extendHold(tx, operator, id, { expiresAt: formatTime(until(tx.now)) })),
    );
  },
});
