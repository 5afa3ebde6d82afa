import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { distanceKm } from './distance.ts';

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
