import { setTimeout as sleep } from 'node:timers/promises';
import { samplePets } from '../src/operate/seeds/pets.ts';
import { type Product, sendJson } from './product.ts';

/**
 * Creates pets at a constant rate, without waiting for earlier responses.
 * @returns by pet id, when the head of its 201 arrived on the scale of `performance.now()`; the pet is durable by then
 */
export async function createAtRate(product: Product, perSecond: number, pets: number): Promise<Map<number, number>> {
  const samples = samplePets();
  const responses = new Map<number, number>();
  const create = async (n: number) => {
    let respondedMs = 0;
    const { id } = await sendJson(product, '/pets', samples[n % samples.length], () => {
      respondedMs = performance.now();
    });
    responses.set(id, respondedMs);
  };
  const startMs = performance.now();
  const pending = [];
  for (let n = 0; n < pets; n++) {
    const waitMs = startMs + (n * 1000) / perSecond - performance.now();
    if (waitMs > 0) await sleep(waitMs);
    pending.push(create(n));
  }
  await Promise.all(pending);
  return responses;
}

/** Resolves when the condition holds, checking every 5 ms; rejects with this message after a minute. */
export async function waitFor(condition: () => boolean, message: () => string): Promise<void> {
  const endMs = performance.now() + 60_000;
  while (!condition()) {
    if (performance.now() > endMs) throw new Error(message());
    await sleep(5);
  }
}
