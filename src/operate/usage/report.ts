import { invalidParameter } from '../../lib/http/problem.ts';
import { DAY_MS, durationIn, HOUR_MS } from '../../lib/time.ts';
import type { DeploymentName, Reader } from '../../model/schema.ts';
import { noRequests, outcomes, USAGE_KEPT_MS, type UsageCounts, usageByHour, usageByKey } from './counts.ts';

export const intervals = ['hour', 'day'] as const;

type Interval = (typeof intervals)[number];

/** The range and the key of a report. Times are milliseconds since the Unix epoch. */
interface ReportRequest {
  readonly accountId: number;
  readonly deployment: DeploymentName;
  readonly interval: Interval;
  /** The start; by default 24 hours or 30 days before the end. */
  readonly from?: number | undefined;
  /** The end; by default now, or the start plus the longest range. */
  readonly to?: number | undefined;
  /** Only of this key. */
  readonly keyId?: string | undefined;
}

/** Numbers of requests. */
export interface Usage extends UsageCounts {
  /** The number of all requests. */
  readonly requests: number;
}

export interface UsageReport {
  readonly interval: Interval;
  readonly from: number;
  readonly to: number;
  readonly total: Usage;
  /** One for every hour or UTC day, oldest first. */
  readonly buckets: readonly (Usage & { readonly start: number })[];
  /** The keys with requests, the most used first. */
  readonly keys: readonly (Usage & { readonly keyId: string })[];
}

/** The length of an interval, the default number of intervals, and the length of the longest report. */
export const reportRules = {
  hour: { ms: HOUR_MS, count: 24, maxMs: 8 * DAY_MS },
  day: { ms: DAY_MS, count: 30, maxMs: USAGE_KEPT_MS },
} as const;

/** The maximum number of intervals of a report. */
export const BUCKETS_MAX = Math.max(...Object.values(reportRules).map(({ ms, maxMs }) => maxMs / ms));

/**
 * Returns the usage of an account on a deployment.
 * @throws {Problem} `invalid_parameter` for a range that is empty or too long
 */
export async function usageReport(reader: Reader, request: ReportRequest, now: number): Promise<UsageReport> {
  const { accountId, deployment, interval, keyId } = request;
  const { ms, count, maxMs } = reportRules[interval];
  const begin = request.from === undefined ? undefined : Math.floor(request.from / ms) * ms;
  // Without an end, a report with an early start has the maximum length.
  const latest = request.to ?? (begin === undefined ? now : Math.min(now, begin + maxMs));
  const to = Math.ceil(latest / ms) * ms;
  const from = begin ?? to - count * ms;
  if (from >= to) throw invalidParameter('from', 'Must be before `to`, or before now.', 'invalid_combination');
  if (to - from > maxMs) {
    const longest = `${durationIn('day', maxMs)} by ${interval}`;
    throw invalidParameter('from', `Must be at most ${longest} before \`to\`.`, 'invalid_combination');
  }
  const range = { accountId, deployment, keyId, from: from / HOUR_MS, until: to / HOUR_MS };
  const hours = await usageByHour(reader, range);
  const buckets = Array.from({ length: (to - from) / ms }, (_, index) => ({ start: from + index * ms, ...noUsage }));
  const total = { ...noUsage };
  for (const hour of hours) {
    const bucket = buckets[Math.floor((hour.hour * HOUR_MS - from) / ms)]!;
    add(bucket, hour);
    add(total, hour);
  }
  const keys = (await usageByKey(reader, range)).map(({ keyId, ...counts }) => ({ keyId, ...withRequests(counts) }));
  return { interval, from, to, total, buckets, keys };
}

const noUsage: Usage = withRequests(noRequests);

function withRequests(counts: UsageCounts): Usage {
  return { requests: outcomes.reduce((sum, name) => sum + counts[name], 0), ...counts };
}

function add(sum: { -readonly [Name in keyof Usage]: number }, counts: UsageCounts): void {
  for (const name of outcomes) {
    sum[name] += counts[name];
    sum.requests += counts[name];
  }
  sum.unlogged += counts.unlogged;
}
