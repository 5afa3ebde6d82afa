import { type Point, pointsWithin } from '../../lib/distance.ts';
import { onePerVersion } from '../../lib/one-per.ts';
import type { Location } from '../../model/organization.ts';
import { type Database, query, sql } from '../../model/schema.ts';

/** An organization and its distance from a point. */
export interface NearOrganization {
  readonly id: number;
  readonly km: number;
}

/**
 * Returns the organizations with a location within a distance of one of the points, nearest first, at equal distance by
 * id, without hidden ones. The locations are cached until an organization changes: 11,000 take 1 MB and 1 ms.
 */
export async function organizationsNear(
  database: Database,
  points: readonly Point[],
  withinKm: number,
): Promise<NearOrganization[]> {
  const locations = await locationsIn(database);
  const nearest = new Map<number, number>();
  for (const point of points) {
    for (const { point: organization, km } of pointsWithin(point, withinKm, locations)) {
      nearest.set(organization.id, Math.min(km, nearest.get(organization.id) ?? km));
    }
  }
  return Array.from(nearest, ([id, km]) => ({ id, km })).sort((one, other) => one.km - other.km || one.id - other.id);
}

interface Located extends Location {
  readonly id: number;
}

const locationsIn = onePerVersion(
  // On PostgreSQL, other nodes also change organizations.
  async (database: Database) =>
    database.dataVersion('organizations') ?? JSON.stringify(await database.first(changes, {})),
  read,
);

async function read(database: Database): Promise<readonly Located[]> {
  const rows = await database.all(located, {});
  return rows.map(({ id, location }) => ({ id, ...(JSON.parse(location!) as Location) }));
}

const located = query(db =>
  db.selectFrom('organizations').select(['id', 'location']).where('hidden', '=', 0).where('location', 'is not', null),
);

/**
 * Values that differ after any change of an organization: each change increases a version, or the time of the newest
 * change.
 */
const changes = query(db =>
  db
    .selectFrom('organizations')
    .select(eb => [
      eb.fn.countAll<number>().as('organizations'),
      sql<number>`coalesce(sum(id), 0)`.as('ids'),
      sql<number>`coalesce(sum(version), 0)`.as('versions'),
      sql<number>`coalesce(sum(hidden), 0)`.as('hidden'),
      sql<number>`coalesce(max(updated_at), 0)`.as('updatedAt'),
    ]),
);
