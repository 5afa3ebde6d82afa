import { setTimeout as sleep } from 'node:timers/promises';
import { load } from './load.ts';
import type { Effort } from './measure-requests.ts';
import { type Product, type Store, startProduct } from './product.ts';
import { interleave, type Rounds } from './rounds.ts';
import { peerRows } from './workloads.ts';

const PAGES_PER_SECOND = 50;
/** Pages that are rendered for each visit, and pages that are rendered once. */
const paths = ['/', '/animals', '/animals/1', '/guides/quickstart', '/reference', '/sign-in', '/search?q=pets'];

/** Compares the list alone with the list while pages are read at a constant rate. */
export async function measurePages(
  store: Store,
  { progress, ...effort }: Effort,
): Promise<Rounds<'alone' | 'besidePages'>> {
  progress('the list, while pages are read');
  // All of them come from one network.
  await using product = await startProduct(store, { PETSTORE_PAGES_PER_MINUTE: '1000000' });
  const requests = peerRows[0]!.requests();
  const list = () => load(product, requests, effort.seconds);
  const sides = {
    alone: list,
    async besidePages() {
      using reading = readPages(product);
      const measured = await list();
      reading.check();
      return measured;
    },
  };
  // Awaited here because the server stops when this function returns.
  return await interleave(sides, effort);
}

/** Reads pages without waiting for earlier ones, until it is disposed of. */
function readPages({ baseUrl }: Product): Disposable & { check(): void } {
  const origin = new URL(baseUrl).origin;
  let stopped = false;
  let failure: string | undefined;
  const read = async (path: string) => {
    try {
      const response = await fetch(origin + path, { headers: { Accept: 'text/html' } });
      await response.arrayBuffer();
      if (response.status !== 200) failure = `${path} returned ${response.status}`;
    } catch (error) {
      failure = `${path}: ${(error as Error).message}`;
    }
  };
  const run = async () => {
    const startMs = performance.now();
    for (let n = 0; !stopped; n++) {
      const waitMs = startMs + (n * 1000) / PAGES_PER_SECOND - performance.now();
      if (waitMs > 0) await sleep(waitMs);
      void read(paths[n % paths.length]!);
    }
  };
  void run();
  return {
    /** @throws {Error} when a page was not served */
    check() {
      if (failure !== undefined) throw new Error(failure);
    },
    [Symbol.dispose]() {
      stopped = true;
    },
  };
}
