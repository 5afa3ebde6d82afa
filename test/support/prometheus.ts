import assert from 'node:assert/strict';

/** A metric as a scrape has it. */
export interface Family {
  readonly type: string;
  readonly help: string;
  readonly samples: readonly PrometheusSample[];
}

export interface PrometheusSample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/**
 * Parses the Prometheus text format 0.0.4 strictly: each metric has its help, its type and its samples together, once;
 * no sample repeats; histograms are complete and their buckets cumulative.
 */
export function parseMetrics(text: string): Map<string, Family> {
  assert.match(text, /\n$/);
  const families = new Map<string, { type: string; help: string; samples: PrometheusSample[] }>();
  const seen = new Set<string>();
  const lines = text.slice(0, -1).split('\n');
  let name = '';
  for (let index = 0; index < lines.length; index++) {
    const line = lines[index]!;
    const help = /^# HELP ([a-zA-Z_:][\w:]*) (.+)$/.exec(line);
    if (help !== null) {
      name = help[1]!;
      assert.ok(!families.has(name), `${name} appears twice`);
      const type = new RegExp(`^# TYPE ${name} (counter|gauge|histogram)$`).exec(lines[++index] ?? '');
      assert.ok(type !== null, `the type of ${name}`);
      families.set(name, { type: type[1]!, help: help[2]!, samples: [] });
      continue;
    }
    const sample = parseSample(line);
    const suffix = sample.name.slice(name.length);
    const { type, samples } = families.get(name)!;
    assert.ok(sample.name.startsWith(name), line);
    assert.ok(type === 'histogram' ? ['_bucket', '_sum', '_count'].includes(suffix) : suffix === '', line);
    const id = line.slice(0, line.lastIndexOf(' '));
    assert.ok(!seen.has(id), `${id} appears twice`);
    seen.add(id);
    samples.push(sample);
  }
  for (const [family, { type, samples }] of families) if (type === 'histogram') assertHistograms(family, samples);
  return families;
}

function parseSample(line: string): PrometheusSample {
  const match = /^([a-zA-Z_:][\w:]*)(?:\{((?:[a-zA-Z_]\w*="(?:[^"\\\n]|\\[\\"n])*",?)*)\})? (\S+)$/.exec(line);
  assert.ok(match !== null, line);
  const [, name, pairs = '', value] = match;
  const labels = [...pairs.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, label, content]) => [label, content]);
  assert.match(value!, /^-?(\d+(\.\d+)?(e[+-]?\d+)?|\+Inf|NaN)$/, line);
  return { name: name!, labels: Object.fromEntries(labels), value: Number(value!.replace('+Inf', 'Infinity')) };
}

function assertHistograms(name: string, samples: readonly PrometheusSample[]): void {
  const series = Map.groupBy(samples, ({ labels: { le: _, ...labels } }) => JSON.stringify(labels));
  for (const [labels, own] of series) {
    const buckets = own.filter(sample => sample.name === `${name}_bucket`);
    const bounds = buckets.map(({ labels: { le } }) => Number(le!.replace('+Inf', 'Infinity')));
    const counts = buckets.map(({ value }) => value);
    assert.deepEqual(
      bounds,
      bounds.toSorted((one, other) => one - other),
      `${name} ${labels}`,
    );
    assert.deepEqual(
      counts,
      counts.toSorted((one, other) => one - other),
      `${name} ${labels}`,
    );
    assert.equal(bounds.at(-1), Number.POSITIVE_INFINITY);
    assert.equal(own.find(sample => sample.name === `${name}_count`)?.value, counts.at(-1));
    assert.ok(own.some(sample => sample.name === `${name}_sum`));
  }
}

/** Returns the value of the sample with these labels and perhaps others; `undefined` without one. */
export function sampleOf(
  families: ReadonlyMap<string, Family>,
  name: string,
  labels: Readonly<Record<string, string>> = {},
): number | undefined {
  const family = families.get(name) ?? families.get(name.replace(/_(bucket|sum|count)$/, ''));
  const found = family?.samples.filter(
    sample => sample.name === name && Object.entries(labels).every(([label, value]) => sample.labels[label] === value),
  );
  assert.ok((found?.length ?? 0) <= 1, `several samples of ${name} ${JSON.stringify(labels)}`);
  return found?.[0]?.value;
}
