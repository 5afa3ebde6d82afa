import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { DAY_MS, durationIn, formatTime, HOUR_MS, parseDuration, parseTime } from './time.ts';

describe('parseDuration', () => {
  it('parses seconds, minutes, hours and days', () => {
    const right = {
      '0s': 0,
      '30s': 30_000,
      '15m': 900_000,
      '24h': 86_400_000,
      '7d': 604_800_000,
      '36500d': 3_153_600_000_000,
    };
    for (const [text, ms] of Object.entries(right)) assert.equal(parseDuration(text), ms, text);
  });

  it('rejects everything else', () => {
    for (const text of [
      '',
      '7',
      'd',
      '-1s',
      '1.5h',
      '1 h',
      '1w',
      '1h30m',
      '36501d',
      '9999999999999999s',
      '1S',
      '5ms',
    ]) {
      assert.equal(parseDuration(text), undefined, text);
    }
  });
});

describe('parseTime', () => {
  it('parses RFC 3339 times with any offset', () => {
    const right = {
      '2026-11-20T12:00:00Z': Date.UTC(2026, 10, 20, 12),
      '2026-11-20t12:00:00.123456z': Date.UTC(2026, 10, 20, 12, 0, 0, 123),
      '2026-11-20 13:30:00+01:30': Date.UTC(2026, 10, 20, 12),
      '2024-02-29T00:00:00-00:00': Date.UTC(2024, 1, 29),
    };
    for (const [text, ms] of Object.entries(right)) assert.equal(parseTime(text), ms, text);
  });

  it('rejects everything else, including impossible dates', () => {
    for (const text of [
      '',
      'tomorrow',
      '2026-11-20',
      '2026-11-20T12:00Z',
      '2026-11-20T12:00:00',
      '2026-02-29T12:00:00Z',
      '2026-13-01T12:00:00Z',
      '2026-11-20T24:00:00Z',
      '2026-11-20T25:00:00Z',
      '1795132800',
      ' 2026-11-20T12:00:00Z',
    ]) {
      assert.equal(parseTime(text), undefined, text);
    }
  });
});

describe('formatTime', () => {
  it('returns text that parseTime accepts', () => {
    assert.equal(formatTime(Date.UTC(2026, 10, 20, 12)), '2026-11-20T12:00:00.000Z');
    assert.equal(parseTime(formatTime(1234)), 1234);
  });
});

describe('durationIn', () => {
  it('prints a duration in digits, in words, and with an article', () => {
    assert.equal(durationIn('day', 30 * DAY_MS), '30 days');
    assert.equal(durationIn('day', 7 * DAY_MS, 'words'), 'seven days');
    assert.equal(durationIn('second', 1000, 'words'), 'one second');
    assert.equal(durationIn('hour', HOUR_MS, 'article'), 'an hour');
    assert.equal(durationIn('year', 365 * DAY_MS, 'article'), 'a year');
    assert.equal(durationIn('hour', 2 * HOUR_MS, 'article'), 'two hours');
  });
});
