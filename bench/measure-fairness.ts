import { setTimeout as sleep } from 'node:timers/promises';
import { samplePets } from '../src/operate/seeds/pets.ts';
import { fileOf, importFile } from './measure-import.ts';
import { createDatabase, type Effort } from './measure-requests.ts';
import { createKey, createStore, launcher, type Product, sendJson, startProduct } from './product.ts';
import { percentile } from './rounds.ts';
import { waitFor } from './steady-load.ts';
import { activate, createWebhook, type Receiver, startReceiver } from './webhook-receiver.ts';

/** Imports of the other account, one after the other, and the rows of each. */
const IMPORTS = 4;
const ROWS = 9500;
const SHORT_ROWS = 1000;
/** The time between two changes. */
const EVERY_MS = 100;
/** Changes without other traffic. */
const IDLE_CHANGES = 50;

/** The delays of an account's deliveries, from sending the request of a change to the arrival of its event. */
export interface Delays {
  readonly p50Ms: number;
  readonly p95Ms: number;
}

/** The deliveries of one account without other traffic, and beside the imports of another account. */
export interface Fairness {
  readonly idle: Delays;
  readonly beside: Delays;
}

/**
 * Measures the deliveries of an account that makes one change at a time: without other traffic, and while another account,
 * which has a webhook too, imports files.
 * @param postgresUrl a PostgreSQL server to use in place of SQLite
 */
export async function measureFairness({ warm, progress }: Effort, postgresUrl?: string): Promise<Fairness> {
  progress(`deliveries beside imports of another account on ${postgresUrl === undefined ? 'SQLite' : 'PostgreSQL'}`);
  await using database = postgresUrl === undefined ? undefined : await createDatabase(postgresUrl);
  using store = await createStore(1000, database && { databaseUrl: database.url });
  const { token } = await createKey(launcher, store.env, 'importer@example.org');
  await using receiver = await startReceiver();
  await using importerReceiver = await startReceiver();
  await using product = await startProduct(store, { PETSTORE_WEBHOOK_NETWORKS: '127.0.0.1' });
  const importer = { ...product, token };
  await activate(product, await createWebhook(product, receiver));
  await activate(importer, await createWebhook(importer, importerReceiver));

  const idle = await deliveryDelays(product, receiver, sent => sent < IDLE_CHANGES);
  const rows = warm ? ROWS : SHORT_ROWS;
  let running = true;
  const importing = (async () => {
    for (let n = 0; n < IMPORTS; n++) await importFile(importer, fileOf(rows, `fair-${n}`), rows);
  })().finally(() => {
    running = false;
  });
  const [beside] = await Promise.all([deliveryDelays(product, receiver, () => running), importing]);
  return { idle, beside };
}

/** Makes a change, waits for its delivery, and so on, as long as `goesOn` says, which is given the number of changes. */
async function deliveryDelays(
  product: Product,
  { arrivals }: Receiver,
  goesOn: (sent: number) => boolean,
): Promise<Delays> {
  const samples = samplePets();
  const delaysMs: number[] = [];
  while (goesOn(delaysMs.length)) {
    const startMs = performance.now();
    const { id } = await sendJson(product, '/pets', samples[delaysMs.length % samples.length]);
    await waitFor(
      () => arrivals.has(id),
      () => `The event of pet ${id} was not delivered.`,
    );
    delaysMs.push(arrivals.get(id)! - startMs);
    await sleep(Math.max(0, startMs + EVERY_MS - performance.now()));
  }
  const sorted = Float64Array.from(delaysMs).sort();
  return { p50Ms: percentile(sorted, 0.5), p95Ms: percentile(sorted, 0.95) };
}
