import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { CONNECTIONS, load, type Measured, type Request } from './load.ts';
import { type Bytes, type Peer, startFastify, startNginx, startNode } from './peers.ts';
import { freePort } from './processes.ts';
import { makeStore, memoryOf, type Product, type Store, startProduct, timeStart } from './product.ts';
import { growthRows, orderRow, orders, peerRows, type Row } from './rows.ts';
import { inTurns, type Rounds } from './turns.ts';

/** How long and how often. */
export interface Effort {
  readonly seconds: number;
  readonly rounds: number;
  /** Whether each side first runs once without being measured: code becomes fast by running. */
  readonly warm: boolean;
  /** Told what is measured next. */
  progress(what: string): void;
}

/** A row and what its sides did. */
export interface Found<Side extends string> {
  readonly row: Row;
  readonly rounds: Rounds<Side>;
}

/** The product beside its peers, on a store of its own. */
export async function measureBesidePeers(
  store: Store,
  rows: readonly Row[],
  { progress, ...effort }: Effort,
): Promise<Found<'product' | 'nginx' | 'fastify' | 'node'>[]> {
  await using product = await startProduct(store);
  const bytes = await bytesOf(product);
  await using nginx = await startNginx(bytes);
  await using fastify = await startFastify(bytes);
  await using node = await startNode(bytes);
  const found = [];
  for (const row of rows) {
    progress(row.title);
    const requests = row.requests(store.animals);
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
    };
    found.push({ row, rounds: await inTurns(sides, effort) });
  }
  return found;
}

