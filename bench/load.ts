import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { cores, processorTimeOf, run } from './processes.ts';
import { scratch } from './scratch.ts';

/** A request that a load is made of. `{n}` in the path becomes a number that no other request of the load has. */
export interface Request {
  readonly method: 'GET' | 'POST';
  /** Path and query, from the base address on: `/pets`. */
  readonly path: string;
  /** JSON. */
  readonly body?: string;
}

/** What one load found. */
export interface Measured {
  /** Answers a second. */
  readonly perSecond: number;
  /** Milliseconds from request to answer, as the load sees them. */
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Microseconds of processor time of the server per response; absent if its process is not known. */
  readonly processorUs?: number;
}

/** How many connections a load holds, unless it says otherwise. */
export const CONNECTIONS = 64;

/**
 * Loads a server with requests in random order, each connection sending the next one when its answer is there.
 * @param order `once`: in their own order, and none a second time
 * @param target the base address that paths are below, and the key that is sent
 * @throws when an answer was an error, or none came: then there is nothing to measure
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
  using directory = scratch();
  const file = join(directory.path, 'requests');
  await writeFile(file, requests.map(line).join(''));
  const before = target.pid === undefined ? 0 : await processorTimeOf(target.pid);
  const printed = await run(cores.load, [
    ...['wrk', '-t', '1', '-c', String(connections), '-d', `${seconds}s`, '--latency'],
    ...['-H', `Authorization: Bearer ${target.token}`, '-s', new URL('load.lua', import.meta.url).pathname],
    ...[origin, '--', file, order],
  ]);
  const measured = read(printed);
  if (target.pid === undefined) return measured;
  const usedSeconds = (await processorTimeOf(target.pid)) - before;
  return { ...measured, processorUs: (usedSeconds * 1e6) / (measured.perSecond * seconds) };
}

function read(printed: string): Measured {
  const { requests, durationUs, p50Us, p99Us, refused, broken } = JSON.parse(printed.trim().split('\n').at(-1)!);
  if (refused > 0 || broken > 0 || requests === 0) {
    throw new Error(`Of ${requests} answers ${refused} were errors, and ${broken} requests got none.`);
  }
  return { perSecond: requests / (durationUs / 1e6), p50Ms: p50Us / 1000, p99Ms: p99Us / 1000 };
}
