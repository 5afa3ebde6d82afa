import { setTimeout as pause } from 'node:timers/promises';
import { samplePets } from '../src/seeds/pets.ts';
import type { Measured } from './load.ts';
import { asked, type Product } from './product.ts';

/**
 * Adds animals at an even rate, whether or not those before were answered.
 * @returns when the head of each 201 was here, on the scale of `performance.now()`, by the animal's id: by then it is durable
 */
export async function addEvenly(product: Product, perSecond: number, animals: number): Promise<Map<number, number>> {
  const samples = samplePets();
  const answers = new Map<number, number>();
  const add = async (n: number) => {
    let answeredMs = 0;
    const { id } = await asked(product, '/pets', samples[n % samples.length], () => {
      answeredMs = performance.now();
    });
    answers.set(id, answeredMs);
  };
  const beganMs = performance.now();
  const added = [];
  for (let n = 0; n < animals; n++) {
    const waitMs = beganMs + (n * 1000) / perSecond - performance.now();
    if (waitMs > 0) await pause(waitMs);
    added.push(add(n));
  }
  await Promise.all(added);
  return answers;
}

/** Resolves once something is so, looking every few milliseconds; rejects with this sentence after a minute. */
export async function until(so: () => boolean, otherwise: () => string): Promise<void> {
  const endMs = performance.now() + 60_000;
  while (!so()) {
    if (performance.now() > endMs) throw new Error(otherwise());
    await pause(5);
  }
}

/** Delays in milliseconds as what was measured. */
export function measuredOf(delaysMs: readonly number[], seconds: number): Measured {
  const sorted = Float64Array.from(delaysMs).sort();
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]!;
  return { perSecond: sorted.length / seconds, p50Ms: at(0.5), p99Ms: at(0.99) };
}
