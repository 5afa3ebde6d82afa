import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { CONNECTIONS, load, type Measured, type Request } from './load.ts';
import { type Peer, type ResponseBodies, startAfternoon, startFastify, startNginx, startNode } from './peers.ts';
import { freePort } from './processes.ts';
import { createStore, memoryOf, type Product, type Store, sendRequest, startProduct, timeStart } from './product.ts';
import { interleave, type Rounds } from './rounds.ts';
import { growthRows, orderRow, orders, peerRows, type Row } from './workloads.ts';

/** Duration and number of the loads. */
export interface Effort {
  readonly seconds: number;
  readonly rounds: number;
  /** Whether each side first runs once without being counted, until its code is compiled. */
  readonly warm: boolean;
  /** Reports what is measured next. */
  progress(what: string): void;
}

/** The measurements of one workload, by side. */
export interface Comparison<Side extends string> {
  readonly row: Row;
  readonly rounds: Rounds<Side>;
}

/** Compares the product with its peers. */
export async function measurePeers(
  store: Store,
  rows: readonly Row[],
  { progress, ...effort }: Effort,
): Promise<Comparison<'product' | 'nginx' | 'fastify' | 'node' | 'afternoon'>[]> {
  await using product = await startProduct(store);
  const bytes = await responseBodies(product);
  await using nginx = await startNginx(bytes);
  await using fastify = await startFastify(bytes);
  await using node = await startNode(bytes);
  await using afternoon = await startAfternoon(store.token, store.pets);
  const found = [];
  for (const row of rows) {
    progress(row.title);
    const requests = row.requests(store.pets);
    const peer = (peer: Peer) => () =>
      load(
        { baseUrl: row.name === 'create' ? peer.createUrl : peer.baseUrl, token: store.token, pid: peer.pid },
        requests,
        effort.seconds,
      );
    const sides = {
      product: () => load(product, requests, effort.seconds),
      nginx: peer(nginx),
      fastify: peer(fastify),
      node: peer(node),
      afternoon: peer(afternoon),
    };
    found.push({ row, rounds: await interleave(sides, effort) });
  }
  return found;
}

/** Collects the bodies of the product's responses for the peers. */
async function responseBodies(product: Product): Promise<ResponseBodies> {
  const count = product.store.pets;
  const pets = new Map<number, string>();
  for (let id = 1; id <= count; id += 100) {
    const ids = Array.from({ length: Math.min(100, count - id + 1) }, (_, index) => id + index);
    for (const pet of JSON.parse(await sendRequest(product, `/pets?limit=100&id=${ids.join(',')}`))) {
      pets.set(pet.id, JSON.stringify(pet));
    }
  }
  const list = await sendRequest(product, '/pets');
  return { list, pets, created: await sendRequest(product, '/pets', { name: 'Minka', categoryId: 2 }) };
}

/** Compares orders in a store with few orders, in a large store with many, and on nginx, which serves an order's bytes. */
export async function measureOrders(
  few: Store,
  many: Store,
  { progress, ...effort }: Effort,
): Promise<Rounds<'product' | 'many' | 'nginx'>> {
  progress(orderRow.title);
  await using product = await startProduct(few);
  await using large = await startProduct(many);
  const [sample, ...rest] = few.available;
  const created = await sendRequest(product, '/store/orders', { petId: sample! });
  await using nginx = await startNginx({ list: '[]', pets: new Map(), created });
  const each = (store: Product, available: readonly number[]) => {
    const requests = orders(available);
    // A pet can be ordered only once, so each round has its own pets.
    const round = Math.floor(requests.length / (effort.rounds + (effort.warm ? 1 : 0)));
    return () => load(store, requests.splice(0, round), effort.seconds, CONNECTIONS, 'once');
  };
  const anywhere: Request[] = orders(few.available.slice(0, 1000)).map(request => ({ ...request, path: '/pets' }));
  const sides = {
    product: each(product, rest),
    many: each(large, many.available),
    nginx: () => load({ baseUrl: nginx.createUrl, token: few.token }, anywhere, effort.seconds),
  };
  // Awaited here because the servers stop when this function returns.
  return await interleave(sides, effort);
}

