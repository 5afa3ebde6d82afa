import { Session } from 'node:inspector/promises';
import { serve } from '../test/support/serving.ts';

/** Prints the named functions of `src/` that one warm request calls: `node bench/count-functions.ts [/pets]`. */
const WARM_REQUESTS = 200;
const SAMPLES = 5;

const source = new URL('../src/', import.meta.url).href;
const serving = await serve();
const headers = { Authorization: `Bearer ${(await serving.newKey()).token}`, 'Content-Type': 'application/json' };
const base = serving.urls.production;
const body = JSON.stringify({ name: 'Minka', categoryId: 2 });
const { id } = (await (await fetch(`${base}/pets`, { method: 'POST', headers, body })).json()) as { id: number };
const url = base + (process.argv[2] ?? `/pets/${id}`);
const send = async () => void (await (await fetch(url, { headers })).text());
for (let sent = 0; sent < WARM_REQUESTS; sent++) await send();

const session = new Session();
session.connect();
await session.post('Profiler.enable');
await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
let fewest: string[] | undefined;
// Timers may run during a request, so the sample with the fewest functions counts.
for (let sample = 0; sample <= SAMPLES; sample++) {
  await send();
  const { result } = await session.post('Profiler.takePreciseCoverage');
  const called = result
    .filter(script => script.url.startsWith(source))
    .flatMap(script =>
      script.functions
        .filter(({ functionName, ranges }) => functionName !== '' && ranges[0]!.count > 0)
        .map(({ functionName, ranges }) => `${ranges[0]!.count}  ${functionName}  ${script.url.slice(source.length)}`),
    );
  if (sample > 0 && (fewest === undefined || called.length < fewest.length)) fewest = called;
}
process.stdout.write(`${fewest!.join('\n')}\n${fewest!.length} functions\n`);
await serving.stop();
process.exit(0);
