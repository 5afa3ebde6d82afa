import { join, resolve } from 'node:path';
import process from 'node:process';
import { parseArgs } from 'node:util';
import type { MaybePromise } from '../src/lib/maybe-promise.ts';
import { load, type Request } from './load.ts';
import { cores, type Running, start } from './processes.ts';
import { createKey, sendRequest, storeEnvironment } from './product.ts';
import { temporaryDirectory } from './temporary-directory.ts';
import { orders, uncached } from './workloads.ts';

export const compareHelp = `Compares the processor time per response of this checkout with another checkout.

Usage
  npm run bench -- compare DIR [OPTIONS]

Options
  --only ROW      Measure only this row: list, list-anew, get, create or order. Repeatable.
  --rounds N      Rounds per row, alternating between the two checkouts (8). The best round of each counts.
  --seconds N     Length of each round (2).
`;

/** The pets in each store before the measurement. Orders sell some of them. */
const PETS = 10_000;
/** More orders than a server completes in a second. */
const ORDERS_PER_SECOND = 16_000;

/** A checkout, served from a data directory of its own. */
interface Side extends AsyncDisposable {
  readonly name: 'this' | 'other';
  readonly baseUrl: string;
  readonly token: string;
  readonly pid: number;
}

/** Measures processor time per response of the other checkout and this one, alternating, and prints a table. */
export async function compare(args: readonly string[]): Promise<void> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      only: { type: 'string', multiple: true, default: [] },
      rounds: { type: 'string', default: '8' },
      seconds: { type: 'string', default: '2' },
      help: { type: 'boolean', default: false },
    },
  });
  const [directory] = positionals;
  if (values.help || directory === undefined) {
    process.stdout.write(compareHelp);
    return;
  }
  const rounds = Number(values.rounds);
  const seconds = Number(values.seconds);
  const names = (Object.keys(rows) as RowName[]).filter(name => values.only.length === 0 || values.only.includes(name));
  await using other = await serve('other', resolve(directory));
  await using own = await serve('this', new URL('..', import.meta.url).pathname);
  const lines = [];
  for (const name of names) {
    const best = { this: Number.POSITIVE_INFINITY, other: Number.POSITIVE_INFINITY };
    // The first round warms the code up and does not count.
    for (let round = 0; round <= rounds; round++) {
      for (const side of [other, own]) {
        const time = await timePerResponse(side, name, seconds);
        if (round > 0) best[side.name] = Math.min(best[side.name], time);
      }
    }
    const ratio = best.this / best.other;
    lines.push(
      `| ${rows[name].title} | ${best.other.toFixed(1)} µs | ${best.this.toFixed(1)} µs | ${ratio.toFixed(2)} |`,
    );
    process.stderr.write(`${lines.at(-1)}\n`);
  }
  const head = `| Processor time per response, best of ${rounds} | other | this | this / other |\n| --- | --- | --- | --- |`;
  process.stdout.write(`${head}\n${lines.join('\n')}\n`);
}

interface Row {
  readonly title: string;
  requests(side: Side, seconds: number): MaybePromise<readonly Request[]>;
}

const get = (path: string): Request => ({ method: 'GET', path });
const create: Request = { method: 'POST', path: '/pets', body: JSON.stringify({ name: 'Minka', categoryId: 2 }) };

const rows = {
  list: { title: '`GET /v1/pets`', requests: () => [get('/pets')] },
  'list-anew': { title: '`GET /v1/pets`, not cached', requests: () => [get(`/pets?${uncached}`)] },
  get: {
    title: '`GET /v1/pets/{petId}`',
    requests: () => Array.from({ length: 5000 }, (_, index) => get(`/pets/${index + 1}`)),
  },
  create: { title: '`POST /v1/pets`', requests: () => [create] },
  order: {
    title: '`POST /v1/store/orders`',
    requests: async (side, seconds) => orders(await addPets(side, ORDERS_PER_SECOND * seconds)),
  },
} satisfies Record<string, Row>;
type RowName = keyof typeof rows;

/** Returns the microseconds of processor time, all threads included, that the server spends on each response. */
async function timePerResponse(side: Side, name: RowName, seconds: number): Promise<number> {
  const row: Row = rows[name];
  const requests = await row.requests(side, seconds);
  const { processorUs } = await load(side, requests, seconds, undefined, name === 'order' ? 'once' : 'random');
  return processorUs!;
}

/** Adds at least `count` pets; returns the ids of the newest `count`. */
async function addPets(side: Side, count: number): Promise<number[]> {
  const ids: number[] = [];
  const add = async () => {
    while (ids.length < count) {
      const body = await sendRequest(side, '/pets', { name: 'Minka', categoryId: 2, status: 'available' });
      ids.push(JSON.parse(body).id);
    }
  };
  await Promise.all(Array.from({ length: 64 }, add));
  return ids;
}

/** Starts the server of a checkout on an empty data directory, and adds pets through its API. */
async function serve(name: Side['name'], directory: string): Promise<Side> {
  const files = temporaryDirectory();
  const launcher = join(directory, 'bin/petstore');
  const env = storeEnvironment(files.path);
  let server: Running | undefined;
  try {
    const { token } = await createKey(launcher, env);
    const running = start(cores.server, [launcher, 'serve', '--json'], { env });
    server = running;
    const { production } = JSON.parse(await running.firstLine);
    const side: Side = {
      name,
      baseUrl: production.replace('localhost', '127.0.0.1'),
      token,
      pid: running.pid,
      async [Symbol.asyncDispose]() {
        await running.stop();
        files[Symbol.dispose]();
      },
    };
    await addPets(side, PETS);
    return side;
  } catch (error) {
    await server?.stop();
    files[Symbol.dispose]();
    throw error;
  }
}
