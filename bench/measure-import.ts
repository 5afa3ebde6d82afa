import { setTimeout as sleep } from 'node:timers/promises';
import { samplePets } from '../src/operate/seeds/pets.ts';
import { load, type Measured } from './load.ts';
import type { Effort } from './measure-requests.ts';
import { createStore, type Product, sendJson, sendRequest, startProduct } from './product.ts';
import { summarize } from './rounds.ts';
import { createRow, peerRows, type Row } from './workloads.ts';

/** Rows of the file whose import is timed, and of one that outlasts the traffic beside it. */
const ROWS = 20_000;
const ROWS_BESIDE = 300_000;
/** Requests per second of the traffic beside an import: nine reads for each new pet. */
const TRAFFIC = 200;

/** Imports compared with creates, and other traffic with and without an import. */
export interface Imports {
  readonly creates: readonly Measured[];
  /** Pets imported per second, from the first byte of the file to the last row. */
  readonly importsPerSecond: readonly number[];
  readonly traffic: readonly Measured[];
  readonly trafficBeside: readonly Measured[];
  /** Pets imported per second during that traffic. */
  readonly importsPerSecondBeside: readonly number[];
}

/** Measures creates, imports, and other traffic with and without an import, alternately. */
export async function measureImport({ seconds, rounds, warm, progress }: Effort): Promise<Imports> {
  progress('imports');
  using store = await createStore(1000);
  await using product = await startProduct(store);
  const results = {
    ...{ creates: [] as Measured[], importsPerSecond: [] as number[] },
    ...{ traffic: [] as Measured[], trafficBeside: [] as Measured[], importsPerSecondBeside: [] as number[] },
  };
  for (let round = warm ? -1 : 0; round < rounds; round++) {
    const creates = await load(product, createRow.requests(store.pets), seconds);
    const importsPerSecond = await timeImport(product, round);
    const traffic = await sendTraffic(product, seconds);
    const beside = await besideImport(product, round, () => sendTraffic(product, seconds));
    if (round < 0) continue;
    results.creates.push(creates);
    results.importsPerSecond.push(importsPerSecond);
    results.traffic.push(traffic);
    results.trafficBeside.push(beside.measured);
    results.importsPerSecondBeside.push(beside.importsPerSecond);
  }
  return results;
}

async function timeImport(product: Product, round: number): Promise<number> {
  const file = fileOf(ROWS, `alone-${round}`);
  const startMs = performance.now();
  await importFile(product, file, ROWS);
  return (ROWS * 1000) / (performance.now() - startMs);
}

/** Imports a file of this many new pets, and waits until they are added. */
export async function importFile(product: Product, file: string, rows: number): Promise<void> {
  const { id } = await sendFile(product, file);
  let progress = await progressOf(product, id);
  while (progress.endedAt === undefined) {
    await sleep(20);
    progress = await progressOf(product, id);
  }
  if (progress.created !== rows) throw new Error(`The import ended with ${JSON.stringify(progress)}.`);
}

/** Measures while an import runs, and cancels it. */
async function besideImport(
  product: Product,
  round: number,
  measure: () => Promise<Measured>,
): Promise<{ readonly measured: Measured; readonly importsPerSecond: number }> {
  const { id } = await sendFile(product, fileOf(ROWS_BESIDE, `beside-${round}`));
  const startMs = performance.now();
  const { created: before } = await progressOf(product, id);
  const measured = await measure();
  const { created, endedAt } = await progressOf(product, id);
  const importsPerSecond = ((created - before) * 1000) / (performance.now() - startMs);
  if (endedAt !== undefined) throw new Error('The import ended before the traffic beside it.');
  await sendJson(product, `/imports/${id}/cancellation`, {});
  return { measured, importsPerSecond };
}

/** Returns a CSV file of new pets. */
export function fileOf(rows: number, name: string): string {
  const samples = samplePets();
  const lines = Array.from({ length: rows }, (_, n) => {
    const sample = samples[n % samples.length]!;
    return `${name}-${n},${sample.name},${sample.categoryId}`;
  });
  return ['externalId,name,categoryId', ...lines].join('\n');
}

async function sendFile({ baseUrl, token }: Product, body: string): Promise<{ readonly id: number }> {
  const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'text/csv' };
  const response = await fetch(`${baseUrl}/imports`, { method: 'POST', headers, body });
  if (response.status !== 202) throw new Error(`The import returned ${response.status}: ${await response.text()}`);
  return response.json() as Promise<{ readonly id: number }>;
}

async function progressOf(
  product: Product,
  id: number,
): Promise<{ readonly created: number; readonly endedAt?: string }> {
  return JSON.parse(await sendRequest(product, `/imports/${id}`));
}

/** Sends reads and creates at a constant rate, without waiting for earlier responses. */
async function sendTraffic(product: Product, seconds: number): Promise<Measured> {
  const [, list, get, create] = peerRows.map((row: Row) => row.requests(product.store.pets));
  const delaysMs: number[] = [];
  const send = async (n: number) => {
    const requests = n % 10 === 0 ? create! : n % 2 === 0 ? list! : get!;
    const { path, body } = requests[n % requests.length]!;
    const startMs = performance.now();
    await sendRequest(product, path.replace('{n}', String(n)), body && JSON.parse(body));
    delaysMs.push(performance.now() - startMs);
  };
  const startMs = performance.now();
  const pending = [];
  for (let n = 0; n < TRAFFIC * seconds; n++) {
    const waitMs = startMs + (n * 1000) / TRAFFIC - performance.now();
    if (waitMs > 0) await sleep(waitMs);
    pending.push(send(n));
  }
  await Promise.all(pending);
  return summarize(delaysMs, seconds);
}
