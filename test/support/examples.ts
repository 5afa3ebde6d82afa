import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { createAccount } from '../../src/accounts/accounts.ts';
import { messageRoutes, operations } from '../../src/api.ts';
import { type TestClock, testClock } from '../../src/lib/clock.ts';
import type { Example, Route } from '../../src/lib/http/route.ts';
import { query } from '../../src/schema.ts';
import { type Serving, send, serve } from './serving.ts';

/** An example of a route, sent for real, with what came back. */
export interface SentExample {
  readonly route: Route<never>;
  readonly example: Example;
  readonly status: number;
  readonly headers: Headers;
  readonly contentType: string;
  readonly text: string;
  /** The answer's JSON, of a stream that of its first message; `undefined` where it has no body. */
  readonly body: unknown;
}

/** A store as the examples find it. */
export interface ExampleStore {
  readonly serving: Serving;
  readonly clock: TestClock;
  readonly baseUrl: string;
  /** The base address of the operations on messages. */
  readonly messagesUrl: string;
  /** What stands in the place of `https://receiver.example` in what is sent and answered. */
  readonly receiverUrl: string;
  /** The tokens of those who ask. */
  readonly keys: Readonly<Record<'owner' | NonNullable<Example['as']>, string>>;
}

/** When all examples happen: a clock that stands still. */
export const examplesAt = Date.parse('2026-11-21T12:00:00Z');

/** The animals of the owner in the store of the examples, with the ids 1 to 4. */
const animals = [
  { name: 'Minka', categoryId: 2, price: { amount: 12_500, currency: 'EUR' } },
  { name: 'Moritz', categoryId: 2 },
  { name: 'Rex', categoryId: 1 },
  { name: 'Bella', categoryId: 1, status: 'sold' },
];

/** Opens a new store with the animals of the examples; the same each time, to the ids and times. */
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
  const serving: Serving = {
    ...served,
    async stop() {
      await served.stop();
      receiver.close();
    },
  };
  const owner = (await serving.newKey()).token;
  const { id } = await serving.app.databases.production.write(tx =>
    createAccount(tx, {
      email: 'admin@example.org',
      name: 'An admin',
      admin: true,
      plan: 'enterprise',
      perMinute: 1_000_000,
      perDay: 1_000_000,
    }),
  );
  const keys = {
    owner,
    admin: (await serving.newKey({ accountId: id })).token,
    stranger: (await serving.newKey()).token,
  };
  const baseUrl = serving.urls.production;
  for (const body of animals) {
    const { status, text } = await send(`${baseUrl}/pets`, { method: 'POST', key: owner, body });
    if (status !== 201) throw new Error(`${body.name} is not there: ${text}`);
  }
  return { serving, clock, baseUrl, messagesUrl: serving.urls.messages, receiverUrl: receiver.url, keys };
}

/** The receiver of the webhooks in examples: takes everything, but at `/missing`. */
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

/** Where the examples' receiver is, as people read it. */
const RECEIVER = 'https://receiver.example';

/**
 * Sends every example of every route, each to a store in which nothing happened but what it says was there before; so
 * every answer is the same each time.
 * @param options.port where each store listens
 * @param options.where which ones, where not all
 * @param options.through the base address to call instead of the store's own: something that passes requests on to it
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
    for (const route of operations as readonly Route<never>[]) {
      for (const example of route.examples) {
        if (options.where?.(route, example) === false) continue;
        store ??= await openExampleStore(options);
        const reached = { ...store, baseUrl: options.through ?? store.baseUrl };
        await prepare(example, reached);
        const answer = await sendExample(route, example, reached);
        sent.push(answer);
        const unchanged = example.given === undefined && (route.method === 'GET' || answer.status >= 400);
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
 * Asks everything that an example says was asked before.
 * @throws when one of it is not answered as it says itself
 */
export async function prepare(example: Example, store: ExampleStore): Promise<void> {
  for (const name of example.given ?? []) {
    const [route, given] = exampleNamed(name);
    const { status, body } = await sendExample(route, given, store);
    if (status !== given.status) {
      throw new Error(`"${name}", given for "${example.name}", answers ${status}: ${JSON.stringify(body)}`);
    }
  }
  await untilDelivered(store);
}

