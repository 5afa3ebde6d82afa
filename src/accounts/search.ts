import { type Page, type PageRequest, paginate } from '../lib/http/pagination/paginate.ts';
import {
  type KeysetParams,
  keysetEnd,
  keysetPage,
  type Params,
  queriesByShape,
  query,
  type Reader,
  sql,
} from '../schema.ts';
import type { Account } from './account.ts';
import { accountColumns, accountOf } from './rows.ts';

/** The states of accounts that a search can be for. */
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
  const shape = { byText: text !== '', state: state ?? '' } as const;
  const values = { text: lowerAscii(text), id: /^[1-9]\d{0,14}$/.test(text) ? Number(text) : 0 };
  const { rows, ...links } = await paginate({
    list: ['accounts', text, state ?? ''],
    page,
    descending: true,
    rows: scan => reader.all(pageQuery({ ...shape, ...scan }), { ...values, ...scan }),
    end: scan => reader.first(endQuery(scan), scan),
  });
  return { ...links, rows: rows.map(accountOf) };
}

/** Both engines lower only these letters: SQLite knows no others. */
function lowerAscii(text: string): string {
  return text.replace(/[A-Z]/g, letter => letter.toLowerCase());
}

interface Shape {
  readonly byText: boolean;
  readonly state: AccountState | '';
  readonly descending: boolean;
}

const pageQuery = queriesByShape(['byText', 'state', 'descending'], ({ byText, state, descending }: Shape) =>
  query((db, p: Params<KeysetParams & { text: string; id: number }>, engine) => {
    const contains = (column: 'name' | 'email') =>
      engine === 'postgres'
        ? sql<boolean>`position(${p.text} in lower(${sql.ref(column)} collate "C")) > 0`
        : sql<boolean>`instr(lower(${sql.ref(column)}), ${p.text}) > 0`;
    const rows = db
      .selectFrom('accounts')
      .select(accountColumns)
      .where('sandbox', 'is', null)
      .$if(byText, rows => rows.where(({ or, eb }) => or([eb('id', '=', p.id), contains('name'), contains('email')])))
      .$if(state === 'admin', rows => rows.where('admin', '=', sql.lit(1)))
      .$if(state === 'suspended', rows => rows.where('suspended_at', 'is not', null))
      .$if(state === 'deleting', rows => rows.where('delete_at', 'is not', null));
    return keysetPage(rows, 'id', descending, p);
  }),
);

const endQuery = queriesByShape(['descending'], ({ descending }: Pick<Shape, 'descending'>) =>
  query((db, p: Params<{ fromId: number; scanLimit: number }>) =>
    keysetEnd(db.selectFrom('accounts').select('id'), 'id', descending, p),
  ),
);
