import type { Expression } from 'kysely';
import { type Page, type PageRequest, paginate, type Scan } from '../../lib/http/pagination/paginate.ts';
import { alongIndex } from '../../lib/storage/keyset.ts';
import { LAST_CHARACTER } from '../../lib/text.ts';
import { foldedName, type OrganizationRow, organizationColumns } from '../../model/organization.ts';
import {
  type KeysetParams,
  keysetEnd,
  keysetPage,
  type Params,
  queriesByShape,
  query,
  type Reader,
  sql,
} from '../../model/schema.ts';

export interface OrganizationFilter {
  /** Only names that begin with this text, ignoring case and accents. */
  readonly name?: string | undefined;
  /** Only organizations of this country. */
  readonly country?: string | undefined;
  /** Only organizations of this state, as they spell it. */
  readonly state?: string | undefined;
  readonly sort?: 'id' | '-id' | 'name' | '-name' | undefined;
}

/**
 * Returns one page of the organizations that match a filter, without hidden ones. With a filter that the order of the
 * list does not cover, a page scans up to 20,000 rows: it may be short or empty and still have a next page.
 * @throws {Problem} `invalid_parameter` for a cursor of another list
 */
export function listOrganizations(
  reader: Reader,
  { name = '', country = '', state = '', sort = 'id' }: OrganizationFilter,
  page: PageRequest,
): Promise<Page<OrganizationRow>> {
  const begins = foldedName(name);
  const byName = sort.endsWith('name');
  const shape = { byName, begins: begins !== '', country: country !== '', state: state !== '' };
  const values = { begins, beginsEnd: begins + LAST_CHARACTER, country, state };
  const isScanned = shape.country || shape.state || (shape.begins && !byName);
  const shapeFor = ({ descending, from, end }: Scan) => {
    return { ...shape, descending, after: byName && from !== undefined, upTo: byName && end !== undefined };
  };
  const valuesFor = ({ from, fromId, end, endId, rows, scanLimit }: Scan) => {
    return { ...values, fromId, fromKey: from?.key ?? '', endId, endKey: end?.key ?? '', rows, scanLimit };
  };
  return paginate({
    list: ['organizations', begins, country, state, sort],
    page,
    descending: sort.startsWith('-'),
    ...(byName && { sortKey: ({ nameKey }) => nameKey }),
    rows: scan => reader.all(pageQuery(shapeFor(scan)), valuesFor(scan)),
    ...(isScanned && {
      async end(scan) {
        const last = await reader.first(endQuery(shapeFor(scan)), valuesFor(scan));
        return last && { id: last.id, key: byName ? last.nameKey : undefined };
      },
    }),
  });
}

/** The parts of a filter that determine the SQL of a page; pages of one shape share a prepared statement. */
interface Shape {
  readonly byName: boolean;
  /** Whether ids or names decrease in reading order. */
  readonly descending: boolean;
  /** In a list by name: whether the page begins after a position. */
  readonly after: boolean;
  /** In a list by name: whether the page ends at a position. */
  readonly upTo: boolean;
  /** Whether the list filters by the beginning of names, by country, by state. */
  readonly begins: boolean;
  readonly country: boolean;
  readonly state: boolean;
}

type Values = KeysetParams & {
  fromKey: string;
  endKey: string;
  scanLimit: number;
  begins: string;
  beginsEnd: string;
  country: string;
  state: string;
};

const pageQuery = queriesByShape(
  ['byName', 'descending', 'after', 'upTo', 'begins', 'country', 'state'],
  (shape: Shape) =>
    query((db, p: Params<Values>, engine) => {
      const rows = db
        .selectFrom('organizations')
        .select(organizationColumns.full())
        .where('hidden', '=', 0)
        .$if(shape.country, rows => rows.where('country', '=', p.country))
        .$if(shape.state, rows => rows.where('state', '=', p.state));
      if (shape.byName) {
        const upTo = shape.upTo ? { upTo: [p.endKey, p.endId] } : {};
        const range = { prefix: [], key: BY_NAME, ...(shape.after && { after: [p.fromKey, p.fromId] }), ...upTo };
        const named = shape.begins ? rows.where(beginsWith(sql.ref('name_key'), p)) : rows;
        return alongIndex(engine, shape.descending, named, range).limit(p.rows);
      }
      // An expression that no index serves: otherwise the engine might read and sort a large part of the table.
      const named = shape.begins ? rows.where(beginsWith(sql`(name_key || '')`, p)) : rows;
      return keysetPage(named, 'id', shape.descending, p);
    }),
);

const BY_NAME = ['organizations.name_key', 'organizations.id'];

/** The query for the last row that a page may scan. */
const endQuery = queriesByShape(['byName', 'descending', 'after', 'begins'], (shape: Omit<Shape, 'upTo'>) =>
  query((db, p: Params<Values>, engine) => {
    const rows = db.selectFrom('organizations').select(['id', 'name_key as nameKey']);
    if (!shape.byName) return keysetEnd(rows, 'id', shape.descending, p);
    const named = shape.begins ? rows.where(beginsWith(sql.ref('name_key'), p)) : rows;
    const range = { prefix: [], key: BY_NAME, ...(shape.after && { after: [p.fromKey, p.fromId] }) };
    return alongIndex(engine, shape.descending, named, range).limit(1).offset(sql<number>`${p.scanLimit} - 1`);
  }),
);

/** Reports whether the comparison key of a name begins with that of the filter. */
function beginsWith(nameKey: Expression<unknown>, { begins, beginsEnd }: Params<Values>) {
  return sql<boolean>`(${nameKey} >= ${begins} and ${nameKey} < ${beginsEnd})`;
}
