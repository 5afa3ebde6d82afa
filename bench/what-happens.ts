import process from 'node:process';
import { setTimeout as pause } from 'node:timers/promises';
import { addEvenly, measuredOf, until } from './changes.ts';
import { fillDeliveries } from './fill.ts';
import { load, type Measured } from './load.ts';
import type { Effort, Found } from './measurements.ts';
import { processorTimeOf } from './processes.ts';
import { asked, makeStore, memoryOf, openData, type Product, type Store, startProduct } from './product.ts';
import { activate, deactivate, makeWebhook, type Receiver, startReceiver } from './receiver.ts';
import { createRow, peerRows } from './rows.ts';
import { filesMax, openStreams, type Streams } from './streams.ts';
import { inTurns, type Rounds } from './turns.ts';

/** What lets the product send to this machine, and an account have any number of streams. */
export const settings = { PETSTORE_WEBHOOK_NETWORKS: '127.0.0.1', PETSTORE_STREAMS_MAX: '1000000' };

/** How many changes a second there are where their deliveries are timed. */
export const CHANGES_A_SECOND = 100;

/** From the answer to a change until the receiver has its delivery, by round. */
export async function measureLatency(store: Store, { progress, ...effort }: Effort): Promise<Measured[]> {
  progress('from a change to its receiver');
  await using receiver = await startReceiver();
  await using product = await startProduct(store, settings);
  await activate(product, await makeWebhook(product, receiver));
  const found = [];
  for (let round = effort.warm ? -1 : 0; round < effort.rounds; round++) {
    const measured = await deliveredAfter(product, receiver, effort.seconds);
    if (round >= 0) found.push(measured);
  }
  return found;
}

/** How long after the answer to each of some changes its delivery came. */
async function deliveredAfter(product: Product, { arrivals }: Receiver, seconds: number): Promise<Measured> {
  const answers = await addEvenly(product, CHANGES_A_SECOND, CHANGES_A_SECOND * seconds);
  const missing = () => [...answers.keys()].filter(id => !arrivals.has(id)).length;
  await until(
    () => missing() === 0,
    () => `Of ${answers.size} changes ${missing()} were not delivered.`,
  );
  return measuredOf(
    Array.from(answers, ([id, answeredMs]) => arrivals.get(id)! - answeredMs),
    seconds,
  );
}

/** Deliveries a second of everything in the log to one receiver and to several, by round; there is nothing else to do. */
export async function measureDeliveries(
  store: Store,
  { progress, ...effort }: Effort,
): Promise<Record<'one' | 'several', Delivered[]>> {
  const found: Record<'one' | 'several', Delivered[]> = { one: [], several: [] };
  await using product = await startProduct(store, settings);
  await using receivers = await startReceivers(RECEIVERS);
  const webhooks = [];
  for (const receiver of receivers.all) webhooks.push(await makeWebhook(product, receiver));
  for (const [side, count] of [
    ['one', 1],
    ['several', RECEIVERS],
  ] as const) {
    progress(`deliveries to receivers: ${count}`);
    const used = webhooks.slice(0, count);
    for (const id of used) await activate(product, id);
    for (let round = effort.warm ? -1 : 0; round < effort.rounds; round++) {
      const delivered = await redelivered(product, used, receivers.all.slice(0, count), store.animals);
      if (round >= 0) found[side].push(delivered);
    }
  }
  return found;
}

/** How many deliveries there were in a second. */
export interface Delivered {
  readonly perSecond: number;
  /** In a second of processor time of the server, which was not always at it. */
  readonly perProcessorSecond: number;
}

/** How many receivers there are where there are several. */
export const RECEIVERS = 4;

/** Has all that ever happened delivered again; deliveries a second of those from the first tenth on. */
async function redelivered(
  product: Product,
  webhooks: readonly number[],
  receivers: readonly Receiver[],
  least: number,
): Promise<Delivered> {
  const received = () => receivers.reduce((sum, one) => sum + one.received, 0);
  const before = received();
  const all = least * webhooks.length;
  const since = new Date(Date.now() - 3_600_000).toISOString();
  for (const id of webhooks) await asked(product, `/webhooks/${id}/redeliveries`, { since });
  const came = (share: number) =>
    until(
      () => received() - before >= all * share,
      () => `Of ${all} deliveries ${received() - before} came.`,
    );
  await came(0.1);
  const [beganMs, began, busy] = [performance.now(), received(), await processorTimeOf(product.pid)];
  await came(1);
  const count = received() - began;
  const [seconds, busySeconds] = [(performance.now() - beganMs) / 1000, (await processorTimeOf(product.pid)) - busy];
  await quiet(received);
  return { perSecond: count / seconds, perProcessorSecond: count / busySeconds };
}

/** Many who follow at a slow rate of changes, and some at a quick one; what both take of memory. */
export async function measureStreams(
  store: Store,
  subscribers: number,
  { seconds, progress }: Effort,
): Promise<{ many: Followed; some: Followed }> {
  const each = async (count: number, perSecond: number) => {
    progress(`streams: ${count} subscribers, ${perSecond} changes a second`);
    await using product = await startProduct(store, settings);
    await using streams = await openStreams(product, count);
    await deliveredTo(streams, await addEvenly(product, perSecond, perSecond * 2));
    const animals = Math.max(5, perSecond * seconds);
    const delays = await deliveredTo(streams, await addEvenly(product, perSecond, animals));
    const { mostMb } = await memoryOf(product.pid);
    return { subscribers: count, changesASecond: perSecond, mostMb, ...measuredOf(delays, animals / perSecond) };
  };
  // One more needs a file of each process; the server has others open, too.
  const many = Math.min(subscribers, (await filesMax()) - 200);
  return { many: await each(many, 1), some: await each(100, 100) };
}

