import { monitorEventLoopDelay } from 'node:perf_hooks';
import { Metrics } from './lib/metrics.ts';
import type { Limiter } from './limits/limiter.ts';
import type { Database } from './schema.ts';

/** What an operator can watch of one process. */
export interface Observation {
  readonly metrics: Metrics;
  /** Notes one answer of the interface. `operation` is '' where the request was for none. */
  answered(address: string, operation: string, status: number, seconds: number): void;
}

/** Begins to watch: answers as they are noted, and storage, counts, memory and the event loop whenever somebody asks. */
export function observe(databases: Readonly<Record<string, Database>>, limiter: Limiter): Observation {
  const metrics = new Metrics();
  const requests = metrics.counter('petstore_requests_total', 'Answers, by address, operation and status.');
  const seconds = metrics.histogram(
    'petstore_request_seconds',
    'Time from a request’s headers to its answer.',
    [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
  );
  for (const [name, database] of Object.entries(databases)) {
    // What is asked anew for this answer stands in the next one.
    let ok = true;
    metrics.gauge(`petstore_${name}_storage_ok`, `1 while the storage of ${name} serves reads.`, () => {
      void Promise.resolve(database.health()).then(health => {
        ok = health.ok;
      });
      return ok ? 1 : 0;
    });
  }
  metrics.gauge('petstore_counts_exact', '1 while requests are counted exactly, 0 while by shares.', () =>
    limiter.health().counts === 'exact' ? 1 : 0,
  );
  metrics.gauge('petstore_day_counts_durable', '1 while the day’s counts reach the disk.', () =>
    limiter.health().day === 'durable' ? 1 : 0,
  );
  const delay = monitorEventLoopDelay({ resolution: 20 });
  delay.enable();
  metrics.gauge('petstore_event_loop_delay_seconds', 'The longest wait of the event loop since the last look.', () => {
    const longest = delay.max / 1e9;
    delay.reset();
    return longest;
  });
  metrics.gauge('process_resident_memory_bytes', 'Resident memory.', () => process.memoryUsage.rss());
  metrics.gauge('process_cpu_seconds_total', 'Processor time, user and system.', () => {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1e6;
  });
  return {
    metrics,
    answered(address, operation, status, took) {
      requests.add(`${address} ${operation} ${status}`, () => ({ address, operation, status: String(status) }));
      seconds.observe(took);
    },
  };
}
