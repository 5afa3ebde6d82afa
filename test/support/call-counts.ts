import { Session } from 'node:inspector/promises';
import { testClock } from '../../src/lib/clock.ts';
import { seedStaging } from '../../src/operate/seeds/staging.ts';
import { type Reply, send, serve } from './serving.ts';

/** A named function of `src/` with its calls by one request. */
export interface CalledFunction {
  readonly name: string;
  /** Its file, below `src/`. */
  readonly file: string;
  readonly calls: number;
}

/** The requests that are measured. The page shows sample animals; the others send the fewest fields. */
export const measuredRequests = ['GET /pets/{petId}', 'POST /pets', 'POST /store/orders', '/animals'] as const;

const WARM_REQUESTS = 10;
const SAMPLES = 10;

const source = new URL('../../src/', import.meta.url).href;

/**
 * Returns the named functions of `src/` that one warm request calls, for each measured request. Starts the service once. Its
 * clock starts at the same time whenever it runs, so that the sample animals have the same ages.
 */
export async function countCalls(): Promise<Map<string, CalledFunction[]>> {
  const clock = testClock(Date.parse('2026-11-27T12:00:00Z'));
  const service = await serve({ clock });
  const { production, staging } = service.app.databases;
  await seedStaging(production, staging!);
  const key = await service.newKey();
  const post = (path: string, body: object) => send(service.urls.production + path, { method: 'POST', key, body });
  const newPet = () => post('/pets', { name: 'Minka', categoryId: 2 });
  let petId = (await newPet()).body.id;
  const requests: Readonly<Record<(typeof measuredRequests)[number], () => Promise<Reply>>> = {
    'GET /pets/{petId}': () => send(`${service.urls.production}/pets/${petId}`, { key }),
    'POST /pets': newPet,
    'POST /store/orders': () => post('/store/orders', { petId }),
    '/animals': () => send(`${new URL(service.urls.staging).origin}/animals`),
  };
  const session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  const counted = new Map<string, CalledFunction[]>();
  for (const [name, request] of Object.entries(requests)) {
    const samples: CalledFunction[][] = [];
    for (let sent = 0; sent < WARM_REQUESTS + SAMPLES; sent++) {
      if (name === 'POST /store/orders') petId = (await newPet()).body.id;
      clock.advance(1000);
      await takeCalls(session);
      const { status, text } = await request();
      if (status >= 300) throw new Error(`${name} returned ${status}: ${text}`);
      if (sent >= WARM_REQUESTS) samples.push(await takeCalls(session));
    }
    counted.set(name, samples.reduce(inBoth));
  }
  await session.post('Profiler.stopPreciseCoverage');
  session.disconnect();
  await service.stop();
  return counted;
}

/** Returns the functions of both samples, with the fewer calls. Timers and jobs run during some requests only. */
function inBoth(one: readonly CalledFunction[], other: readonly CalledFunction[]): CalledFunction[] {
  const others = new Map(other.map(called => [`${called.file} ${called.name}`, called]));
  return one.flatMap(called => {
    const same = others.get(`${called.file} ${called.name}`);
    return same === undefined ? [] : [{ ...called, calls: Math.min(called.calls, same.calls) }];
  });
}

/** Returns the number of calls of functions. */
export function callsOf(functions: readonly CalledFunction[]): number {
  return functions.reduce((sum, { calls }) => sum + calls, 0);
}

/** Returns the functions that were called since the last time. */
async function takeCalls(session: Session): Promise<CalledFunction[]> {
  const { result } = await session.post('Profiler.takePreciseCoverage');
  return result
    .filter(({ url }) => url.startsWith(source))
    .flatMap(({ url, functions }) =>
      functions
        .map(({ functionName, ranges }) => ({
          name: functionName,
          file: url.slice(source.length),
          calls: ranges[0]!.count,
        }))
        // V8 calls the fields of a class `<instance_members_initializer>`.
        .filter(({ name, calls }) => name !== '' && !name.startsWith('<') && calls > 0),
    );
}