/** What came of subscribers of the stream; every one of them got every event once and in order, or it throws. */
export interface Followed extends Measured {
  readonly subscribers: number;
  readonly changesASecond: number;
  /** The most memory that the server ever had. */
  readonly mostMb: number;
}

/** Waits until each subscriber has each change; the delays of all of them. */
async function deliveredTo(streams: Streams, answers: ReadonlyMap<number, number>): Promise<number[]> {
  const all = answers.size * streams.count;
  await until(
    () => streams.arrivals.length >= all,
    () => `Of ${all} events ${streams.arrivals.length} came to subscribers.`,
  );
  return streams.take().map(({ animal, cameMs }) => {
    const answeredMs = answers.get(animal);
    if (answeredMs === undefined) throw new Error(`Subscribers were told of animal ${animal}, which nobody added.`);
    return cameMs - answeredMs;
  });
}

/** Animals added while each goes to a webhook and a stream, and while nobody wants to know. */
export async function measureCreateDelivered(
  store: Store,
  { progress, ...effort }: Effort,
): Promise<Rounds<'delivered' | 'alone'>> {
  progress('animals added while their events are delivered');
  await using receiver = await startReceiver();
  await using product = await startProduct(store, settings);
  const webhook = await makeWebhook(product, receiver);
  const requests = createRow.requests(store.animals);
  const alone = () => load(product, requests, effort.seconds);
  const sides = {
    async delivered() {
      await activate(product, webhook);
      await using _streams = await openStreams(product, 1);
      const measured = await alone();
      await deactivate(product, webhook);
      return measured;
    },
    async alone() {
      // What was under way comes still.
      await quiet(() => receiver.received);
      return alone();
    },
  };
  return await inTurns(sides, effort);
}

/** Rows that are measured with many deliveries that wait and without. */
export const backlogRows = peerRows.filter(({ name }) => name !== 'list');

/** What a backlog costs. */
export interface Backlog {
  readonly deliveries: number;
  readonly rows: readonly Found<'without' | 'with'>[];
  /** From a change to a receiver that takes everything, beside the one that is away. */
  readonly latency: Rounds<'without' | 'with'>;
}

/**
 * The product with a webhook whose receiver is away, with many deliveries that are due to it, each in a lane of its own,
 * and with none. The one that is not measured stands still.
 */
export async function measureBacklog(deliveries: number, { progress, ...effort }: Effort): Promise<Backlog> {
  progress(`how ${deliveries} deliveries are left undelivered`);
  using withoutStore = await makeStore(BACKLOG_ANIMALS);
  using withStore = await makeStore(BACKLOG_ANIMALS);
  await leaveUndelivered(withoutStore, 0);
  await leaveUndelivered(withStore, deliveries);
  await using receivers = await startReceivers(2);
  await using without = await startProduct(withoutStore, settings);
  await using withThem = await startProduct(withStore, settings);
  const products = { without, with: withThem };
  using turns = standStill(Object.values(products));
  const sides = (measure: (product: Product) => Promise<Measured>) => ({
    without: () => turns.alone(products.without, measure),
    with: () => turns.alone(products.with, measure),
  });

  progress('the next delivery beside undelivered ones');
  const healthy = new Map<Product, { webhook: number; receiver: Receiver }>();
  for (const [index, product] of Object.values(products).entries()) {
    const receiver = receivers.all[index]!;
    const webhook = await turns.alone(product, () => makeWebhook(product, receiver));
    healthy.set(product, { webhook, receiver });
    await turns.alone(product, () => activate(product, webhook));
  }
  const latency = await inTurns(
    sides(product => deliveredAfter(product, healthy.get(product)!.receiver, effort.seconds)),
    effort,
  );
  for (const [product, { webhook }] of healthy) await turns.alone(product, () => deactivate(product, webhook));

  const rows = [];
  for (const row of backlogRows) {
    progress(`${row.title} beside undelivered deliveries`);
    const requests = row.requests(BACKLOG_ANIMALS);
    rows.push({
      row,
      rounds: await inTurns(
        sides(product => load(product, requests, effort.seconds)),
        effort,
      ),
    });
  }
  return { deliveries, rows, latency };
}

const BACKLOG_ANIMALS = 10_000;

/** Makes a webhook whose receiver is away and failed last, with so many deliveries that are due to it now. */
async function leaveUndelivered(store: Store, deliveries: number): Promise<void> {
  let webhookId: number;
  {
    await using receiver = await startReceiver();
    await using product = await startProduct(store, settings);
    webhookId = await makeWebhook(product, receiver);
    await activate(product, webhookId);
  }
  const database = await openData(store.directory);
  await fillDeliveries(database, webhookId, store.animals, deliveries);
  await database.close();
}

/** Processes that stand still but for one. */
function standStill(
  products: readonly Product[],
): { alone<T>(product: Product, work: (product: Product) => Promise<T>): Promise<T> } & Disposable {
  for (const { pid } of products) process.kill(pid, 'SIGSTOP');
  return {
    async alone(product, work) {
      process.kill(product.pid, 'SIGCONT');
      try {
        return await work(product);
      } finally {
        process.kill(product.pid, 'SIGSTOP');
      }
    },
    // Who stands still does not hear that it is to end.
    [Symbol.dispose]() {
      for (const { pid } of products) process.kill(pid, 'SIGCONT');
    },
  };
}

/** Resolves once a count has stood still for a quarter of a second. */
async function quiet(count: () => number): Promise<void> {
  for (let before = -1; count() !== before; ) {
    before = count();
    await pause(250);
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
