import { isCountry } from '../../lib/countries.ts';
import { KM_PER_MILE } from '../../lib/distance.ts';
import { invalidCursor } from '../../lib/http/pagination/cursor.ts';
import { invalidParameter } from '../../lib/http/problem.ts';
import type { AdmittedViewRequest } from '../../lib/http/server/view.ts';
import { foldedText } from '../../lib/text.ts';
import { problem } from '../../model/errors.ts';
import type { Organization } from '../../model/organization.ts';
import type { Database } from '../../model/schema.ts';
import { organizationsNear } from '../../store/organizations/locations.ts';
import { isPlace, nearOf } from '../../store/pets/near.ts';
import { linkBaseOf, organizationOf, pageOf } from './calls.ts';
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
  const { rows, pagination } = await pages.page(list, parameters, `${base}/organizations`);
  const { publicUrl } = request;
  return {
    organizations: rows.map(({ organization, miles }) => shelterOf(organization, base, publicUrl, miles)),
    pagination,
  };
}

export async function getOrganization(request: AdmittedViewRequest) {
  const id = organizationIdOf(request.parameters['id']!);
  const organization = id === undefined ? undefined : await organizationOf(request, id);
  if (organization === undefined) throw problem('organization_not_found');
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
  const texts = ['name', 'query'].map(name => foldedText(parameters.text(name) ?? ''));
  const [name, query] = texts as [string, string];
  const matches = ({ organization }: Listed) => {
    const { address } = organization;
    const places = [organization.name, address?.city, address?.state].filter(text => text !== undefined);
    return foldedText(organization.name).includes(name) && places.some(text => foldedText(text).includes(query));
  };
  const isTested = name !== '' || query !== '';
  if (near === undefined) {
    return {
      key: JSON.stringify(['organizations', filter, sort, ...texts]),
      matches: isTested ? matches : undefined,
      async read(limit, cursor) {
        const page = { limit: String(limit), ...(cursor !== undefined && { cursor }), ...(sort && { sort }) };
        const found = await pageOf<Organization>(request, 'listOrganizations', { ...filter, ...page });
        return { ...found, rows: found.rows.map(organization => ({ organization })) };
      },
    };
  }
  if (!isPlace(near)) throw invalidParameter('location', `${near} is not a valid location.`);
  if (sort?.endsWith('name')) throw invalidParameter('sort', `${sort} cannot be combined with location.`);
  const { points, withinKm } = await nearOf(database, near, within);
  const found = await organizationsNear(database, points, withinKm);
  if (sort === '-distance') found.reverse();
  const isInFilter = ({ organization: { address } }: Listed) =>
    Object.entries(filter).every(([member, value]) => address?.[member as keyof typeof filter] === value);
  return {
    key: JSON.stringify(['organizations', near, within, filter, sort, ...texts]),
    matches: isTested || Object.keys(filter).length > 0 ? listed => matches(listed) && isInFilter(listed) : undefined,
    async read(limit, cursor = '0') {
      if (!/^\d{1,9}$/.test(cursor)) throw invalidCursor();
      const from = Number(cursor);
      const page = found.slice(from, from + limit);
      const read = await Promise.all(page.map(({ id }) => organizationOf(request, id)));
      return {
        rows: read.flatMap((organization, index) =>
          organization === undefined ? [] : [{ organization, miles: milesOf(page[index]!.km) }],
        ),
        next: from + limit < found.length ? String(from + limit) : undefined,
        total: found.length,
      };
    },
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
