import { Histogram } from './histogram.ts';

/** The labels of a sample: names to values. */
export type Labels = Readonly<Record<string, string>>;

/** The values of a metric at a scrape, each with its labels. A metric without values is omitted. */
export type Values<T = number> = readonly (readonly [labels: Labels, value: T])[];

/** A metric: its name, its help text, and how to read its values from `Source`. */
export type Metric<Source> = {
  readonly name: `${string}_${string}`;
  /** A sentence; it begins with the unit or the noun that is counted. */
  readonly help: string;
} & (
  | { readonly type: 'counter' | 'gauge'; read(source: Source): Values | number | undefined }
  | { readonly type: 'histogram'; read(source: Source): Values<Histogram> | Histogram | undefined }
);

/** Returns metrics in the Prometheus text format 0.0.4. */
export function metricsText<Source>(metrics: readonly Metric<Source>[], source: Source): string {
  return metrics.map(metric => familyText(metric, valuesOf<number | Histogram>(metric.read(source)))).join('');
}

function valuesOf<T extends number | Histogram>(read: Values<T> | T | undefined): Values<T> {
  if (read === undefined) return [];
  return Array.isArray(read) ? read : [[{}, read as T]];
}

function familyText({ name, help, type }: Metric<never>, values: Values<number | Histogram>): string {
  if (values.length === 0) return '';
  const lines = values.map(([labels, value]) =>
    value instanceof Histogram ? histogramText(name, labels, value) : sampleText(name, labels, value),
  );
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines.join('')}`;
}

function histogramText(name: string, labels: Labels, { bounds, counts, sum }: Histogram): string {
  let total = 0;
  const buckets = counts.map((count, index) => {
    total += count;
    const bound = bounds[index];
    return sampleText(`${name}_bucket`, { ...labels, le: bound === undefined ? '+Inf' : String(bound) }, total);
  });
  return buckets.join('') + sampleText(`${name}_sum`, labels, sum) + sampleText(`${name}_count`, labels, total);
}

function sampleText(name: string, labels: Labels, value: number): string {
  const pairs = Object.entries(labels).map(
    ([label, text]) =>
      `${label}="${text.replace(/[\\"\n]/g, character => (character === '\n' ? '\\n' : `\\${character}`))}"`,
  );
  return `${name}${pairs.length === 0 ? '' : `{${pairs.join(',')}}`} ${value}\n`;
}
