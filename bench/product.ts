import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { systemClock } from '../src/lib/clock.ts';
import { openPostgres } from '../src/lib/storage/postgres/database.ts';
import { openSqlite } from '../src/lib/storage/sqlite/database.ts';
import { migrations } from '../src/migrations/index.ts';
import type { Database } from '../src/schema.ts';
import { fill } from './fill.ts';
import { cores, type Running, run, start } from './processes.ts';
import { scratch } from './scratch.ts';

const launcher = new URL('../bin/petstore', import.meta.url).pathname;

/** What the product is started on: data with animals in production, and a key for them. */
export interface Store extends Disposable {
  readonly animals: number;
  /** Animals that are available, some or all of them. */
  readonly available: readonly number[];
  /** The data directory; it goes away with the store. */
  readonly directory: string;
  /** Of an enterprise account with 10^9 requests a minute and a day, so that each is checked and counted, and none refused. */
  readonly token: string;
  readonly env: NodeJS.ProcessEnv;
}

/**
 * Makes a store as an operator would, and fills it while no server runs.
 * @param options.databaseUrl an empty PostgreSQL database in place of the embedded engine
 * @param options.filling what else `fill` is to make
 */
export async function makeStore(
  animals: number,
  { databaseUrl, filling }: { databaseUrl?: string; filling?: Parameters<typeof fill>[3] } = {},
): Promise<Store> {
  const files = scratch();
  const directory = files.path;
  const env = {
    ...process.env,
    PETSTORE_DATA_DIR: directory,
    PETSTORE_PORT: '0',
    PETSTORE_STAGING_PORT: '0',
    PETSTORE_MESSAGES_PORT: '0',
    ...(databaseUrl !== undefined && { PETSTORE_DATABASE_URL: databaseUrl }),
  };
  try {
    const petstore = async (...command: string[]) =>
      JSON.parse(await run(cores.load, [launcher, ...command, '--json'], { env }));
    if (databaseUrl !== undefined) await petstore('migrate');
    const limits = ['--plan', 'enterprise', '--per-minute', '1000000000', '--per-day', '1000000000'];
    const account = await petstore('account', 'create', '--email', 'bench@example.org', '--name', 'Bench', ...limits);
    const key = await petstore('key', 'create', '--account', String(account.id));

    const database = await openData(directory, databaseUrl);
    const available = await fill(database, account.id, animals, filling);
    await database.close();
    return { animals, available, directory, token: key.token, env, [Symbol.dispose]: files[Symbol.dispose] };
  } catch (error) {
    files[Symbol.dispose]();
    throw error;
  }
}

/** The database of a store that nobody serves. */
export function openData(directory: string, databaseUrl?: string): Promise<Database> {
  const silent = { info() {}, warn() {}, error() {} };
  const common = { migrations, clock: systemClock(), log: silent };
  return databaseUrl === undefined
    ? openSqlite({ ...common, file: join(directory, 'production.db'), role: 'server', onFailed: fail })
    : openPostgres({ ...common, url: databaseUrl, role: 'cli', migrate: false });
}

function fail(error: Error): never {
  throw error;
}

/** The product as it serves a store. */
export interface Product extends Running {
  readonly baseUrl: string;
  readonly token: string;
  readonly store: Store;
}

/** Starts the product on a store, on the core for servers, with these settings besides those of the store. */
export async function startProduct(store: Store, settings: NodeJS.ProcessEnv = {}): Promise<Product> {
  const running = start(cores.server, [launcher, 'serve', '--json'], { env: { ...store.env, ...settings } });
  const { production } = JSON.parse(await running.firstLine);
  return { ...running, baseUrl: production.replace('localhost', '127.0.0.1'), token: store.token, store };
}

/**
 * What the product answers to one request, read as JSON: a POST where there is something to send.
 * @param answered called when the head of the answer is here
 * @throws when it is an error
 */
export async function asked(
  { baseUrl, token }: Product,
  path: string,
  body?: object,
  answered = () => {},
): Promise<{ readonly id: number }> {
  const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' };
  const answer = await fetch(
    baseUrl + path,
    body === undefined ? { headers } : { method: 'POST', headers, body: JSON.stringify(body) },
  );
  answered();
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${path} was answered ${answer.status}: ${text}`);
  return JSON.parse(text);
}

/** Milliseconds from the start of `bin/petstore serve` to its first 200 for a list; it is ended afterwards. */
export async function timeStart(store: Store, port: number): Promise<number> {
  const began = performance.now();
  await using running = start(cores.server, [launcher, 'serve', '--json'], {
    env: { ...store.env, PETSTORE_PORT: String(port) },
  });
  let failure: unknown;
  running.firstLine.catch(error => {
    failure = error;
  });
  const headers = { Authorization: `Bearer ${store.token}` };
  for (;;) {
    const status = await fetch(`http://127.0.0.1:${port}/v1/pets`, { headers }).then(
      answer => answer.status,
      () => undefined,
    );
    if (status === 200) return performance.now() - began;
    if (status !== undefined) throw new Error(`The first answer was ${status}.`);
    if (failure !== undefined) throw failure;
    if (performance.now() - began > 15_000) throw new Error('The product did not start within 15 s.');
    await new Promise(resolve => setTimeout(resolve, 2));
  }
}

/** Memory of a process that is in use, in MB of 10^6 bytes: now, and at most since it began. */
export async function memoryOf(pid: number): Promise<{ nowMb: number; mostMb: number }> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  const megabytes = (field: string) => (Number(new RegExp(`${field}:\\s+(\\d+)`).exec(status)?.[1]) * 1024) / 1e6;
  return { nowMb: megabytes('VmRSS'), mostMb: megabytes('VmHWM') };
}
