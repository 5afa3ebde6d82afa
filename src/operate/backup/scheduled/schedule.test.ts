import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { formatTime, HOUR_MS } from '../../../lib/time.ts';
import { lastDue, nextDue } from './job.ts';

const at = (time: string) => Date.parse(time);

describe('the schedule of backups', () => {
  it('is due at the time of day in UTC, and at the interval before and after', () => {
    const due = (hours: number, time: string) => {
      const schedule = { intervalMs: hours * HOUR_MS, timeMs: 2.5 * HOUR_MS };
      return [lastDue(schedule, at(time)), nextDue(schedule, at(time))].map(ms => formatTime(ms).slice(5, 16));
    };
    assert.deepEqual(due(24, '2026-11-22T02:30:00Z'), ['11-22T02:30', '11-23T02:30']);
    assert.deepEqual(due(24, '2026-11-22T02:29:59.999Z'), ['11-21T02:30', '11-22T02:30']);
    assert.deepEqual(due(6, '2026-11-22T21:00:00Z'), ['11-22T20:30', '11-23T02:30']);
    assert.deepEqual(due(1, '2026-11-22T00:00:00Z'), ['11-21T23:30', '11-22T00:30']);
    // The weeks of the Unix epoch begin on Thursday.
    assert.deepEqual(due(7 * 24, '2026-11-22T02:30:00Z'), ['11-19T02:30', '11-26T02:30']);
  });
});
