import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { Agent, type IncomingHttpHeaders, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after } from 'node:test';
import { createAccount } from '../../src/access/accounts/accounts.ts';
import { createKey } from '../../src/access/keys/keys.ts';
import { type Clock, systemClock } from '../../src/lib/clock.ts';
import { openLog } from '../../src/lib/log.ts';
import { type App, createApp } from '../../src/main/app.ts';
import { readConfig } from '../../src/model/config.ts';
import type { IssuedKey, NewKey } from '../../src/model/key.ts';
import type { PlanName } from '../../src/model/plan.ts';
import type { Database } from '../../src/model/schema.ts';
import { type Environment, jsonOf } from './commands.ts';
import { writeMigratedFile } from './migrated-file.ts';
import { postgresUrl, TIMEOUT_SCALE } from './postgres-url.ts';
import { temporaryDirectory } from './temporary-directory.ts';

/** The base URLs of the three addresses. */
export type Urls = Readonly<Record<'production' | 'staging' | 'messages', string>>;

/** The service in this process, with its own data directory. */
export interface TestService {
  readonly app: App;
  readonly urls: Urls;
  /** The file of production's database. */
  readonly file: string;
  /** All log lines. */
  readonly lines: readonly string[];
  /** Creates a key of a new account. The default plan is Enterprise with limits that no test reaches. */
  newKey(options?: KeyOptions): Promise<IssuedKey>;
  /** Stops the service and deletes its data. Idempotent. */
  stop(): Promise<void>;
}

/** Options of a new key. */
export interface KeyOptions extends Partial<Omit<NewKey, 'accountId'>> {
  readonly plan?: PlanName;
  readonly accountId?: number;
}

/** How to start the service in this process. */
export interface ServeOptions {
  readonly clock?: Clock;
  readonly environment?: Readonly<Record<string, string>>;
  /** Multiplies the timeouts of PostgreSQL; 1 for tests of its outages. */
  readonly timeoutScale?: number;
}

/** Starts the service in this process. Default settings, with every address on a free port. */
export async function serve(options: ServeOptions = {}): Promise<TestService> {
  const directory = await newDataDirectory(options.environment);
  const config = readConfig({
    ...freePorts,
    ...connectionsOf(options.environment),
    PETSTORE_DATA_DIR: directory,
    ...photosOf(options.environment),
    ...options.environment,
  });
  const lines: string[] = [];
  const app = await createApp({
    config,
    clock: options.clock ?? systemClock(),
    log: openLog({ level: config.logLevel, destination: { write: line => lines.push(line) } }),
    timeoutScale: options.timeoutScale ?? TIMEOUT_SCALE,
    environment: process.env,
    accessLog: config.accessLog ? { write: line => lines.push(line), dropped: 0 } : undefined,
    onFailed(error) {
      throw error;
    },
  });
  const urls = (await app.listen()) as Urls;
  let stopped: Promise<void> | undefined;
  return {
    app,
    urls,
    file: join(directory, 'production.db'),
    lines,
    newKey: keyOptions => newKey(app.databases.production, keyOptions),
    stop() {
      stopped ??= app.close().then(() => rm(directory, { recursive: true, force: true }));
      return stopped;
    },
  };
}

/** Creates a data directory. On the embedded engine, it has the migrated databases of both deployments. */
async function newDataDirectory(environment: Environment = {}): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'petstore-test-'));
  if (environment['PETSTORE_DATABASE_URL'] === undefined) {
    for (const file of ['production.db', 'staging.db']) await writeMigratedFile(join(directory, file));
  }
  return directory;
}

/** Names the directory of photos that the nodes of a PostgreSQL database share, unless they have a bucket. */
function photosOf({ PETSTORE_DATABASE_URL: url, PETSTORE_PHOTOS_S3_URL: bucket }: Environment = {}): Environment {
  if (url === undefined || bucket !== undefined) return {};
  return { PETSTORE_PHOTOS_DIRECTORY: photoDirectories.getOrInsertComputed(url, temporaryDirectory) };
}

const photoDirectories = new Map<string, string>();

let accounts = 0;

