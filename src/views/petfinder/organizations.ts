import { isCountry } from '../../lib/countries.ts';
import { KM_PER_MILE } from '../../lib/distance.ts';
import { invalidCursor } from '../../lib/http/pagination/cursor.ts';
import { invalidParameter } from '../../lib/http/problem.ts';
import type { AdmittedViewRequest } from '../../lib/http/server/view.ts';
import { foldedText } from '../../lib/text.ts';
import { problem } from '../../model/errors.ts';
import type { Organization } from '../../model/organization.ts';
import type { Database } from '../../model/schema.ts';
import { type NearOrganization, organizationsNear } from '../../store/organizations/locations.ts';
import { isPlace, NEAR_LENGTH_MAX, nearOf } from '../../store/pets/near.ts';
import { bodyOf, type CalledPage, linkBaseOf, organizationsOf, pageOf } from './calls.ts';
import type { NumberedList, PageNumbers } from './pages.ts';
import { Parameters, placeOf } from './parameters.ts';
import { organizationIdOf, shelterOf } from './shapes.ts';

/** An organization, with its distance in a list near a place. */
interface Listed {
  readonly organization: Organization;
  readonly miles?: number;
}

const organizationParameters = [
  ...['name', 'location', 'distance', 'state', 'country', 'query'],
  ...['sort', 'page', 'limit', 'cursor'],
];

/** The parts of a process that organizations use. */
interface OrganizationDeps {
  readonly database: Database;
  readonly pages: PageNumbers;
}

export async function listOrganizations(request: AdmittedViewRequest, { database, pages }: OrganizationDeps) {
  const parameters = new Parameters(request.search, organizationParameters);
  const list = await searchOf(request, database, parameters);
  const base = linkBaseOf(request);
  const { rows, pagination } = await pages.page(list, parameters, `${base}/organizations`, request);
  const { publicUrl } = request;
  return {
    organizations: rows.map(({ organization, miles }) => shelterOf(organization, base, publicUrl, miles)),
    pagination,
  };
}

export async function getOrganization(request: AdmittedViewRequest) {
  const id = organizationIdOf(request.parameters['id']!);
  if (id === undefined) throw problem('organization_not_found');
  const organization = await bodyOf<Organization>(request, 'getOrganization', { path: { organizationId: String(id) } });
  return { organization: shelterOf(organization, linkBaseOf(request), request.publicUrl) };
}

const sorts = { name: 'name', '-name': '-name', distance: 'distance', '-distance': '-distance' };

/** Returns the list of the organizations that match the parameters. @throws {Problem} for an invalid parameter */
async function searchOf(
  request: AdmittedViewRequest,
  database: Database,
  parameters: Parameters,
): Promise<NumberedList<Listed>> {
  const sort = parameters.choice('sort', sorts);
  const { near, within } = placeOf(parameters, sort?.endsWith('distance') === true);
  const filter = filterOf(parameters);
  const matches = testOf(parameters);
  if (near === undefined) {
    return {
      matches,
      async read(limit, cursor) {
        const page = { limit: String(limit), ...(cursor !== undefined && { cursor }), ...(sort && { sort }) };
        const found = await pageOf<Organization>(request, 'listOrganizations', { ...filter, ...page });
        return { ...found, rows: found.rows.map(organization => ({ organization })) };
      },
    };
  }
  if (near.length > NEAR_LENGTH_MAX || !isPlace(near)) {
    throw invalidParameter('location', `${near} is not a valid location.`);
  }
  if (sort?.endsWith('name')) throw invalidParameter('sort', `${sort} cannot be combined with location.`);
  const { points, withinKm } = await nearOf(database, near, within);
  const found = await organizationsNear(database, points, withinKm);
  const sorted = sort === '-distance' ? found.toReversed() : found;
  const isInFilter = ({ organization: { address } }: Listed) =>
    Object.entries(filter).every(([member, value]) => address?.[member as keyof typeof filter] === value);
  const isFiltered = matches !== undefined || Object.keys(filter).length > 0;
  return {
    matches: isFiltered ? listed => isInFilter(listed) && matches?.(listed) !== false : undefined,
    read: (limit, cursor) => readNear(ids => organizationsOf(request, database, ids), sorted, limit, cursor),
  };
}

/** Returns a page of organizations near a place. @param cursor the number of those before it */
async function readNear(
  read: (ids: readonly number[]) => Promise<ReadonlyMap<number, Organization>>,
  found: readonly NearOrganization[],
  limit: number,
  cursor = '0',
): Promise<CalledPage<Listed>> {
  if (!/^\d{1,9}$/.test(cursor)) throw invalidCursor();
  const from = Number(cursor);
  const page = found.slice(from, from + limit);
  const organizations = await read(page.map(({ id }) => id));
  return {
    rows: page.flatMap(({ id, km }) => {
      const organization = organizations.get(id);
      return organization === undefined ? [] : [{ organization, miles: milesOf(km) }];
    }),
    next: from + limit < found.length ? String(from + limit) : undefined,
    total: found.length,
  };
}

/** Returns the test of the filters that the list of the API does not have; `undefined` if there are none. */
function testOf(parameters: Parameters): ((listed: Listed) => boolean) | undefined {
  const [name, query] = ['name', 'query'].map(one => foldedText(parameters.text(one) ?? '')) as [string, string];
  if (name === '' && query === '') return undefined;
  return ({ organization }) => {
    const { address } = organization;
    const texts = [organization.name, address?.city, address?.state].filter(text => text !== undefined);
    return foldedText(organization.name).includes(name) && texts.some(text => foldedText(text).includes(query));
  };
}

/** Returns the filters that the list of the API has. @throws {Problem} for an unknown country */
function filterOf(parameters: Parameters): { readonly country?: string; readonly state?: string } {
  const country = parameters.text('country')?.toUpperCase();
  const state = parameters.text('state')?.toUpperCase();
  if (country !== undefined && !isCountry(country)) {
    throw invalidParameter('country', `${parameters.text('country')} is not a valid country.`, 'unknown_value');
  }
  return { ...(country !== undefined && { country }), ...(state !== undefined && { state }) };
}

function milesOf(km: number): number {
  return Math.round((km / KM_PER_MILE) * 10_000) / 10_000;
}