/** Waits until every message that was sent has come into an inbox: what is asked then has one answer. */
export async function untilDelivered({ serving }: ExampleStore): Promise<void> {
  for (let tries = 0; tries < 1000; tries++) {
    if ((await serving.app.databases.production.first(anyQueued, {})) === undefined) return;
    await pause(5);
  }
  throw new Error('A message is not delivered.');
}

const anyQueued = query(db => db.selectFrom('messages').select('id').where('status', '=', 'queued').limit(1));

/** The base address at which a route is served. */
export function baseUrlOf(route: Route<never>, { baseUrl, messagesUrl }: ExampleStore): string {
  return messageRoutes.some(({ operationId }) => operationId === route.operationId) ? messagesUrl : baseUrl;
}

/**
 * Sends one example.
 * @param more headers beside its own
 */
export async function sendExample(
  route: Route<never>,
  example: Example,
  store: ExampleStore,
  more: Readonly<Record<string, string>> = {},
): Promise<SentExample> {
  const { path, headers, body } = requestOf(route, example, store.keys);
  const response = await fetch(baseUrlOf(route, store) + path, {
    method: route.method,
    headers: { ...headers, ...more },
    ...(body !== undefined && { body: body.replaceAll(RECEIVER, store.receiverUrl) }),
  });
  const answered = route.streams && response.ok ? await firstMessage(response) : await response.text();
  const text = answered.replaceAll(store.receiverUrl, RECEIVER);
  return {
    route,
    example,
    status: response.status,
    headers: response.headers,
    contentType: response.headers.get('content-type') ?? '',
    text,
    body: text === '' ? undefined : JSON.parse(route.streams && response.ok ? /^data: (.*)$/m.exec(text)![1]! : text),
  };
}

/** What a stream tells up to its first message, that included. */
async function firstMessage(response: Response): Promise<string> {
  let text = '';
  for await (const part of response.body!.pipeThrough(new TextDecoderStream())) {
    text += part;
    if (/\ndata: .*\n\n$/.test(text)) break;
  }
  return text;
}

/** An example as a request: path and query below the base address, headers with lower-case names, and the body's text. */
function requestOf(
  route: Pick<Route<never>, 'path'>,
  { path, query, headers, body, as }: Example,
  keys: ExampleStore['keys'],
): { path: string; headers: Record<string, string>; body: string | undefined } {
  const filled = route.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => path?.[name] ?? '');
  const own = Object.entries(headers ?? {}).map(([name, value]) => [name.toLowerCase(), value] as const);
  return {
    path: query === undefined ? filled : `${filled}?${query}`,
    headers: {
      authorization: `Bearer ${keys[as ?? 'owner']}`,
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...Object.fromEntries(own),
    },
    body: body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body),
  };
}

/** The example that `operation: name` names, with its route. */
function exampleNamed(name: string): [Route<never>, Example] {
  const [operation, wanted] = name.split(': ');
  const route = (operations as readonly Route<never>[]).find(one => one.operationId === operation);
  const example = route?.examples.find(one => one.name === wanted);
  if (route === undefined || example === undefined) throw new Error(`There is no example "${name}".`);
  return [route, example];
}

/** Where the recorded answers stand, from which the OpenAPI document takes its examples. */
export const answersFile = new URL('../../src/generated/recorded-responses.json', import.meta.url);

/** The text of that file for the answers to all examples; those without a body are left out. */
export function answersText(sent: readonly SentExample[]): string {
  const answers = Object.fromEntries(operations.map(({ operationId }) => [operationId, {} as Record<string, unknown>]));
  for (const { route, example, body } of sent) answers[route.operationId]![example.name] = body;
  return `${JSON.stringify(answers, steady, 2)}\n`;
}

/** What is another one each time stands in the documentation as it was once. */
function steady(member: string, value: unknown): unknown {
  if (member === 'secret' && typeof value === 'string') return 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLwSwcTRmvxDpmbQ=';
  return member === 'durationMs' && typeof value === 'number' ? 38 : value;
}

/** The text of that file as it is. */
export function recordedAnswers(): Promise<string> {
  return readFile(answersFile, 'utf8');
}