/** Creates a key, and an account if none is given. */
export async function newKey(
  registry: Database,
  { plan = 'enterprise', accountId, deployment = 'production', ...key }: KeyOptions = {},
): Promise<IssuedKey> {
  const agreed = plan === 'enterprise' ? { perMinute: 1_000_000_000, perDay: 1_000_000_000 } : {};
  return registry.write(async tx => {
    const email = `caller-${++accounts}@example.org`;
    const account = accountId ?? (await createAccount(tx, { email, name: 'A caller', plan, ...agreed })).id;
    return createKey(tx, { accountId: account, deployment, ...key });
  });
}

/** The service in a process of its own. */
export interface Process {
  readonly child: ChildProcess;
  /** Its data directory. */
  readonly directory: string;
  readonly urls: Urls;
  /** Returns everything that it wrote to standard error. */
  log(): string;
  /** Runs a command in this process, on the same data, and returns its JSON output. */
  petstore(...args: string[]): Promise<Record<string, unknown>>;
  /** Stops it and returns its exit code or signal. Idempotent. */
  stop(signal?: NodeJS.Signals): Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
  /** Deletes its data. The process must have ended. */
  remove(): Promise<void>;
}

/** The processes that run. Those that a failed test leaves end with its file: it would wait for them forever. */
const running = new Set<ChildProcess>();
const endAll = () => {
  for (const child of running) child.kill('SIGKILL');
};
process.once('exit', endAll);
if (process.env['NODE_TEST_CONTEXT'] !== undefined) after(endAll);

/**
 * Starts the service in a process, through the launcher, on `directory` or a new one. Starts it again, as a supervisor does,
 * while a busy machine leaves PostgreSQL no time to respond.
 */
export async function spawnService(
  options: { readonly directory?: string; readonly environment?: Environment } = {},
): Promise<Process> {
  const directory = options.directory ?? (await newDataDirectory(options.environment));
  for (let restarts = 0; ; restarts++) {
    try {
      return await spawnOnce(directory, options.environment);
    } catch (error) {
      if (restarts === RESTARTS_MAX || !/did not (respond in time|confirm the commit)/.test(String(error))) throw error;
    }
  }
}

const RESTARTS_MAX = 10;

