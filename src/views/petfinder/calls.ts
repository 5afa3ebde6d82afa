import type { AdmittedViewRequest, OperationCall } from '../../lib/http/server/view.ts';
import { type Organization, organizationOf } from '../../model/organization.ts';
import type { Reader } from '../../model/schema.ts';
import { publicOrganizations } from '../../store/organizations/organizations.ts';
import { nextCursorIn } from '../local-call.ts';
import { PETFINDER_PATH } from '../urls.ts';

/** Returns the start of the links in a response: a path, because many clients write their own host before it. */
export function linkBaseOf({ publicUrl }: Pick<AdmittedViewRequest, 'publicUrl'>): string {
  return new URL(publicUrl).pathname.replace(/\/$/, '') + PETFINDER_PATH;
}

/** A page of a list of the API. */
export interface CalledPage<Row> {
  readonly rows: readonly Row[];
  /** The cursor of the next page. */
  readonly next: string | undefined;
  /** The number of rows on all pages, if the list can count them. */
  readonly total: number | undefined;
}

/** Runs an operation of the API, and returns its body. @throws {Problem} like the operation */
export async function bodyOf<T>(request: AdmittedViewRequest, operationId: string, call: OperationCall): Promise<T> {
  return JSON.parse(String((await request.call(operationId, call)).bytes)) as T;
}

/** Runs a list of the API, and returns a page of it. @throws {Problem} like the operation */
export async function pageOf<Row>(
  request: AdmittedViewRequest,
  operationId: string,
  query: Readonly<Record<string, string>>,
): Promise<CalledPage<Row>> {
  const { bytes, headers } = await request.call(operationId, { query, headers: { prefer: 'count=exact' } });
  const at = headers.indexOf('X-Total-Count');
  return {
    rows: JSON.parse(String(bytes)) as Row[],
    next: nextCursorIn(headers),
    total: at < 0 ? undefined : Number(headers[at + 1]),
  };
}

/** Returns the organizations of accounts that have published one, by id, with one query. */
export async function organizationsOf(
  { publicUrl }: AdmittedViewRequest,
  reader: Reader,
  ids: readonly number[],
): Promise<ReadonlyMap<number, Organization>> {
  const rows = await publicOrganizations(reader, ids);
  return new Map(Array.from(rows, ([id, row]) => [id, organizationOf(row, publicUrl)]));
}
