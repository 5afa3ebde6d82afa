/** Counts values in buckets. Observing costs a few comparisons. */
export class Histogram {
  /** The upper bounds of the buckets; the last bucket has no bound. */
  readonly bounds: readonly number[];
  /** How many values each bucket has. */
  readonly counts: number[];
  sum = 0;

  constructor(bounds: readonly number[]) {
    this.bounds = bounds;
    this.counts = new Array(bounds.length + 1).fill(0);
  }

  observe(value: number): void {
    let index = 0;
    while (index < this.bounds.length && value > this.bounds[index]!) index++;
    this.counts[index]!++;
    this.sum += value;
  }
}

/** Bounds for durations of requests and of waits, in seconds. */
export const durationBounds: readonly number[] = [
  0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
];
