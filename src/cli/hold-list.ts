import type { Hold } from '../holds/hold.ts';
import type { HoldFilter } from '../holds/list.ts';
import { readOptionalId, storeCommand } from './store-command.ts';
import { listed, readPages, readSection, readSeveral, sectionOptions } from './store-list.ts';

/** `petstore hold list` */
export const command = storeCommand({
  name: 'hold list',
  sentence: 'Lists holds, by id: which animals are kept for whom, and until when.',
  options: {
    status: {
      sentence: 'Only holds that are like this; several, with commas or given several times, are alternatives.',
      value: 'STATUS',
      choices: ['active', 'released', 'used', 'expired'],
      repeatable: true,
    },
    pet: { sentence: 'Only holds that this animal is or was in.', value: 'ID' },
    ...sectionOptions,
  },
  examples: [{ line: 'petstore hold list --status active', sentence: 'what is kept now' }],
  read: call => {
    const filter: HoldFilter = {
      status: readSeveral(call.options['status']),
      petId: readOptionalId('--pet', call.options['pet']),
    };
    return { filter, section: readSection(call) };
  },
  async work({ database, now }, { filter, section }) {
    const [{ listHolds }, { holdOf }, { operator }] = await Promise.all([
      import('../holds/list.ts'),
      import('../holds/rows.ts'),
      import('../events/event.ts'),
    ]);
    const found = await readPages(section, async (limit, cursor) => {
      const { rows, next } = await listHolds(database, operator, filter, limit, cursor, now);
      return { items: rows.map(holdOf), next };
    });
    const all = filter.status === undefined && filter.petId === undefined && section.cursor === undefined;
    return listed(found, columns, all ? NONE : NONE_SUCH);
  },
});

const columns = {
  ID: (hold: Hold) => String(hold.id),
  ANIMALS: (hold: Hold) => hold.petIds.join(','),
  ACCOUNT: (hold: Hold) => String(hold.accountId),
  STATUS: (hold: Hold) => hold.status,
  PLACED: (hold: Hold) => hold.createdAt,
  'ENDS OR ENDED': (hold: Hold) => hold.endedAt ?? hold.expiresAt,
};

const NONE = 'There are no holds; accounts place them with POST /v1/holds.';
const NONE_SUCH = 'There are no such holds; `petstore hold list` lists all that there are.';
