import type { Expression } from 'kysely';
import type { Page, PageRequest } from '../../lib/http/pagination/paginate.ts';
import type { Account } from '../../model/account.ts';
import { declareList } from '../../model/list.ts';
import { type Reader, sql } from '../../model/schema.ts';
import { accountColumns, accountOf } from './rows.ts';

/** The states that a search can filter by. */
export type AccountState = 'admin' | 'suspended' | 'deleting';

export interface AccountFilter {
  /** A part of the name or e-mail address, or the id. The case of ASCII letters does not matter. */
  readonly text?: string | undefined;
  readonly state?: AccountState | undefined;
}

/**
 * Returns one page of the accounts that match a filter, newest first. No index covers a text: a page scans up to 20,000
 * accounts, so it may be short or empty and still have a next page.
 * @throws {Problem} `invalid_parameter` for a cursor of another list
 */
export async function searchAccounts(
  reader: Reader,
  { text = '', state }: AccountFilter,
  page: PageRequest,
): Promise<Page<Account>> {
  const values = { ...(text !== '' && { text: lowerAscii(text) }), ...(state !== undefined && { [state]: true }) };
  const { rows, ...links } = await pageOf(reader, values, {
    list: ['accounts', text, state ?? ''],
    page,
    descending: true,
  });
  return { ...links, rows: rows.map(accountOf) };
}

/** Both engines convert only ASCII letters to lower case, because SQLite supports no others. */
function lowerAscii(text: string): string {
  return text.replace(/[A-Z]/g, letter => letter.toLowerCase());
}

const pageOf = declareList({
  table: 'accounts',
  rows: db => db.selectFrom('accounts').select(accountColumns).where('sandbox', 'is', null),
  filters: {
    text: (rows, text: Expression<string>, engine) =>
      rows.where(({ or, eb }) =>
        or([eb(sql`cast(id as text)`, '=', text), contains('name', text, engine), contains('email', text, engine)]),
      ),
    admin: rows => rows.where('admin', '=', sql.lit(1)),
    suspended: rows => rows.where('suspended_at', 'is not', null),
    deleting: rows => rows.where('delete_at', 'is not', null),
  },
  indexed: [],
});

function contains(column: 'name' | 'email', text: Expression<string>, engine: Reader['engine']) {
  return engine === 'postgres'
    ? sql<boolean>`position(${text} in lower(${sql.ref(column)} collate "C")) > 0`
    : sql<boolean>`instr(lower(${sql.ref(column)}), ${text}) > 0`;
}
