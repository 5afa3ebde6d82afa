import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { openFilesLimit, openStreams, type Streams } from './event-streams.ts';
import { insertBacklog } from './fill.ts';
import { load, type Measured } from './load.ts';
import type { Comparison, Effort } from './measure-requests.ts';
import { processorTimeOf } from './processes.ts';
import { createStore, memoryOf, openDatabase, type Product, type Store, sendJson, startProduct } from './product.ts';
import { interleave, type Rounds, summarize } from './rounds.ts';
import { createAtRate, waitFor } from './steady-load.ts';
import { activate, createWebhook, deactivate, type Receiver, startReceiver } from './webhook-receiver.ts';
import { createRow, peerRows } from './workloads.ts';

/** Allows webhooks to this machine, and any number of streams per account. */
const settings = { PETSTORE_WEBHOOK_NETWORKS: '127.0.0.1', PETSTORE_STREAMS_MAX: '1000000' };

/** Rate of creates while delivery latency is measured. */
const CHANGES_PER_SECOND = 100;

/** Measures the time from the response to a change until its webhook delivery arrives, by round. */
export async function measureLatency(store: Store, { progress, ...effort }: Effort): Promise<Measured[]> {
  progress('the time from a change to its receiver');
  await using receiver = await startReceiver();
  await using product = await startProduct(store, settings);
  await activate(product, await createWebhook(product, receiver));
  const results = [];
  for (let round = effort.warm ? -1 : 0; round < effort.rounds; round++) {
    const measured = await deliveryTimes(product, receiver, effort.seconds);
    if (round >= 0) results.push(measured);
  }
  return results;
}

/** Creates pets and measures the time from each response to its delivery. */
async function deliveryTimes(product: Product, { arrivals }: Receiver, seconds: number): Promise<Measured> {
  const responses = await createAtRate(product, CHANGES_PER_SECOND, CHANGES_PER_SECOND * seconds);
  const missing = () => [...responses.keys()].filter(id => !arrivals.has(id)).length;
  await waitFor(
    () => missing() === 0,
    () => `${missing()} of ${responses.size} changes were not delivered.`,
  );
  return summarize(
    Array.from(responses, ([id, respondedMs]) => arrivals.get(id)! - respondedMs),
    seconds,
  );
}

/** Measures deliveries per second of the whole log, to one receiver and to several, by round. The server is otherwise idle. */
export async function measureDeliveries(
  store: Store,
  { progress, ...effort }: Effort,
): Promise<Record<'one' | 'several', DeliveryRate[]>> {
  const results: Record<'one' | 'several', DeliveryRate[]> = { one: [], several: [] };
  await using product = await startProduct(store, settings);
  await using receivers = await startReceivers(RECEIVERS);
  const webhooks = [];
  for (const receiver of receivers.all) webhooks.push(await createWebhook(product, receiver));
  for (const [side, count] of [
    ['one', 1],
    ['several', RECEIVERS],
  ] as const) {
    progress(`deliveries to ${count === 1 ? 'one receiver' : `${count} receivers`}`);
    const used = webhooks.slice(0, count);
    for (const id of used) await activate(product, id);
    for (let round = effort.warm ? -1 : 0; round < effort.rounds; round++) {
      const rate = await measureRedelivery(product, used, receivers.all.slice(0, count), store.pets);
      if (round >= 0) results[side].push(rate);
    }
  }
  return results;
}

/** Throughput of webhook deliveries. */
export interface DeliveryRate {
  readonly perSecond: number;
  /** Deliveries per second of the server's processor time. */
  readonly perProcessorSecond: number;
}

/** Receivers in the measurement with several. */
export const RECEIVERS = 4;

