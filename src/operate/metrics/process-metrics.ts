import packageJson from '../../../package.json' with { type: 'json' };
import type { Metric } from '../../lib/metrics.ts';
import type { Snapshot } from './monitor.ts';

/** The metrics of the process and of Node.js, with the names that Prometheus' official clients use. */
export const processMetrics: readonly Metric<Snapshot>[] = [
  {
    name: 'petstore_build_info',
    type: 'gauge',
    help: 'Always 1. The labels have the versions of the service and of Node.js.',
    read: () => [[{ version: packageJson.version, node: process.versions.node }, 1]],
  },
  {
    name: 'process_start_time_seconds',
    type: 'gauge',
    help: 'When the process started, in seconds since the Unix epoch.',
    read: snapshot => snapshot.process.startTime,
  },
  {
    name: 'process_cpu_seconds_total',
    type: 'counter',
    help: 'Processor time, user and system.',
    read: snapshot => snapshot.process.cpuSeconds,
  },
  {
    name: 'process_resident_memory_bytes',
    type: 'gauge',
    help: 'Resident memory.',
    read: snapshot => snapshot.process.memory.rss,
  },
  {
    name: 'process_open_fds',
    type: 'gauge',
    help: 'Open file descriptors (Linux).',
    read: snapshot => snapshot.process.descriptors?.open,
  },
  {
    name: 'process_max_fds',
    type: 'gauge',
    help: 'Maximum number of file descriptors that the process may open (Linux).',
    read: snapshot => snapshot.process.descriptors?.max,
  },
  {
    name: 'petstore_tcp_listen_overflows_total',
    type: 'counter',
    help: 'Connections that the kernel dropped because too many waited to be accepted, on any port of the machine or container (Linux).',
    read: snapshot => snapshot.process.listenOverflows,
  },
  {
    name: 'nodejs_heap_size_used_bytes',
    type: 'gauge',
    help: 'Heap that objects use.',
    read: snapshot => snapshot.process.memory.heapUsed,
  },
  {
    name: 'nodejs_heap_size_total_bytes',
    type: 'gauge',
    help: 'Heap that the process has reserved.',
    read: snapshot => snapshot.process.memory.heapTotal,
  },
  {
    name: 'nodejs_external_memory_bytes',
    type: 'gauge',
    help: 'Memory of buffers and native objects outside the heap.',
    read: snapshot => snapshot.process.memory.external,
  },
  {
    name: 'nodejs_gc_duration_seconds',
    type: 'histogram',
    help: 'Time of a garbage collection, by kind.',
    read: snapshot => Array.from(snapshot.process.gc, ([kind, durations]) => [{ kind }, durations] as const),
  },
  {
    name: 'nodejs_eventloop_lag_mean_seconds',
    type: 'gauge',
    help: 'Mean delay of the event loop since the previous scrape.',
    read: snapshot => snapshot.process.lag.mean,
  },
  {
    name: 'nodejs_eventloop_lag_p99_seconds',
    type: 'gauge',
    help: '99th percentile of the delays of the event loop since the previous scrape.',
    read: snapshot => snapshot.process.lag.p99,
  },
  {
    name: 'nodejs_eventloop_lag_max_seconds',
    type: 'gauge',
    help: 'Longest delay of the event loop since the previous scrape.',
    read: snapshot => snapshot.process.lag.max,
  },
];
