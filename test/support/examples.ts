import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { createAccount } from '../../src/access/accounts/accounts.ts';
import { type TestClock, testClock } from '../../src/lib/clock.ts';
import type { Example, Route } from '../../src/lib/http/route.ts';
import type { NewAccount } from '../../src/model/account.ts';
import { query } from '../../src/model/schema.ts';
import { routes } from '../../src/views/api.ts';
import { ExampleIds } from './example-ids.ts';
import { send, serve, type TestService } from './serving.ts';

/** An example of a route, sent to a server, with its response. */
export interface SentExample {
  readonly route: Route<never>;
  readonly example: Example;
  readonly status: number;
  readonly headers: Headers;
  readonly contentType: string;
  readonly text: string;
  /** The body as JSON; of a stream, the first message. `undefined` without a body. */
  readonly body: unknown;
}

/** The store that the examples are sent to. */
export interface ExampleStore {
  readonly serving: TestService;
  readonly clock: TestClock;
  readonly baseUrl: string;
  /** The real URL for `https://receiver.example` in requests and responses. */
  readonly receiverUrl: string;
  /** The tokens of the callers. */
  readonly keys: Readonly<Record<CallerName, string>>;
  /** The ids of the resources, in a store that several examples share. */
  readonly ids?: ExampleIds;
}

export type CallerName = 'owner' | NonNullable<Example['as']>;

/** The time of all examples: their clock does not move. */
export const examplesAt = Date.parse('2026-11-21T12:00:00Z');

/** The owner's pets in the example store, with the ids 1 to 4. */
const pets = [
  { name: 'Minka', categoryId: 2, price: { amount: 12_500, currency: 'EUR' } },
  { name: 'Moritz', categoryId: 2 },
  { name: 'Rex', categoryId: 1 },
  { name: 'Bella', categoryId: 1, status: 'sold' },
];

/** Opens a new example store. Its ids and times are the same each time. */
export async function openExampleStore(
  options: { readonly port?: number; readonly environment?: Readonly<Record<string, string>> } = {},
): Promise<ExampleStore> {
  const { port = 0, environment } = options;
  const clock = testClock(examplesAt);
  const receiver = await openReceiver();
  const served = await serve({
    clock,
    environment: {
      PETSTORE_PORT: `${port}`,
      PETSTORE_STAGING_PORT: '',
      PETSTORE_WEBHOOK_NETWORKS: '127.0.0.1',
      ...environment,
    },
  });
  const serving: TestService = {
    ...served,
    async stop() {
      await served.stop();
      receiver.close();
    },
  };
  const newAccountKey = async (account: Pick<NewAccount, 'email' | 'name' | 'admin'>) => {
    const agreed = { plan: 'enterprise', perMinute: 1_000_000, perDay: 1_000_000 } as const;
    const { id } = await serving.app.databases.production.write(tx => createAccount(tx, { ...account, ...agreed }));
    return (await serving.newKey({ accountId: id })).token;
  };
  const owner = await newAccountKey({ email: 'jo@example.org', name: 'Jo' });
  const keys = {
    owner,
    admin: await newAccountKey({ email: 'admin@example.org', name: 'An admin', admin: true }),
    stranger: (await serving.newKey()).token,
  };
  const baseUrl = serving.urls.production;
  await addPets(baseUrl, owner);
  return { serving, clock, baseUrl, receiverUrl: receiver.url, keys };
}

/** Returns the store with new resources for further examples, as in a store of their own: without an organization. */
export async function anew(store: ExampleStore): Promise<ExampleStore> {
  const { body: account } = await send(`${store.baseUrl}/account`, { key: store.keys.owner });
  await send(`${store.baseUrl}/organizations/${account.id}`, { method: 'DELETE', key: store.keys.owner });
  return { ...store, ids: new ExampleIds(await addPets(store.baseUrl, store.keys.owner)) };
}

/** Adds the owner's pets, and returns their ids. */
async function addPets(baseUrl: string, owner: string): Promise<string[]> {
  const ids: string[] = [];
  for (const body of pets) {
    const reply = await send(`${baseUrl}/pets`, { method: 'POST', key: owner, body });
    if (reply.status !== 201) throw new Error(`${body.name} could not be added: ${reply.text}`);
    ids.push(String(reply.body.id));
  }
  return ids;
}

