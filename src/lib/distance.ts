/** A point on the earth, in degrees (WGS 84). */
export interface Point {
  /** Degrees north of the equator, −90 to 90. */
  readonly latitude: number;
  /** Degrees east of Greenwich, −180 to 180. */
  readonly longitude: number;
}

/** The kilometers of a mile. */
export const KM_PER_MILE = 1.609344;

/** The mean radius of the earth, in kilometers. */
const RADIUS_KM = 6371.0088;

/**
 * Returns the kilometers between two points along the surface of a sphere (haversine): within 0.6 % of the ellipsoid.
 */
export function distanceKm(one: Point, other: Point): number {
  const latitude = radians(other.latitude - one.latitude);
  const longitude = radians(other.longitude - one.longitude);
  const cosines = Math.cos(radians(one.latitude)) * Math.cos(radians(other.latitude));
  const square = Math.sin(latitude / 2) ** 2 + cosines * Math.sin(longitude / 2) ** 2;
  return 2 * RADIUS_KM * Math.asin(Math.min(1, Math.sqrt(square)));
}

/** The kilometers of a degree of latitude. */
const KM_PER_DEGREE = radians(1) * RADIUS_KM;

/** Returns the points within a distance, with their distances. Most are excluded by their latitudes alone. */
export function pointsWithin<Located extends Point>(
  point: Point,
  km: number,
  points: readonly Located[],
): { readonly point: Located; readonly km: number }[] {
  const degrees = (km / KM_PER_DEGREE) * (1 + EPSILON);
  return points.flatMap(other => {
    if (Math.abs(other.latitude - point.latitude) > degrees) return [];
    const distance = distanceKm(point, other);
    return distance <= km ? [{ point: other, km: distance }] : [];
  });
}

/** Larger than rounding errors. */
const EPSILON = 1e-9;

function radians(degrees: number): number {
  return (degrees * Math.PI) / 180;
}
