import { KM_PER_MILE, type Point } from '../../lib/distance.ts';
import { decodeListToken, encodeListToken, invalidCursor } from '../../lib/http/pagination/cursor.ts';
import { type Page, type PageRequest, scanBudget } from '../../lib/http/pagination/paginate.ts';
import { invalidParameter } from '../../lib/http/problem.ts';
import { documentedRule } from '../../lib/schemas.ts';
import { spelled } from '../../lib/text.ts';
import { Type } from '../../lib/type.ts';
import type { Distance, PetCard, PetReader } from '../../model/pet.ts';
import type { Database, Reader } from '../../model/schema.ts';
import { type NearOrganization, organizationsNear } from '../organizations/locations.ts';
import { CITIES_MAX, citiesIn } from '../places/cities.ts';
import { importedCountries } from '../places/imported-codes.ts';
import { builtInCountries, locationOfPostalCode } from '../places/postal-codes.ts';
import { type PetFilter, petList } from './filter.ts';
import { listPets, type PetViews } from './list.ts';

const LATITUDE = '-?(90(\\.0+)?|[0-8]?\\d(\\.\\d{1,10})?)';
const LONGITUDE = '-?(180(\\.0+)?|(1[0-7]\\d|\\d?\\d)(\\.\\d{1,10})?)';
const POINT = `${LATITUDE} ?, ?${LONGITUDE}`;
/** A postal code, preceded by its country unless it is of the United States or Canada. */
const US_CODE = '\\d{5}(-\\d{4})?';
const CA_CODE = '[A-Za-z]\\d[A-Za-z]([ -]?\\d[A-Za-z]\\d)?';
const OTHER_CODE = '([A-Za-z]{2})[ -]([A-Za-z\\d -]{0,20}\\d[A-Za-z\\d -]{0,20})';
const POSTAL_CODE = `${US_CODE}|${CA_CODE}|${OTHER_CODE}`;
const CITY = "[A-Za-z\\u00C0-\\u024F][A-Za-z\\u00C0-\\u024F .,'\u2019-]{1,39}";
const NEAR = `^(${POINT}|${POSTAL_CODE}|${CITY})$`;

/** The maximum length of a place, in characters. */
export const NEAR_LENGTH_MAX = 40;

/** Reports whether a text has the form of a place. */
export function isPlace(text: string): boolean {
  return nearPattern.test(text);
}

const pointPattern = new RegExp(`^${POINT}$`);
const nearPattern = new RegExp(NEAR);

const WITHIN_DEFAULT = '100km';

/** The query parameters of a search near a place. */
export const nearParameters = {
  near: Type.Optional(
    Type.Refine(
      Type.String({
        maxLength: NEAR_LENGTH_MAX,
        description:
          'Only animals whose organization is within a distance of a point: `latitude,longitude` in degrees, a postal code, or ' +
          'a city of the United States or Canada. Write the country before a postal code; for the United States and Canada, the code alone is ' +
          `enough. Postal codes of other countries work if the operator has imported them. Of cities with the same name, up to ${spelled(CITIES_MAX)} ` +
          'count, unless the state is given. The location of an animal is that of its organization.',
        examples: ['34.05,-118.24', 'US-90210', '62704', 'Portland, OR'],
        ...documentedRule({ pattern: NEAR }),
      }),
      isPlace,
      () =>
        'must be latitude,longitude, such as 34.05,-118.24, a postal code, such as 90210 or DE-10115, or a city, such as Portland, OR',
    ),
  ),
  within: Type.Optional(
    Type.String({
      maxLength: 10,
      pattern: '^\\d{1,5}(\\.\\d{1,3})?(km|mi)$',
      description: `With \`near\`: the distance, in kilometers (\`km\`) or miles (\`mi\`); ${WITHIN_DEFAULT} without it.`,
      examples: ['50km', '30mi'],
    }),
  ),
};

/** A circle around each of some points. */
export interface Near {
  /** The point, or several points for cities with the same name. */
  readonly points: readonly Point[];
  readonly withinKm: number;
  /** The unit of the distances. */
  readonly unit: Distance['unit'];
}

/** The organizations within a distance, the nearest first. */
export interface Nearby {
  readonly organizations: readonly NearOrganization[];
  readonly unit: Distance['unit'];
}

/**
 * Returns the organizations that the parameters select.
 * @throws {Problem} `invalid_parameter` for an unknown postal code or city
 */
export async function nearbyOf(database: Database, near: string, within?: string): Promise<Nearby> {
  const { points, withinKm, unit } = await nearOf(database, near, within);
  return { organizations: await organizationsNear(database, points, withinKm), unit };
}

/** Returns the pets with the distances of their organizations. */
export function withDistances(pets: readonly PetCard[], { organizations, unit }: Nearby): PetCard[] {
  const distances = new Map(organizations.map(({ id, km }) => [id, unit === 'mi' ? km / KM_PER_MILE : km]));
  return pets.map(pet => {
    const distance = distances.get(pet.accountId);
    return distance === undefined ? pet : { ...pet, distance: { value: Math.round(distance * 10) / 10, unit } };
  });
}

