import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { distanceKm, pointsWithin } from './distance.ts';

const point = (latitude: number, longitude: number) => ({ latitude, longitude });

describe('distanceKm', () => {
  it('is what others measure between cities', () => {
    const berlin = point(52.52, 13.405);
    const sydney = point(-33.8688, 151.2093);
    assert.ok(Math.abs(distanceKm(berlin, point(48.8566, 2.3522)) - 878) < 3);
    assert.ok(Math.abs(distanceKm(berlin, sydney) - 16_096) < 50);
    assert.equal(distanceKm(berlin, berlin), 0);
    assert.equal(distanceKm(berlin, sydney), distanceKm(sydney, berlin));
  });

  it('is right across the date line, over the poles and to the opposite point', () => {
    assert.ok(Math.abs(distanceKm(point(0, 179.5), point(0, -179.5)) - 111.195) < 0.01);
    assert.ok(Math.abs(distanceKm(point(89, 0), point(89, 180)) - 222.39) < 0.01);
    assert.ok(Math.abs(distanceKm(point(0, 0), point(0, 180)) - 20_015.1) < 0.1);
    assert.ok(Number.isFinite(distanceKm(point(41.3, 12.7), point(-41.3, -167.3))));
  });
});

describe('pointsWithin', () => {
  it('finds what the distances say', () => {
    const points = Array.from({ length: 5000 }, (_, n) => point(-90 + ((n * 37) % 180), -180 + ((n * 101) % 360)));
    for (const center of [point(0, 0), point(89, 10), point(-45.5, 179.9)]) {
      for (const km of [0, 100, 2500, 20_100]) {
        const expected = points.filter(other => distanceKm(center, other) <= km);
        assert.deepEqual(
          pointsWithin(center, km, points).map(({ point }) => point),
          expected,
        );
      }
    }
    assert.deepEqual(pointsWithin(point(10, 10), 0, [point(10, 10)]), [{ point: point(10, 10), km: 0 }]);
  });
});
