import type { MaybePromise } from '../../maybe-promise.ts';
import type { CursorPosition } from './cursor.ts';
import { type Page, paginate, type Scan } from './paginate.ts';

export type { Page };

/** @deprecated See `paginate`. */
export interface Found<Row> {
  readonly rows: readonly Row[];
  readonly edge: number | undefined;
}

/** @deprecated Use `paginate`; removed once every room does. */
export async function pageById<Row extends { readonly id: number }>(
  list: readonly unknown[],
  limit: number,
  cursor: string | undefined,
  look: (from: CursorPosition, rowsMax: number) => MaybePromise<Found<Row>>,
): Promise<Page<Row>> {
  let found: Found<Row>;
  const at = ({ backward, from }: Scan) => ({ backward, id: from?.id ?? 0 });
  return paginate<Row>({
    list,
    page: { limit, cursor },
    end: async scan => {
      found = await look(at(scan), scan.scanLimit);
      return found.edge === undefined ? undefined : { id: found.edge };
    },
    rows: () => found.rows,
  });
}