/** Has every event delivered again and measures the rate. The first tenth of the deliveries does not count. */
async function measureRedelivery(
  product: Product,
  webhooks: readonly number[],
  receivers: readonly Receiver[],
  events: number,
): Promise<DeliveryRate> {
  const received = () => receivers.reduce((sum, one) => sum + one.received, 0);
  const before = received();
  const expected = events * webhooks.length;
  const since = new Date(Date.now() - 3_600_000).toISOString();
  for (const id of webhooks) await sendJson(product, `/webhooks/${id}/redeliveries`, { since });
  const waitForShare = (share: number) =>
    waitFor(
      () => received() - before >= expected * share,
      () => `${received() - before} of ${expected} deliveries arrived.`,
    );
  await waitForShare(0.1);
  const start = { ms: performance.now(), received: received(), processor: await processorTimeOf(product.pid) };
  await waitForShare(1);
  const count = received() - start.received;
  const seconds = (performance.now() - start.ms) / 1000;
  const processorSeconds = (await processorTimeOf(product.pid)) - start.processor;
  await waitUntilStable(received);
  return { perSecond: count / seconds, perProcessorSecond: count / processorSeconds };
}

/** Measures many subscribers at a low rate of changes and some at a high rate, and the memory that both need. */
export async function measureStreams(
  store: Store,
  subscribers: number,
  { seconds, progress }: Effort,
): Promise<{ many: StreamResult; some: StreamResult }> {
  const measure = async (count: number, perSecond: number) => {
    progress(`streams: ${count} subscribers, ${perSecond} changes per second`);
    await using product = await startProduct(store, settings);
    await using streams = await openStreams(product, count);
    await streamDelays(streams, await createAtRate(product, perSecond, perSecond * 2));
    const pets = Math.max(5, perSecond * seconds);
    const delays = await streamDelays(streams, await createAtRate(product, perSecond, pets));
    const { peakMb } = await memoryOf(product.pid);
    return { subscribers: count, changesPerSecond: perSecond, peakMb, ...summarize(delays, pets / perSecond) };
  };
  // Each subscriber needs an open file in both processes, and the server has other files open.
  const many = Math.min(subscribers, (await openFilesLimit()) - 200);
  return { many: await measure(many, 1), some: await measure(100, 100) };
}

/** The delays of the events at the subscribers of the stream. */
export interface StreamResult extends Measured {
  readonly subscribers: number;
  readonly changesPerSecond: number;
  /** Peak resident memory of the server. */
  readonly peakMb: number;
}

/** Waits until each subscriber has each change; returns the delays of all of them. */
async function streamDelays(streams: Streams, responses: ReadonlyMap<number, number>): Promise<number[]> {
  const expected = responses.size * streams.count;
  await waitFor(
    () => streams.arrivals.length >= expected,
    () => `${streams.arrivals.length} of ${expected} events reached their subscribers.`,
  );
  return streams.takeArrivals().map(({ pet, receivedMs }) => {
    const respondedMs = responses.get(pet);
    if (respondedMs === undefined)
      throw new Error(`Subscribers got an event of pet ${pet}, which was not created here.`);
    return receivedMs - respondedMs;
  });
}

/** Measures creates while each event goes to a webhook and a stream, and without either. */
export async function measureCreatesWithEvents(
  store: Store,
  { progress, ...effort }: Effort,
): Promise<Rounds<'delivered' | 'alone'>> {
  progress('creates while their events are delivered');
  await using receiver = await startReceiver();
  await using product = await startProduct(store, settings);
  const webhook = await createWebhook(product, receiver);
  const requests = createRow.requests(store.pets);
  const create = () => load(product, requests, effort.seconds);
  const sides = {
    async delivered() {
      await activate(product, webhook);
      await using _streams = await openStreams(product, 1);
      const measured = await create();
      await deactivate(product, webhook);
      return measured;
    },
    async alone() {
      // Requests that were already sent still arrive.
      await waitUntilStable(() => receiver.received);
      return create();
    },
  };
  return await interleave(sides, effort);
}

/** The workloads that are measured with a backlog and without. */
const backlogRows = peerRows.filter(({ name }) => name !== 'list');

/** The cost of a backlog of deliveries. */
export interface Backlog {
  readonly deliveries: number;
  readonly rows: readonly Comparison<'without' | 'with'>[];
  /** From a change to a healthy receiver; the backlog belongs to an unreachable one. */
  readonly latency: Rounds<'without' | 'with'>;
}

