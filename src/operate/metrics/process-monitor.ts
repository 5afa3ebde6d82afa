import { readdir, readFile } from 'node:fs/promises';
import { constants, monitorEventLoopDelay, PerformanceObserver } from 'node:perf_hooks';
import { Histogram } from '../../lib/histogram.ts';

const gcBounds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1];

/** The measurements of the process at one scrape. */
export interface ProcessReadings {
  readonly cpuSeconds: number;
  /** When it started, in seconds since the Unix epoch. */
  readonly startTime: number;
  readonly memory: NodeJS.MemoryUsage;
  /** The durations of garbage collections in seconds, by kind. */
  readonly gc: ReadonlyMap<string, Histogram>;
  /** The delays of the event loop since the previous scrape, in seconds; 0 if there was none. */
  readonly lag: { readonly max: number; readonly mean: number; readonly p99: number };
  /** Absent on systems without `/proc`. */
  readonly descriptors: { readonly open: number; readonly max: number } | undefined;
  /** Connections that the kernel dropped since the machine or container started. Absent on systems without `/proc`. */
  readonly listenOverflows: number | undefined;
}

/** Measures the process: the delays of its event loop, and its garbage collections. */
export class ProcessMonitor {
  readonly #delay = monitorEventLoopDelay({ resolution: 20 });
  readonly #gc = new Map<string, Histogram>();
  readonly #observer: PerformanceObserver;

  constructor() {
    this.#delay.enable();
    this.#observer = new PerformanceObserver(list => {
      for (const { duration, detail } of list.getEntries() as GcEntry[]) {
        const kind = gcKinds[detail.kind] ?? 'other';
        this.#gc.getOrInsertComputed(kind, () => new Histogram(gcBounds)).observe(duration / 1000);
      }
    });
    this.#observer.observe({ entryTypes: ['gc'] });
  }

  async read(): Promise<ProcessReadings> {
    const { user, system } = process.cpuUsage();
    const { max, mean } = this.#delay;
    const lag = { max: max / 1e9, mean: (mean || 0) / 1e9, p99: this.#delay.percentile(99) / 1e9 };
    this.#delay.reset();
    return {
      cpuSeconds: (user + system) / 1e6,
      startTime: performance.timeOrigin / 1000,
      memory: process.memoryUsage(),
      gc: this.#gc,
      lag,
      descriptors: await readDescriptors().catch(() => undefined),
      listenOverflows: await readListenOverflows().catch(() => undefined),
    };
  }

  close(): void {
    this.#delay.disable();
    this.#observer.disconnect();
  }
}

/** A member that Node's types lack. */
type GcEntry = PerformanceEntry & { readonly detail: { readonly kind: number } };

const gcKinds: Readonly<Record<number, string>> = {
  [constants.NODE_PERFORMANCE_GC_MINOR]: 'minor',
  [constants.NODE_PERFORMANCE_GC_MAJOR]: 'major',
  [constants.NODE_PERFORMANCE_GC_INCREMENTAL]: 'incremental',
  [constants.NODE_PERFORMANCE_GC_WEAKCB]: 'weakcb',
};

async function readDescriptors(): Promise<ProcessReadings['descriptors']> {
  const [open, limits] = await Promise.all([readdir('/proc/self/fd'), readFile('/proc/self/limits', 'utf8')]);
  const [, max] = /^Max open files +(\d+)/m.exec(limits)!;
  return { open: open.length, max: Number(max) };
}

/** Reads a counter of the kernel: a line of names, and one of values. */
async function readListenOverflows(): Promise<number> {
  const lines = (await readFile('/proc/self/net/netstat', 'utf8'))
    .split('\n')
    .filter(line => line.startsWith('TcpExt:'));
  const [names, values] = lines.map(line => line.split(' ')) as [string[], string[]];
  return Number(values[names.indexOf('ListenOverflows')]);
}
