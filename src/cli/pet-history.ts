import type { PetHistoryEntry, Price, RemovedPet } from '../pets/pet.ts';
import type { Database } from '../schema.ts';
import type { CommandOutput, Style } from './command.ts';
import { priceText } from './money.ts';
import { readPages } from './store-list.ts';
import { list, shown, table } from './terminal.ts';

/**
 * All that happened to an animal, oldest first. What has run out is written down before.
 * @throws {Problem} `pet_not_found` for an id that no animal ever had
 */
export async function readHistory(database: Database, id: number, now: number): Promise<PetHistoryEntry[]> {
  const [{ petHistory }, { expireReservations }, { bestEffort }, { operator }] = await Promise.all([
    import('../pets/history.ts'),
    import('../pets/expiry.ts'),
    import('../lib/storage/best-effort.ts'),
    import('../events/event.ts'),
  ]);
  await bestEffort(expireReservations(database, now));
  const everything = { limit: Number.MAX_SAFE_INTEGER, cursor: undefined };
  const { items } = await readPages(everything, async (limit, cursor) => {
    const { entries, next } = await petHistory(database, operator, id, limit, cursor);
    return { items: entries, next };
  });
  return items;
}

/** A history as people read it. */
export function historyTable(style: Style, history: readonly PetHistoryEntry[]): string {
  return table(
    style,
    ['WHEN', 'BY', 'WHAT'],
    history.map(entry => [entry.at, byWhom(entry), `${what[entry.type]}${why(entry)}${changesText(entry)}`]),
    '',
  );
}

/** What a command tells of an animal that is no more there: what it was at its end. */
export function removedPrinted(id: number, history: readonly PetHistoryEntry[]): CommandOutput {
  const { at, changes } = history.at(-1)!;
  const name = changes!.name!.from!;
  const removed: RemovedPet = { id, name, categoryId: changes!.categoryId!.from!, deletedAt: at };
  return {
    value: { ...removed, history },
    text: style =>
      `${list([
        ['animal', String(id)],
        ['name', shown(name)],
        ['category', String(removed.categoryId)],
        ['taken out', at],
      ])}\n\n${historyTable(style, history)}`,
  };
}

const what = { created: 'added', updated: 'changed', deleted: 'taken out' };

function byWhom({ accountId, reason }: PetHistoryEntry): string {
  if (accountId !== undefined) return `account ${accountId}`;
  return reason?.endsWith('_expired') ? '-' : 'operator';
}

/** ` (hold_released, hold 3)` */
function why({ reason, holdId, orderId }: PetHistoryEntry): string {
  const parts = [
    ...(reason === undefined ? [] : [reason.replaceAll('_', ' ')]),
    ...(holdId === undefined ? [] : [`hold ${holdId}`]),
    ...(orderId === undefined ? [] : [`order ${orderId}`]),
  ];
  return parts.length === 0 ? '' : ` (${parts.join(', ')})`;
}

/** `: status available → pending, name Rex → Max` */
function changesText({ type, changes = {} }: PetHistoryEntry): string {
  // What it was at its end stands in the entries before.
  if (type === 'deleted') return '';
  const parts = Object.entries(changes).map(([member, { from, to }]) => {
    const name = memberNames[member as keyof typeof memberNames] ?? member;
    return type === 'created' ? `${name} ${valueText(to)}` : `${name} ${valueText(from)} → ${valueText(to)}`;
  });
  return parts.length === 0 ? '' : `: ${parts.join(', ')}`;
}

const memberNames = { categoryId: 'category', statusReason: 'reason' };

function valueText(value: string | number | Price | undefined): string {
  return value === undefined ? 'none' : typeof value === 'object' ? priceText(value) : String(value);
}