/**
 * Compares two servers: one with an unreachable webhook receiver and many due deliveries, each with its own ordering
 * key, and one with no deliveries. The server that is not measured is suspended.
 */
export async function measureBacklog(deliveries: number, { progress, ...effort }: Effort): Promise<Backlog> {
  progress(`two stores, one with ${deliveries} undelivered deliveries`);
  using withoutStore = await createStore(BACKLOG_PETS);
  using withStore = await createStore(BACKLOG_PETS);
  await addBacklog(withoutStore, 0);
  await addBacklog(withStore, deliveries);
  await using receivers = await startReceivers(2);
  await using without = await startProduct(withoutStore, settings);
  await using withBacklog = await startProduct(withStore, settings);
  const products = { without, with: withBacklog };
  using suspended = suspend(Object.values(products));
  const sides = (measure: (product: Product) => Promise<Measured>) => ({
    without: () => suspended.resume(products.without, measure),
    with: () => suspended.resume(products.with, measure),
  });

  progress('the next delivery beside undelivered ones');
  const healthy = new Map<Product, { webhook: number; receiver: Receiver }>();
  for (const [index, product] of Object.values(products).entries()) {
    const receiver = receivers.all[index]!;
    const webhook = await suspended.resume(product, () => createWebhook(product, receiver));
    healthy.set(product, { webhook, receiver });
    await suspended.resume(product, () => activate(product, webhook));
  }
  const latency = await interleave(
    sides(product => deliveryTimes(product, healthy.get(product)!.receiver, effort.seconds)),
    effort,
  );
  for (const [product, { webhook }] of healthy) await suspended.resume(product, () => deactivate(product, webhook));

  const rows = [];
  for (const row of backlogRows) {
    progress(`${row.title} beside undelivered deliveries`);
    const requests = row.requests(BACKLOG_PETS);
    rows.push({
      row,
      rounds: await interleave(
        sides(product => load(product, requests, effort.seconds)),
        effort,
      ),
    });
  }
  return { deliveries, rows, latency };
}

const BACKLOG_PETS = 10_000;

/** Creates a webhook with an unreachable receiver that failed last, and this many deliveries that are due now. */
async function addBacklog(store: Store, deliveries: number): Promise<void> {
  let webhookId: number;
  {
    await using receiver = await startReceiver();
    await using product = await startProduct(store, settings);
    webhookId = await createWebhook(product, receiver);
    await activate(product, webhookId);
  }
  const database = await openDatabase(store.directory);
  await insertBacklog(database, webhookId, store.pets, deliveries);
  await database.close();
}

/** Suspends the servers; `resume` lets one of them run during some work. */
function suspend(
  products: readonly Product[],
): { resume<T>(product: Product, work: (product: Product) => Promise<T>): Promise<T> } & Disposable {
  for (const { pid } of products) process.kill(pid, 'SIGSTOP');
  return {
    async resume(product, work) {
      process.kill(product.pid, 'SIGCONT');
      try {
        return await work(product);
      } finally {
        process.kill(product.pid, 'SIGSTOP');
      }
    },
    // A suspended process cannot handle the SIGTERM that ends it.
    [Symbol.dispose]() {
      for (const { pid } of products) process.kill(pid, 'SIGCONT');
    },
  };
}

/** Resolves when a count has not changed for 250 ms. */
async function waitUntilStable(count: () => number): Promise<void> {
  for (let before = -1; count() !== before; ) {
    before = count();
    await sleep(250);
  }
}

async function startReceivers(count: number): Promise<{ readonly all: readonly Receiver[] } & AsyncDisposable> {
  const all: Receiver[] = [];
  for (let n = 0; n < count; n++) all.push(await startReceiver());
  return {
    all,
    async [Symbol.asyncDispose]() {
      for (const one of all) await one[Symbol.asyncDispose]();
    },
  };
}
