import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { cores, processorTimeOf, run } from './processes.ts';
import { temporaryDirectory } from './temporary-directory.ts';

/** A request of the load. `{n}` in the path becomes a number that no other request has. */
export interface Request {
  readonly method: 'GET' | 'POST';
  /** Path and query below the base URL, such as `/pets`. */
  readonly path: string;
  /** JSON. */
  readonly body?: string;
}

/** The result of one load. */
export interface Measured {
  /** Responses per second. */
  readonly perSecond: number;
  /** Latency in milliseconds, as the load generator measures it. */
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Microseconds of processor time of the server per response; absent when its process is unknown. */
  readonly processorUs?: number;
}

/** Connections of a load, by default. */
export const CONNECTIONS = 64;

/**
 * Runs the load generator `wrk` against a server. Each connection sends its next request when it has the response.
 * @param target the base URL, the API key, and the process whose processor time is measured
 * @param order `random`, or `once`: in the given order, each request once
 * @throws when any response is an error or missing
 */
export async function load(
  target: { readonly baseUrl: string; readonly token: string; readonly pid?: number },
  requests: readonly Request[],
  seconds: number,
  connections: number = CONNECTIONS,
  order: 'random' | 'once' = 'random',
): Promise<Measured> {
  const { pathname, origin } = new URL(target.baseUrl);
  const prefix = pathname === '/' ? '' : pathname;
  const line = ({ method, path, body = '' }: Request) => `${method}\t${prefix}${path}\t${body}\n`;
  using directory = temporaryDirectory();
  const file = join(directory.path, 'requests');
  await writeFile(file, requests.map(line).join(''));
  const before = target.pid === undefined ? 0 : await processorTimeOf(target.pid);
  const output = await run(cores.load, [
    ...['wrk', '-t', '1', '-c', String(connections), '-d', `${seconds}s`, '--latency'],
    ...['-H', `Authorization: Bearer ${target.token}`, '-s', new URL('load.lua', import.meta.url).pathname],
    ...[origin, '--', file, order],
  ]);
  const measured = parseOutput(output);
  if (target.pid === undefined) return measured;
  const usedSeconds = (await processorTimeOf(target.pid)) - before;
  return { ...measured, processorUs: (usedSeconds * 1e6) / (measured.perSecond * seconds) };
}

function parseOutput(output: string): Measured {
  const { requests, durationUs, p50Us, p99Us, errorResponses, failed } = JSON.parse(output.trim().split('\n').at(-1)!);
  if (errorResponses > 0 || failed > 0 || requests === 0) {
    throw new Error(`Of ${requests} responses ${errorResponses} were errors, and ${failed} requests failed.`);
  }
  return { perSecond: requests / (durationUs / 1e6), p50Ms: p50Us / 1000, p99Ms: p99Us / 1000 };
}