/** What the product answers, for peers to serve. */
async function bytesOf({ baseUrl, token, store }: Product): Promise<Bytes> {
  const call = async (path: string, body?: object) => {
    const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' };
    const answer = await fetch(
      baseUrl + path,
      body === undefined ? { headers } : { method: 'POST', headers, body: JSON.stringify(body) },
    );
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${path} was answered ${answer.status}: ${text}`);
    return text;
  };
  const animals = new Map<number, string>();
  for (let id = 1; id <= store.animals; id += 100) {
    const ids = Array.from({ length: Math.min(100, store.animals - id + 1) }, (_, index) => id + index);
    for (const animal of JSON.parse(await call(`/pets?limit=100&id=${ids.join(',')}`))) {
      animals.set(animal.id, JSON.stringify(animal));
    }
  }
  const list = await call('/pets');
  return { list, animals, created: await call('/pets', { name: 'Minka', categoryId: 2 }) };
}

/**
 * Orders: the product with few orders and with many, in a large store, and nginx, which serves the bytes of an order
 * whatever is asked.
 */
export async function measureOrders(
  few: Store,
  many: Store,
  { progress, ...effort }: Effort,
): Promise<Rounds<'product' | 'many' | 'nginx'>> {
  progress(orderRow.title);
  await using product = await startProduct(few);
  await using large = await startProduct(many);
  const [sample, ...rest] = few.available;
  const created = await order(product, sample!);
  await using nginx = await startNginx({ list: '[]', animals: new Map(), created });
  const each = (store: Product, available: readonly number[]) => {
    const requests = orders(available);
    // No animal is ordered twice, so every round has animals of its own.
    const round = Math.floor(requests.length / (effort.rounds + (effort.warm ? 1 : 0)));
    return () => load(store, requests.splice(0, round), effort.seconds, CONNECTIONS, 'once');
  };
  const anywhere: Request[] = orders(few.available.slice(0, 1000)).map(request => ({ ...request, path: '/pets' }));
  const sides = {
    product: each(product, rest),
    many: each(large, many.available),
    nginx: () => load({ baseUrl: nginx.createUrl, token: few.token }, anywhere, effort.seconds),
  };
  // Awaited here: the servers end with this function.
  return await inTurns(sides, effort);
}

async function order({ baseUrl, token }: Product, petId: number): Promise<string> {
  const answer = await fetch(`${baseUrl}/store/orders`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ petId }),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`An order was answered ${answer.status}: ${text}`);
  return text;
}

/** The product with a large store beside the product with a small one. */
export async function measureGrowth(
  small: Store,
  large: Store,
  rows: readonly Row[],
  { progress, ...effort }: Effort,
): Promise<Found<'small' | 'large'>[]> {
  await using onSmall = await startProduct(small);
  await using onLarge = await startProduct(large);
  const found = [];
  for (const row of rows) {
    progress(`${row.title}, ${small.animals} and ${large.animals} animals`);
    const side = (product: Product) => {
      const requests = row.requests(product.store.animals);
      return () => load(product, requests, effort.seconds);
    };
    found.push({ row, rounds: await inTurns({ small: side(onSmall), large: side(onLarge) }, effort) });
  }
  return found;
}

/** What callers see who read while others write, and what they see alone. */
export async function measureMixed(
  store: Store,
  { progress, ...effort }: Effort,
): Promise<Rounds<'readsAlone' | 'reads' | 'writes'>> {
  progress('writes beside reads');
  await using product = await startProduct(store);
  const [list, , get, create] = peerRows.map(row => row.requests(store.animals));
  const readers = [...get!.slice(0, 1000), ...Array.from({ length: 1000 }, () => list![0]!)];
  const half = CONNECTIONS / 2;
  const found: Record<'readsAlone' | 'reads' | 'writes', Measured[]> = { readsAlone: [], reads: [], writes: [] };
  for (let round = effort.warm ? -1 : 0; round < effort.rounds; round++) {
    const alone = await load(product, readers, effort.seconds, half);
    const [reads, writes] = await Promise.all([
      load(product, readers, effort.seconds, half),
      load(product, create!, effort.seconds, half),
    ]);
    if (round < 0) continue;
    found.readsAlone.push(alone);
    found.reads.push(reads);
    found.writes.push(writes);
  }
  return found;
}

/** What a process takes, in MB: when it has just started, and at most under every kind of load in turn. */
export async function measureMemory(
  store: Store,
  { seconds, progress }: Effort,
): Promise<{ idleMb: number; loadedMb: number }> {
  progress(`memory with ${store.animals} animals`);
  await using product = await startProduct(store);
  await pause(2000);
  const { nowMb: idleMb } = await memoryOf(product.pid);
  for (const row of [...growthRows, ...peerRows]) await load(product, row.requests(store.animals), seconds);
  const { mostMb: loadedMb } = await memoryOf(product.pid);
  return { idleMb, loadedMb };
}

/** Milliseconds to the first 200, of starts after the first one. */
export async function measureStart(store: Store, { rounds, progress }: Effort): Promise<number[]> {
  progress('second start');
  const port = await freePort();
  await timeStart(store, port);
  const times = [];
  for (let round = 0; round < rounds; round++) times.push(await timeStart(store, port));
  return times;
}

/** The product on PostgreSQL beside the product on the embedded engine. */
export async function measurePostgres(
  url: string,
  animals: number,
  { progress, ...effort }: Effort,
): Promise<Found<'embedded' | 'postgres'>[]> {
  await using database = await makeDatabase(url);
  using embeddedStore = await makeStore(animals);
  using store = await makeStore(animals, { databaseUrl: database.url });
  await using embedded = await startProduct(embeddedStore);
  await using postgres = await startProduct(store);
  const found = [];
  for (const row of peerRows) {
    if (row.name === 'list-anew') continue;
    progress(`${row.title} on PostgreSQL`);
    const requests = row.requests(animals);
    const sides = {
      embedded: () => load(embedded, requests, effort.seconds),
      postgres: () => load(postgres, requests, effort.seconds),
    };
    found.push({ row, rounds: await inTurns(sides, effort) });
  }
  return found;
}

/** A database of its own on a PostgreSQL server; it goes away with its holder. */
async function makeDatabase(url: string): Promise<{ url: string } & AsyncDisposable> {
  const name = `petstore_bench_${randomBytes(4).toString('hex')}`;
  const ask = async (sql: string) => {
    const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 3000 });
    await client.connect();
    try {
      await client.query(sql);
    } finally {
      await client.end();
    }
  };
  await ask(`create database ${name} encoding 'UTF8' template template0`);
  const own = new URL(url);
  own.pathname = `/${name}`;
  return { url: own.href, [Symbol.asyncDispose]: () => ask(`drop database if exists ${name} with (force)`) };
}