/** Opens the receiver of the webhooks in examples. It accepts everything except requests to `/missing`. */
async function openReceiver() {
  const server = createServer((request, response) => {
    request.resume();
    if (request.url === '/missing')
      response.writeHead(404, { 'content-type': 'text/plain' }).end('There is nothing here.');
    else response.writeHead(204).end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

/** The documented address of the store. */
const STORE = 'http://localhost:8080';
/** The documented URL of the receiver. */
const RECEIVER = 'https://receiver.example';

/**
 * Sends every example of every route. Each one gets a store with only the requests in its `given`, so that its response is
 * the same each time.
 * @param options.port the port of each store
 * @param options.where selects examples
 * @param options.through the base URL of a proxy in front of the store
 */
export async function sendExamples(
  options: {
    readonly port?: number;
    readonly through?: string;
    where?(route: Route<never>, example: Example): boolean;
  } = {},
): Promise<SentExample[]> {
  const sent: SentExample[] = [];
  let store: ExampleStore | undefined;
  try {
    for (const route of routes as readonly Route<never>[]) {
      for (const example of route.examples) {
        if (options.where?.(route, example) === false) continue;
        store ??= await openExampleStore(options);
        const reached = { ...store, baseUrl: options.through ?? store.baseUrl };
        await prepare(example, reached);
        const response = await sendExample(route, example, reached);
        sent.push(response);
        const unchanged = example.given === undefined && (route.method === 'GET' || response.status >= 400);
        if (unchanged) continue;
        await store.serving.stop();
        store = undefined;
      }
    }
  } finally {
    await store?.serving.stop();
  }
  return sent;
}

/**
 * Sends the requests that an example has in `given`.
 * @throws when a response has another status than its own example says
 */
export async function prepare(example: Example, store: ExampleStore): Promise<void> {
  // An account has one import at a time, and an earlier example may have begun one.
  await untilImported(store);
  for (const name of example.given ?? []) {
    const [route, given] = exampleNamed(name);
    const { status, body } = await sendExample(route, given, store);
    // In a store that is used for several examples, a PUT may replace what an earlier one has created.
    const replaced = route.method === 'PUT' && given.status === 201 && status === 200;
    if (status !== given.status && !replaced) {
      throw new Error(`"${name}", given for "${example.name}", returns ${status}: ${JSON.stringify(body)}`);
    }
  }
  await untilDelivered(store);
  await untilImported(store);
  await store.serving.app.usage.write();
}

/** Waits until every message is in an inbox, so that later responses do not depend on timing. */
export async function untilDelivered({ serving }: ExampleStore): Promise<void> {
  for (let tries = 0; tries < 1000; tries++) {
    if ((await serving.app.databases.production.first(anyQueued, {})) === undefined) return;
    await pause(5);
  }
  throw new Error('A message was not delivered.');
}

const anyQueued = query(db => db.selectFrom('messages').select('id').where('status', '=', 'queued').limit(1));

/** Waits until every import has ended, likewise. */
export async function untilImported({ serving }: ExampleStore): Promise<void> {
  for (let tries = 0; tries < 1000; tries++) {
    if ((await serving.app.databases.production.first(anyImported, {})) === undefined) return;
    await pause(5);
  }
  throw new Error('An import did not end.');
}

const anyImported = query(db => db.selectFrom('imports').select('id').where('due_at', 'is not', null).limit(1));

/**
 * Sends one example.
 * @param more additional headers
 */
export async function sendExample(
  route: Route<never>,
  example: Example,
  store: ExampleStore,
  more: Readonly<Record<string, string>> = {},
): Promise<SentExample> {
  const { path, headers, body, file } = requestOf(route, store.ids?.translate(example) ?? example, store.keys);
  const response = await fetch(store.baseUrl + path, {
    method: route.method,
    headers: { ...headers, ...more },
    ...(body !== undefined && { body: body.replaceAll(RECEIVER, store.receiverUrl) }),
    ...(file !== undefined && { body: Buffer.from(file.base64, 'base64') }),
  });
  const received = route.streams && response.ok ? await firstMessage(response) : await response.text();
  const { origin } = new URL(store.baseUrl);
  const text = received.replaceAll(store.receiverUrl, RECEIVER).replaceAll(origin, STORE);
  const sent = {
    route,
    example,
    status: response.status,
    headers: response.headers,
    contentType: response.headers.get('content-type') ?? '',
    text,
    body: bodyOf(route, response, text),
  };
  store.ids?.learn(sent);
  return sent;
}

/** Returns the JSON of a response, or of the first message of a stream; the text of a file. */
function bodyOf(route: Route<never>, response: Response, text: string): unknown {
  if (isFile(response.headers.get('content-type'))) return text;
  if (text === '') return undefined;
  return JSON.parse(route.streams && response.ok ? /^data: (.*)$/m.exec(text)![1]! : text);
}

/** Reports whether the body of a response is a file in place of JSON. */
export function isFile(contentType: string | null): boolean {
  return contentType !== null && /^(application\/(octet-stream|x-ndjson)|text\/csv)/.test(contentType);
}

/** Returns the text of a stream up to and including its first message. */
async function firstMessage(response: Response): Promise<string> {
  let text = '';
  for await (const part of response.body!.pipeThrough(new TextDecoderStream())) {
    text += part;
    if (/\ndata: .*\n\n$/.test(text)) break;
  }
  return text;
}

/** Returns the request of an example: path and query, headers with lower-case names, and the body's text. */
function requestOf(
  route: Pick<Route<never>, 'path'>,
  { path, query, headers, body, file, as }: Example,
  keys: ExampleStore['keys'],
): { path: string; headers: Record<string, string>; body: string | undefined; file: Example['file'] } {
  const filled = route.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => path?.[name] ?? '');
  const own = Object.entries(headers ?? {}).map(([name, value]) => [name.toLowerCase(), value] as const);
  return {
    path: query === undefined ? filled : `${filled}?${query}`,
    headers: {
      authorization: `Bearer ${keys[as ?? 'owner']}`,
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...(file !== undefined && { 'content-type': file.contentType }),
      ...Object.fromEntries(own),
    },
    body: body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body),
    file,
  };
}

/** Returns the example with the name `operation: name`, with its route. */
function exampleNamed(name: string): [Route<never>, Example] {
  const [operation, wanted] = name.split(': ');
  const route = (routes as readonly Route<never>[]).find(one => one.operationId === operation);
  const example = route?.examples.find(one => one.name === wanted);
  if (route === undefined || example === undefined) throw new Error(`There is no example "${name}".`);
  return [route, example];
}

/** The file of the recorded responses, which the OpenAPI document uses as examples. */
export const responsesFile = new URL('../../src/views/generated/recorded-responses.json', import.meta.url);

/** Returns the text of that file for these responses, without those that have no body. */
export function recordedResponses(sent: readonly SentExample[]): string {
  const responses = Object.fromEntries(routes.map(({ operationId }) => [operationId, {} as Record<string, unknown>]));
  for (const { route, example, contentType, body } of sent) {
    if (!isFile(contentType)) responses[route.operationId]![example.name] = body;
  }
  return `${JSON.stringify(responses, steady, 2)}\n`;
}

/** The origin of requests in entries of the audit log. */
const fixed = { keyId: 'q7Zc1Lw0aPdT', requestId: 'c9l5z4GqHAJE-4', address: '192.0.2.1' };

/** Replaces values that differ each time with fixed ones. */
function steady(member: string, value: unknown): unknown {
  if (member in fixed && typeof value === 'string') return fixed[member as keyof typeof fixed];
  if (member === 'secret' && typeof value === 'string') return 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLwSwcTRmvxDpmbQ=';
  return member === 'durationMs' && typeof value === 'number' ? 38 : value;
}

/** Returns the current text of that file. */
export function readResponsesFile(): Promise<string> {
  return readFile(responsesFile, 'utf8');
}
