import { type CommandCall, type CommandOutput, type Option, UsageError } from './command.ts';
import { table } from './terminal.ts';

/** How much of a list is wanted, and from where. */
export interface Section {
  readonly limit: number;
  readonly cursor: string | undefined;
}

/** What commands that list things have in common. */
export const sectionOptions: Readonly<Record<string, Option>> = {
  limit: { sentence: 'How many at most, 1 to 100000.', value: 'N', default: '20' },
  cursor: { sentence: 'Where to go on: as it was told under a list with the same filters.', value: 'CURSOR' },
};

/**
 * The section that the options name.
 * @throws {UsageError}
 */
export function readSection({ options: { limit, cursor } }: CommandCall): Section {
  if (!/^[1-9]\d{0,5}$/.test(limit!) || Number(limit) > LIMIT_MAX) {
    throw new UsageError(`--limit must be a whole number from 1 to ${LIMIT_MAX}.`);
  }
  return { limit: Number(limit), cursor };
}

/** The values of an option that takes several, each once; `undefined` where it is left out. */
export function readSeveral<T extends string>(text: string | undefined): T[] | undefined {
  return text === undefined ? undefined : ([...new Set(text.split(','))] as T[]);
}

const LIMIT_MAX = 100_000;

/** The most that the rooms give at once. */
const PAGE_MAX = 100;

/**
 * Reads pages until there are as many items as wanted or the list ends: a page may be short, even empty, and still have a
 * next one.
 * @param page one page of at most so many items, from a cursor on
 */
export async function readPages<Item>(
  { limit, cursor }: Section,
  page: (limit: number, cursor: string | undefined) => Promise<{ items: readonly Item[]; next: string | undefined }>,
): Promise<{ items: Item[]; next: string | undefined }> {
  const items: Item[] = [];
  let next = cursor;
  do {
    const found = await page(Math.min(PAGE_MAX, limit - items.length), next);
    items.push(...found.items);
    next = found.next;
  } while (next !== undefined && items.length < limit);
  return { items, next };
}

/**
 * What a command tells that lists things: a table, or their values.
 * @param columns headings, each with what stands below it
 * @param empty what is said where there are none: what to do next
 */
export function listed<Item>(
  { items, next }: { readonly items: readonly Item[]; readonly next?: string | undefined },
  columns: Readonly<Record<string, (item: Item) => string>>,
  empty: string,
): CommandOutput {
  return {
    value: items,
    text: style =>
      table(
        style,
        Object.keys(columns),
        items.map(item => Object.values(columns).map(cell => cell(item))),
        empty,
      ),
    ...(next !== undefined && { onward: `There are more: the same command with --cursor=${next} goes on.` }),
  };
}