/**
 * Returns the circles of the parameters.
 * @throws {Problem} `invalid_parameter` for an unknown postal code or city
 */
export async function nearOf(reader: Reader, near: string, within = WITHIN_DEFAULT): Promise<Near> {
  const unit = within.endsWith('mi') ? 'mi' : 'km';
  const withinKm = Number.parseFloat(within) * (unit === 'mi' ? KM_PER_MILE : 1);
  return { points: await pointsOf(reader, near.trim()), withinKm, unit };
}

async function pointsOf(reader: Reader, near: string): Promise<readonly Point[]> {
  if (pointPattern.test(near)) {
    const [latitude, longitude] = near.split(',').map(Number);
    return [{ latitude: latitude!, longitude: longitude! }];
  }
  const postal = postalCodeIn(near);
  if (postal === undefined) {
    const cities = await citiesIn(near);
    if (cities.length > 0) return cities;
    throw invalidParameter('near', `This store knows no city ${near}. ${POINTS_WORK}`, 'unknown_value');
  }
  const [country, code] = postal;
  const point = await locationOfPostalCode(reader, country, code);
  if (point !== undefined) return [point];
  throw invalidParameter('near', await unknownCode(reader, country, code), 'unknown_value');
}

/** Returns the country and the postal code in a text; `undefined` if it is not a postal code. */
export function postalCodeIn(text: string): readonly [country: string, code: string] | undefined {
  const place = text.trim().toUpperCase();
  if (usPattern.test(place)) return ['US', place];
  if (caPattern.test(place)) return ['CA', place];
  const [, country, code] = otherPattern.exec(place) ?? [];
  return country === undefined ? undefined : [country, code!];
}

const [usPattern, caPattern, otherPattern] = [US_CODE, CA_CODE, OTHER_CODE].map(code => new RegExp(`^${code}$`)) as [
  RegExp,
  RegExp,
  RegExp,
];

const POINTS_WORK = 'Latitude and longitude work everywhere, such as 34.05,-118.24.';

async function unknownCode(reader: Reader, country: string, code: string): Promise<string> {
  const known = [...builtInCountries, ...(await importedCountries(reader))].sort();
  if (known.includes(country)) return `There is no postal code ${code} in ${country}.`;
  return `This store has no postal codes of ${country}, only of ${known.join(', ')}. ${POINTS_WORK}`;
}

/**
 * Returns one page of the pets that match a filter, by the distance of their organizations, and by id within each. A
 * page reads the pets of up to 100 organizations, and scans up to 20,000 rows in total: it may be short or empty and
 * still have a next page. There are no previous pages.
 * @param organizations the organizations, the nearest first
 * @throws {Problem} like `listPets`
 */
export async function listNearestPets<View extends keyof PetViews>(
  reader: Reader,
  filter: Omit<PetFilter, 'sort' | 'ownerId' | 'ownerIds'>,
  organizations: readonly NearOrganization[],
  page: PageRequest,
  now: number,
  view: View | undefined,
  viewer?: PetReader,
): Promise<Page<PetViews[View]>> {
  const list = [...petList({ ...filter, sort: 'id' }), 'distance'];
  const from = page.cursor === undefined ? undefined : decode(list, page.cursor);
  if (page.cursor !== undefined && from === undefined) throw invalidCursor();
  const first = from === undefined ? 0 : organizations.findIndex(organization => !precedes(organization, from));
  const reached = first < 0 ? [] : organizations.slice(first);
  const encode = ({ km, id }: NearOrganization, cursor = '') => encodeListToken(list, [km, id, cursor]);
  const rows: PetViews[View][] = [];
  const budget = scanBudget();
  for (const [index, organization] of reached.entries()) {
    const isFull = rows.length === page.limit || index === ORGANIZATIONS_MAX || budget.left === 0;
    if (isFull) return { rows, next: encode(organization) };
    const cursor = organization.id === from?.id ? from.cursor || undefined : undefined;
    const own = { ...filter, place: undefined, ownerId: organization.id, sort: 'id' } as const;
    const request = { ...page, limit: page.limit - rows.length, cursor, budget };
    const found = await listPets(reader, own, request, now, view, viewer);
    rows.push(...found.rows);
    if (found.next !== undefined) return { rows, next: encode(organization, found.next) };
  }
  return { rows };
}

/** The maximum number of organizations that a page reads. */
const ORGANIZATIONS_MAX = 100;

/** The start of a page: an organization, and the cursor in the list of its pets. */
interface DistancePosition extends NearOrganization {
  readonly cursor: string;
}

function precedes(one: NearOrganization, other: NearOrganization): boolean {
  return one.km < other.km || (one.km === other.km && one.id < other.id);
}

function decode(list: readonly unknown[], text: string): DistancePosition | undefined {
  const [km, id, cursor] = decodeListToken(list, text, 3) ?? [];
  if (typeof km !== 'number' || typeof id !== 'number' || typeof cursor !== 'string') return undefined;
  return { km, id, cursor };
}