async function spawnOnce(directory: string, environment: Environment = {}): Promise<Process> {
  const env: Environment = {
    ...process.env,
    ...freePorts,
    ...connectionsOf(environment),
    PETSTORE_DATA_DIR: directory,
    ...photosOf(environment),
    ...environment,
  };
  const launcher = new URL('../../bin/petstore', import.meta.url).pathname;
  const child = spawn(launcher, ['serve', '--json'], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  const exited = once(child, 'exit') as Promise<[number | null, NodeJS.Signals | null]>;
  running.add(child);
  child.once('exit', () => running.delete(child));
  let log = '';
  child.stderr.setEncoding('utf8').on('data', text => {
    log += text;
  });
  const [line] = (await Promise.race([
    once(createInterface(child.stdout), 'line'),
    exited.then(([code]) => Promise.reject(new Error(`serve ended with ${code}: ${log}`))),
  ])) as [string];
  return {
    child,
    directory,
    urls: JSON.parse(line),
    log: () => log,
    petstore: (...args) => jsonOf(env, ...args),
    async stop(signal = 'SIGTERM') {
      if (child.exitCode === null && child.signalCode === null) child.kill(signal);
      const [code, by] = await exited;
      return { code, signal: by };
    },
    remove: () => rm(directory, { recursive: true, force: true }),
  };
}

/** Creates a key with limits that no test reaches, by command, and returns its token. */
export async function newProcessKey(service: Process, plan: PlanName = 'enterprise'): Promise<string> {
  const agreed = plan === 'enterprise' ? ['--per-minute', '1000000', '--per-day', '1000000000'] : [];
  const email = `caller-${++accounts}@example.org`;
  const account = await service.petstore(
    'account',
    'create',
    '--email',
    email,
    '--name',
    'A caller',
    '--plan',
    plan,
    ...agreed,
  );
  const key = await service.petstore('key', 'create', '--account', String(account['id']), '--deployment', 'production');
  return String(key['token']);
}

const freePorts = { PETSTORE_PORT: '0', PETSTORE_STAGING_PORT: '0', PETSTORE_MESSAGES_PORT: '0' };

/** All test files that run at the same time share the connections of the test server: of four, each may run three nodes. */
function connectionsOf({ PETSTORE_DATABASE_URL: url }: Environment = {}): Environment {
  const isShared = url !== undefined && new URL(url).host === new URL(postgresUrl).host;
  return isShared ? { PETSTORE_DATABASE_CONNECTIONS: '5' } : {};
}

/** A complete response. */
export interface Reply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** All values of every header, by lower-case name. */
  readonly all: Readonly<Record<string, readonly string[]>>;
  readonly text: string;
  /** The body as JSON; `undefined` if it is not JSON. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into it as they know it
  readonly body: any;
}

/** What to send, apart from the URL. */
export interface SendOptions {
  readonly method?: string;
  readonly key?: { readonly token: string } | string;
  /** An empty value removes a default header. */
  readonly headers?: Readonly<Record<string, string | string[]>>;
  /** Objects are sent as JSON, text and bytes unchanged, all as `application/json` unless the headers differ. */
  readonly body?: unknown;
  readonly agent?: Agent;
}

const sharedAgent = new Agent({ keepAlive: true, maxSockets: 64 });

/** Sends a request and returns the complete response. */
export async function send(url: string, sending: SendOptions = {}): Promise<Reply> {
  const { method = 'GET', key, headers = {}, body, agent = sharedAgent } = sending;
  const bytes = body === undefined ? undefined : bytesOf(body);
  const all: Record<string, string | string[]> = {};
  if (key !== undefined) all['Authorization'] = `Bearer ${typeof key === 'string' ? key : key.token}`;
  if (bytes !== undefined) {
    all['Content-Type'] = 'application/json';
    all['Content-Length'] = String(bytes.length);
  }
  for (const [name, value] of Object.entries(headers)) {
    for (const known of Object.keys(all)) if (known.toLowerCase() === name.toLowerCase()) delete all[known];
    if (value !== '') all[name] = value;
  }
  const { origin, host } = new URL(url);
  return new Promise((resolve, reject) => {
    const sent = request(origin, {
      method,
      path: url.slice(origin.length) || '/',
      headers: { Host: host, ...all },
      agent,
    });
    sent.on('error', reject);
    sent.on('response', response => {
      const parts: Buffer[] = [];
      response.on('data', part => parts.push(part));
      response.on('error', reject);
      response.on('end', () => {
        const text = Buffer.concat(parts).toString('utf8');
        resolve({
          status: response.statusCode!,
          headers: response.headers,
          all: response.headersDistinct as Record<string, string[]>,
          text,
          body: parseJson(text),
        });
      });
    });
    sent.end(bytes);
  });
}

function bytesOf(body: unknown): Buffer {
  if (Buffer.isBuffer(body)) return body;
  return Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The responses on a raw connection. */
export interface RawReplies {
  readonly replies: readonly RawReply[];
  /** The bytes after the last complete response. */
  readonly rest: string;
  /** Whether the server closed the connection before the timeout. */
  readonly closed: boolean;
}

/** A response on a raw connection. */
export interface RawReply {
  readonly status: number;
  /** By lower-case name. The values of repeated headers are joined with commas. */
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into it as they know it
  readonly body: any;
}

/**
 * Writes bytes to a new connection, in the given pieces, and reads responses until the server closes it, `count`
 * responses have arrived, or `waitMs` have passed without data.
 */
export async function sendRaw(
  url: string,
  pieces: string | Buffer | readonly (string | Buffer)[],
  { count = Number.POSITIVE_INFINITY, waitMs = 3000, end = false, heads = false } = {},
): Promise<RawReplies> {
  const socket = dial(url);
  const parts: Buffer<ArrayBufferLike>[] = [];
  let closed = false;
  await new Promise<void>(resolve => {
    const done = () => {
      socket.destroy();
      resolve();
    };
    socket.setTimeout(waitMs, done);
    socket.on('data', (part: Buffer) => {
      parts.push(part);
      if (count < Number.POSITIVE_INFINITY && parseReplies(Buffer.concat(parts), heads).replies.length >= count) done();
    });
    socket.on('end', () => {
      closed = true;
      done();
    });
    socket.on('error', () => {
      closed = true;
      done();
    });
    socket.on('close', done);
    for (const piece of [pieces].flat()) {
      socket.write(typeof piece === 'string' ? Buffer.from(piece, 'latin1') : piece);
    }
    if (end) socket.end();
  });
  return { ...parseReplies(Buffer.concat(parts), heads), closed };
}

/** Opens a raw connection to the address of a URL. */
export function dial(url: string): Socket {
  const { hostname, port } = new URL(url);
  return connect({ port: Number(port), host: hostname === 'localhost' ? '127.0.0.1' : hostname, noDelay: true });
}

/** Splits bytes into responses by their lengths, without interim responses (1xx). */
export function parseReplies(bytes: Buffer, heads = false): { replies: RawReply[]; rest: string } {
  const replies: RawReply[] = [];
  let from = 0;
  while (true) {
    const headEnd = bytes.indexOf('\r\n\r\n', from);
    if (headEnd < 0) break;
    const [statusLine = '', ...lines] = bytes.toString('latin1', from, headEnd).split('\r\n');
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(statusLine)?.[1]);
    if (Number.isNaN(status)) break;
    const headers: Record<string, string> = {};
    for (const line of lines) {
      const colon = line.indexOf(':');
      const name = line.slice(0, colon).toLowerCase();
      const value = line.slice(colon + 1).trim();
      headers[name] = name in headers ? `${headers[name]}, ${value}` : value;
    }
    const isEmpty = heads || status < 200 || status === 204 || status === 304;
    const length = isEmpty
      ? 0
      : headers['transfer-encoding']
        ? chunksLength(bytes, headEnd + 4)
        : Number(headers['content-length']);
    if (!(bytes.length >= headEnd + 4 + length)) break;
    from = headEnd + 4 + length;
    const text = bytes.toString('utf8', headEnd + 4, from);
    if (status >= 200) replies.push({ status, headers, text, body: parseJson(text) });
  }
  return { replies, rest: bytes.toString('latin1', from) };
}

/** Returns the length of a body in chunks, which are not decoded; NaN while it is not complete. */
function chunksLength(bytes: Buffer, from: number): number {
  const last = '\r\n0\r\n\r\n';
  const index = bytes.indexOf(last, from - 2);
  return index < 0 ? Number.NaN : index + last.length - from;
}

/**
 * Asserts what every response of the API must have: rate limit headers, a request id, and an Error unless it is a
 * success.
 */
export function assertApiResponse(
  reply: { status: number; headers: Readonly<Record<string, unknown>>; text: string; body: unknown },
  what = '',
): void {
  const note = `${what} ${reply.status} ${JSON.stringify(reply.headers)} ${reply.text.slice(0, 300)}`;
  const number = (name: string) => {
    assert.match(String(reply.headers[name]), /^\d+$/, `${name} in ${note}`);
    return Number(reply.headers[name]);
  };
  const limit = number('x-ratelimit-limit');
  const remaining = number('x-ratelimit-remaining');
  const reset = number('x-ratelimit-reset');
  assert.ok(limit >= 1 && remaining <= limit, `a remainder within the limit in ${note}`);
  assert.ok(reset > 1_500_000_000 && reset < 10_000_000_000, `a reset in Unix seconds in ${note}`);
  assert.match(
    String(reply.headers['ratelimit-policy']),
    /^"minute";q=\d+;w=60(, "day";q=\d+;w=86400)?(, "key-(minute|day)";q=\d+;w=\d+)*$/,
    note,
  );
  assert.match(
    String(reply.headers['ratelimit']),
    /^"minute";r=\d+;t=\d+(, "day";r=\d+;t=\d+)?(, "key-(minute|day)";r=\d+;t=\d+)*$/,
    note,
  );
  assert.match(String(reply.headers['x-request-id']), /^[\w.~+/=:-]{1,128}$/, note);
  if (reply.status === 429) assert.match(String(reply.headers['retry-after']), /^[1-9]\d*$/, note);
  if (reply.status === 401) assert.equal(reply.headers['www-authenticate'], 'Bearer', note);
  const isProblem = String(reply.headers['content-type']).startsWith('application/problem+json');
  if (reply.status >= 400 && reply.text !== '' && !isProblem) assertError(reply, note);
}

/** Asserts that the body is an Error object without undocumented members. */
export function assertError(reply: { status: number; body: unknown }, note = ''): void {
  const body = reply.body as Record<string, unknown>;
  assert.equal(typeof body, 'object', note);
  const members = Object.keys(body).join();
  assert.ok(members === 'code,message,status' || members === 'code,message,status,errors', `${members} in ${note}`);
  assert.match(String(body['code']), /^[a-z]+(_[a-z]+)*$/, note);
  assert.ok(typeof body['message'] === 'string' && body['message'] !== '', note);
  assert.equal(body['status'], reply.status, note);
}
