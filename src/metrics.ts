import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { Deployment } from './deployment.ts';
import type { BodyBudget } from './lib/http/server/body-budget.ts';
import type { Outcome } from './lib/http/server/options.ts';
import { Metrics } from './lib/metrics.ts';
import type { Limiter } from './limits/limiter.ts';

export interface Observation {
  readonly metrics: Metrics;
  /** Records a response of the API. */
  recordResponse(address: string, outcome: Outcome): void;
}

/** Creates the metrics. Gauges read storage, the limiter, memory and the event loop at each scrape. */
export function observe(
  deployments: readonly Pick<Deployment, 'name' | 'database' | 'scans'>[],
  limiter: Limiter,
  bodies: BodyBudget,
): Observation {
  const metrics = new Metrics();
  const requests = metrics.counter('petstore_requests_total', 'Responses, by address, operation and status.');
  const seconds = metrics.histogram(
    'petstore_request_seconds',
    'Time from the headers of a request to its response.',
    [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
  );
  for (const { name, database } of deployments) {
    // A gauge is synchronous: it shows the result of the check that the previous scrape started.
    let ok = true;
    metrics.gauge(`petstore_${name}_storage_ok`, `1 while the storage of ${name} serves reads.`, () => {
      void Promise.resolve(database.health()).then(health => {
        ok = health.ok;
      });
      return ok ? 1 : 0;
    });
  }
  const exactHelp = '1 while requests are counted exactly, 0 while each node counts its share.';
  metrics.gauge('petstore_counts_exact', exactHelp, () => Number(limiter.health().counts === 'exact'));
  const durableHelp = '1 while the counts of the day are saved.';
  metrics.gauge('petstore_day_counts_durable', durableHelp, () => Number(limiter.health().day === 'durable'));
  metrics.gauge('petstore_request_bodies_bytes', 'Memory for request bodies in progress.', () => bodies.used);
  // All deployments have the same queue.
  metrics.gauge('petstore_scans', 'Lists in progress that scan many rows.', () => deployments[0]!.scans.size);
  const delay = monitorEventLoopDelay({ resolution: 20 });
  delay.enable();
  const delayHelp = 'Longest delay of the event loop since the previous scrape.';
  metrics.gauge('petstore_event_loop_delay_seconds', delayHelp, () => {
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
    recordResponse(address, { route, status, durationMs }) {
      const operation = route?.operationId ?? '';
      requests.add(`${address} ${operation} ${status}`, () => ({ address, operation, status: String(status) }));
      seconds.observe(durationMs / 1000);
    },
  };
}
