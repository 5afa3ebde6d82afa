/** The labels of a sample: names to values. */
export type Labels = Readonly<Record<string, string>>;

/** Metrics in the Prometheus text format 0.0.4. Recording costs a map lookup and an addition. */
export class Metrics {
  readonly #families: Family[] = [];

  /** Adds a number per set of labels that only grows. */
  counter(name: string, help: string): Counter {
    const counter = new Counter();
    this.#families.push({ name, help, type: 'counter', samples: () => counter.samples() });
    return counter;
  }

  /** Adds a histogram with these upper bounds of its buckets. */
  histogram(name: string, help: string, bounds: readonly number[]): Histogram {
    const histogram = new Histogram(bounds);
    this.#families.push({ name, help, type: 'histogram', samples: () => histogram.samples() });
    return histogram;
  }

  /** Adds a number that is read at each scrape. */
  gauge(name: string, help: string, read: () => number): void {
    this.#families.push({ name, help, type: 'gauge', samples: () => [{ suffix: '', labels: {}, value: read() }] });
  }

  text(): string {
    return this.#families
      .map(({ name, help, type, samples }) => {
        const lines = samples().map(({ suffix, labels, value }) => `${name}${suffix}${labelText(labels)} ${value}\n`);
        return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines.join('')}`;
      })
      .join('');
  }
}

interface Family {
  readonly name: string;
  readonly help: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  samples(): Sample[];
}

interface Sample {
  readonly suffix: string;
  readonly labels: Labels;
  readonly value: number;
}

/** Counts per set of labels; see `Metrics.counter`. */
export class Counter {
  readonly #counts = new Map<string, { readonly labels: Labels; value: number }>();

  /** Adds one to the count of `key`, which identifies the labels: they are built only once. */
  add(key: string, labels: () => Labels): void {
    const count = this.#counts.get(key);
    if (count === undefined) this.#counts.set(key, { labels: labels(), value: 1 });
    else count.value++;
  }

  samples(): Sample[] {
    return Array.from(this.#counts.values(), ({ labels, value }) => ({ suffix: '', labels, value }));
  }
}

/** Counts values in buckets; see `Metrics.histogram`. */
export class Histogram {
  readonly #bounds: readonly number[];
  readonly #buckets: number[];
  #sum = 0;

  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
    this.#buckets = new Array(bounds.length + 1).fill(0);
  }

  observe(value: number): void {
    let index = 0;
    while (index < this.#bounds.length && value > this.#bounds[index]!) index++;
    this.#buckets[index]!++;
    this.#sum += value;
  }

  samples(): Sample[] {
    let total = 0;
    const buckets = this.#buckets.map((count, index) => {
      total += count;
      const bound = this.#bounds[index];
      return { suffix: '_bucket', labels: { le: bound === undefined ? '+Inf' : String(bound) }, value: total };
    });
    return [
      ...buckets,
      { suffix: '_sum', labels: {}, value: this.#sum },
      { suffix: '_count', labels: {}, value: total },
    ];
  }
}

function labelText(labels: Labels): string {
  const pairs = Object.entries(labels).map(
    ([name, value]) =>
      `${name}="${value.replace(/[\\"\n]/g, character => (character === '\n' ? '\\n' : `\\${character}`))}"`,
  );
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
}