/** Compares a small store with a large one. */
export async function measureGrowth(
  small: Store,
  large: Store,
  rows: readonly Row[],
  { progress, ...effort }: Effort,
): Promise<Comparison<'small' | 'large'>[]> {
  await using onSmall = await startProduct(small);
  await using onLarge = await startProduct(large);
  const found = [];
  for (const row of rows) {
    progress(`${row.title}, ${small.pets} and ${large.pets} pets`);
    const side = (product: Product) => {
      const requests = row.requests(product.store.pets);
      return () => load(product, requests, effort.seconds);
    };
    found.push({ row, rounds: await interleave({ small: side(onSmall), large: side(onLarge) }, effort) });
  }
  return found;
}

/** Measures reads alone, and reads and writes at the same time. */
export async function measureMixed(
  store: Store,
  { progress, ...effort }: Effort,
): Promise<Rounds<'readsAlone' | 'reads' | 'writes'>> {
  progress('reads and writes at once');
  await using product = await startProduct(store);
  const [list, , get, create] = peerRows.map(row => row.requests(store.pets));
  const readers = [...get!.slice(0, 1000), ...Array.from({ length: 1000 }, () => list![0]!)];
  const half = CONNECTIONS / 2;
  const results: Record<'readsAlone' | 'reads' | 'writes', Measured[]> = { readsAlone: [], reads: [], writes: [] };
  for (let round = effort.warm ? -1 : 0; round < effort.rounds; round++) {
    const alone = await load(product, readers, effort.seconds, half);
    const [reads, writes] = await Promise.all([
      load(product, readers, effort.seconds, half),
      load(product, create!, effort.seconds, half),
    ]);
    if (round < 0) continue;
    results.readsAlone.push(alone);
    results.reads.push(reads);
    results.writes.push(writes);
  }
  return results;
}

/** Measures the server's memory in MB: 2 s after its start, and the peak under each workload in turn. */
export async function measureMemory(
  store: Store,
  { seconds, progress }: Effort,
): Promise<{ idleMb: number; loadedMb: number }> {
  progress(`memory with ${store.pets} pets`);
  await using product = await startProduct(store);
  await sleep(2000);
  const { currentMb: idleMb } = await memoryOf(product.pid);
  for (const row of [...growthRows, ...peerRows]) await load(product, row.requests(store.pets), seconds);
  const { peakMb: loadedMb } = await memoryOf(product.pid);
  return { idleMb, loadedMb };
}

/** Measures the milliseconds to the first 200, not counting the first start. */
export async function measureStart(store: Store, { rounds, progress }: Effort): Promise<number[]> {
  progress('second start');
  const port = await freePort();
  await timeStart(store, port);
  const times = [];
  for (let round = 0; round < rounds; round++) times.push(await timeStart(store, port));
  return times;
}

/** Compares the product on PostgreSQL with the product on SQLite. */
export async function measurePostgres(
  url: string,
  pets: number,
  { progress, ...effort }: Effort,
): Promise<Comparison<'embedded' | 'postgres'>[]> {
  await using database = await createDatabase(url);
  using embeddedStore = await createStore(pets);
  using store = await createStore(pets, { databaseUrl: database.url });
  await using embedded = await startProduct(embeddedStore);
  await using postgres = await startProduct(store);
  const found = [];
  for (const row of peerRows) {
    if (row.name === 'list-anew') continue;
    progress(`${row.title} on PostgreSQL`);
    const requests = row.requests(pets);
    const sides = {
      embedded: () => load(embedded, requests, effort.seconds),
      postgres: () => load(postgres, requests, effort.seconds),
    };
    found.push({ row, rounds: await interleave(sides, effort) });
  }
  return found;
}

/** Creates a database on a PostgreSQL server. It is dropped with its owner. */
export async function createDatabase(url: string): Promise<{ url: string } & AsyncDisposable> {
  const name = `petstore_bench_${randomBytes(4).toString('hex')}`;
  const execute = async (sql: string) => {
    const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 3000 });
    await client.connect();
    try {
      await client.query(sql);
    } finally {
      await client.end();
    }
  };
  await execute(`create database ${name} encoding 'UTF8' template template0`);
  const own = new URL(url);
  own.pathname = `/${name}`;
  return { url: own.href, [Symbol.asyncDispose]: () => execute(`drop database if exists ${name} with (force)`) };
}
