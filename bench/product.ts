import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { systemClock } from '../src/lib/clock.ts';
import { openPostgres } from '../src/lib/storage/postgres/database.ts';
import { openSqlite } from '../src/lib/storage/sqlite/database.ts';
import { migrations } from '../src/model/migrations/index.ts';
import type { Database } from '../src/model/schema.ts';
import { fillDatabase } from './fill.ts';
import { cores, type Running, run, start } from './processes.ts';
import { temporaryDirectory } from './temporary-directory.ts';

export const launcher = new URL('../bin/petstore', import.meta.url).pathname;

/** A data directory with pets in production, and an API key. */
export interface Store extends Disposable {
  readonly pets: number;
  /** Ids of available pets, possibly not all of them. */
  readonly available: readonly number[];
  /** The data directory, removed with the store. */
  readonly directory: string;
  /** An enterprise key with 10^9 requests per minute and day: each request is checked and counted, and none is rejected. */
  readonly token: string;
  readonly env: NodeJS.ProcessEnv;
}

/**
 * Creates a store with the command line, as an operator would, and fills its database while no server runs.
 * @param options.databaseUrl an empty PostgreSQL database to use in place of SQLite
 * @param options.filling options of `fillDatabase`
 */
export async function createStore(
  pets: number,
  { databaseUrl, filling }: { databaseUrl?: string; filling?: Parameters<typeof fillDatabase>[3] } = {},
): Promise<Store> {
  const files = temporaryDirectory();
  const directory = files.path;
  const env = storeEnvironment(directory, databaseUrl);
  try {
    if (databaseUrl !== undefined) await run(cores.load, [launcher, 'migrate'], { env });
    const { accountId, token } = await createKey(launcher, env);
    const database = await openDatabase(directory, databaseUrl);
    const available = await fillDatabase(database, accountId, pets, filling);
    await database.close();
    return { pets, available, directory, token, env, [Symbol.dispose]: files[Symbol.dispose] };
  } catch (error) {
    files[Symbol.dispose]();
    throw error;
  }
}

/** Returns the environment of a server with a data directory and any free ports. */
export function storeEnvironment(directory: string, databaseUrl?: string): NodeJS.ProcessEnv {
  return {
    ...process.env,
    PETSTORE_DATA_DIR: directory,
    PETSTORE_PORT: '0',
    PETSTORE_STAGING_PORT: '0',
    PETSTORE_MESSAGES_PORT: '0',
    ...(databaseUrl !== undefined && { PETSTORE_DATABASE_URL: databaseUrl }),
  };
}

/** Creates an enterprise account, whose limits no load reaches, and its API key. */
export async function createKey(
  launcher: string,
  env: NodeJS.ProcessEnv,
  email = 'bench@example.org',
): Promise<{ readonly accountId: number; readonly token: string }> {
  const petstore = async (...command: string[]) =>
    JSON.parse(await run(cores.load, [launcher, ...command, '--json'], { env }));
  const limits = ['--plan', 'enterprise', '--per-minute', '1000000000', '--per-day', '1000000000'];
  const account = await petstore('account', 'create', '--email', email, '--name', 'Bench', ...limits);
  const { token } = await petstore('key', 'create', '--account', String(account.id));
  return { accountId: account.id, token };
}

/** Opens the database of a store that has no running server. */
export function openDatabase(directory: string, databaseUrl?: string): Promise<Database> {
  const silent = { info() {}, warn() {}, error() {} };
  const common = { migrations, clock: systemClock(), log: silent };
  return databaseUrl === undefined
    ? openSqlite({ ...common, file: join(directory, 'production.db'), role: 'server', onFailed: fail })
    : openPostgres({ ...common, url: databaseUrl, role: 'cli', migrate: false });
}

function fail(error: Error): never {
  throw error;
}

/** A running server of a store. */
export interface Product extends Running {
  readonly baseUrl: string;
  readonly token: string;
  readonly store: Store;
}

/** Starts the server of a store on the server core, with these settings in addition to the store's own. */
export async function startProduct(store: Store, settings: NodeJS.ProcessEnv = {}): Promise<Product> {
  const running = start(cores.server, [launcher, 'serve', '--json'], { env: { ...store.env, ...settings } });
  const { production } = JSON.parse(await running.firstLine);
  return { ...running, baseUrl: production.replace('localhost', '127.0.0.1'), token: store.token, store };
}

/**
 * Sends a request, a POST if there is a body, and returns the parsed response.
 * @param onHead called when the head of the response arrives
 * @throws when the response is an error
 */
export async function sendJson(
  { baseUrl, token }: Product,
  path: string,
  body?: object,
  onHead?: () => void,
): Promise<{ readonly id: number }> {
  return JSON.parse(await sendRequest({ baseUrl, token }, path, body, onHead));
}

/** Sends a request as `sendJson` does; returns the body of the response. */
export async function sendRequest(
  { baseUrl, token }: { readonly baseUrl: string; readonly token: string },
  path: string,
  body?: object,
  onHead?: () => void,
): Promise<string> {
  const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' };
  const response = await fetch(
    baseUrl + path,
    body === undefined ? { headers } : { method: 'POST', headers, body: JSON.stringify(body) },
  );
  onHead?.();
  const text = await response.text();
  if (!response.ok) throw new Error(`${path} returned ${response.status}: ${text}`);
  return text;
}

/** Returns the milliseconds from the start of `bin/petstore serve` to its first 200 for a list, then stops it. */
export async function timeStart(store: Store, port: number): Promise<number> {
  const startMs = performance.now();
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
      response => response.status,
      () => undefined,
    );
    if (status === 200) return performance.now() - startMs;
    if (status !== undefined) throw new Error(`The first response was ${status}.`);
    if (failure !== undefined) throw failure;
    if (performance.now() - startMs > 15_000) throw new Error('The server did not start within 15 s.');
    await new Promise(resolve => setTimeout(resolve, 2));
  }
}

/** Returns the current and the peak resident memory of a process, in MB of 10^6 bytes. */
export async function memoryOf(pid: number): Promise<{ currentMb: number; peakMb: number }> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  const megabytes = (field: string) => (Number(new RegExp(`${field}:\\s+(\\d+)`).exec(status)?.[1]) * 1024) / 1e6;
  return { currentMb: megabytes('VmRSS'), peakMb: megabytes('VmHWM') };
}
