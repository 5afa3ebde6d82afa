import type { Metric, Values } from '../../lib/metrics.ts';
import type { Health, PoolState, StorageMeasurements } from '../../lib/storage/database.ts';
import { SPANS_MAX } from '../../lib/trace-context.ts';
import type { AddressReadings, DeploymentReadings, Snapshot } from './monitor.ts';
import { processMetrics } from './process-metrics.ts';
import { type Labelled, ofWork, workMetrics } from './work-metrics.ts';

/** The label of requests without an operation: no operation has their path, or none has their method. */
const NO_OPERATION = 'none';

const requestMetrics: readonly Metric<Snapshot>[] = [
  {
    name: 'petstore_http_requests_total',
    type: 'counter',
    help: 'Responses of the API by operation and status. `operation` is `none` if there is no operation at the path.',
    read: ({ addresses }) =>
      addresses.flatMap(({ name, requests }) =>
        Array.from(requests.operations, ([route, { responses }]) =>
          Array.from(responses, ([status, count]) => {
            const operation = route?.operationId ?? NO_OPERATION;
            return [{ deployment: name, operation, status: String(status) }, count] as const;
          }),
        ).flat(),
      ),
  },
  {
    name: 'petstore_http_request_duration_seconds',
    type: 'histogram',
    help: 'Time from the headers of a request to its response, by operation; for a stream, until the stream begins.',
    read: ({ addresses }) =>
      addresses.flatMap(({ name, requests }) =>
        Array.from(requests.operations, ([route, { durations }]) => {
          return [{ deployment: name, operation: route?.operationId ?? NO_OPERATION }, durations] as const;
        }),
      ),
  },
  {
    name: 'petstore_http_errors_total',
    type: 'counter',
    help: 'Error responses by code, also to requests that are not well-formed HTTP.',
    read: ({ addresses }) =>
      addresses.flatMap(({ name, requests }) =>
        Array.from(requests.errors, ([code, count]) => [{ deployment: name, code }, count] as const),
      ),
  },
  {
    name: 'petstore_http_shed_requests_total',
    type: 'counter',
    help: 'Requests that got 503 `overloaded` before any work, by sign of overload: `event_loop` (requests wait for their start), `database` (calls wait for a connection).',
    read: ({ addresses }) =>
      addresses.flatMap(({ name, load }) =>
        Object.entries(load.shed).map(([reason, count]) => [{ deployment: name, reason }, count] as const),
      ),
  },
  {
    name: 'petstore_http_connections',
    type: 'gauge',
    help: 'Open connections.',
    read: byAddress(({ load }) => load.connections),
  },
  {
    name: 'petstore_http_requests_in_flight',
    type: 'gauge',
    help: 'Connections with a request in flight, streams included.',
    read: byAddress(({ load }) => load.inFlight),
  },
  {
    name: 'petstore_event_streams',
    type: 'gauge',
    help: 'Open event streams.',
    read: byAddress(({ load }) => load.streams),
  },
  {
    name: 'petstore_http_request_body_bytes',
    type: 'gauge',
    help: 'Memory for request bodies in progress; at most `PETSTORE_BODIES_MIB`.',
    read: ({ bodyBytes }) => bodyBytes,
  },
  {
    name: 'petstore_scans',
    type: 'gauge',
    help: 'Lists in progress that scan many rows.',
    read: ({ scans }) => scans,
  },
];

/** Metrics about the records of requests besides metrics: logs and traces. */
const recordMetrics: readonly Metric<Snapshot>[] = [
  {
    name: 'petstore_access_log_dropped_total',
    type: 'counter',
    help: 'Lines of the access log that were dropped because its reader is slow.',
    read: ({ accessLogDropped }) => accessLogDropped,
  },
  {
    name: 'petstore_trace_spans_exported_total',
    type: 'counter',
    help: 'Spans that the collector of traces accepted.',
    read: ({ spans }) => spans?.exported,
  },
  {
    name: 'petstore_trace_spans_dropped_total',
    type: 'counter',
    help:
      'Spans that were dropped, by reason: `queue`, too many waited; `export`, the collector did not accept them; ' +
      `\`trace\`, a request or job had more than ${SPANS_MAX}.`,
    read: ({ spans }) => spans && Object.entries(spans.dropped).map(([reason, count]) => [{ reason }, count] as const),
  },
];

const writeStates = ['ok', 'full', 'stalled', 'unavailable'] satisfies Health['writes'][];

const storageMetrics: readonly Metric<Snapshot>[] = [
  {
    name: 'petstore_storage_ok',
    type: 'gauge',
    help: '1 while the database serves reads and writes, 0 while it refuses either.',
    read: byDeployment(({ health }) => Number(health.ok && health.writes === 'ok')),
  },
  {
    name: 'petstore_storage_reads_ok',
    type: 'gauge',
    help: '1 while the database serves reads.',
    read: byDeployment(({ health }) => Number(health.ok)),
  },
  {
    name: 'petstore_storage_write_state',
    type: 'gauge',
    help: '1 for the current state of writes, as in `/readyz`, and 0 for the others.',
    read: ({ deployments }) =>
      deployments.flatMap(({ name, health }) =>
        writeStates.map(state => [{ deployment: name, state }, Number(health.writes === state)] as const),
      ),
  },
  {
    name: 'petstore_storage_used_bytes',
    type: 'gauge',
    help: 'Size of the rows and indexes of the database; on PostgreSQL with the space that new rows reuse.',
    read: ofWork(({ size }, labels) => [[labels, size.used]]),
  },
  {
    name: 'petstore_storage_free_bytes',
    type: 'gauge',
    help: 'Size of the part of the database file that new rows reuse (embedded database).',
    read: ofWork(({ size }, labels) => (size.free === null ? [] : [[labels, size.free]])),
  },
  {
    name: 'petstore_storage_flush_duration_seconds',
    type: 'histogram',
    help: 'Time of a flush of the write-ahead log to disk (embedded database).',
    read: ofWal(({ flushes }) => flushes),
  },
  {
    name: 'petstore_storage_checkpoint_duration_seconds',
    type: 'histogram',
    help: 'Time of a checkpoint (embedded database).',
    read: ofWal(({ checkpoints }) => checkpoints),
  },
  {
    name: 'petstore_storage_wal_bytes',
    type: 'gauge',
    help: 'Size of the write-ahead log (embedded database).',
    read: ofWal(({ bytes }) => bytes),
  },
  {
    name: 'petstore_storage_pool_connections',
    type: 'gauge',
    help: 'Connections to PostgreSQL by state.',
    read: ofPool((pool, labels) => [
      [{ ...labels, state: 'used' }, pool.used],
      [{ ...labels, state: 'idle' }, pool.idle],
    ]),
  },
  {
    name: 'petstore_storage_pool_connections_max',
    type: 'gauge',
    help: 'Maximum number of connections that the pool opens.',
    read: ofPool((pool, labels) => [[labels, pool.max]]),
  },
  {
    name: 'petstore_storage_pool_waiting',
    type: 'gauge',
    help: 'Calls that wait for a connection to PostgreSQL.',
    read: ofPool((pool, labels) => [[labels, pool.waiting]]),
  },
];

const limitMetrics: readonly Metric<Snapshot>[] = [
  {
    name: 'petstore_rate_limit_exact',
    type: 'gauge',
    help: '1 while requests are counted exactly, 0 while each node allows its share of the limits.',
    read: ({ limits }) => Number(limits.counts === 'exact'),
  },
  {
    name: 'petstore_rate_limit_durable',
    type: 'gauge',
    help: '1 while the counts of the day reach the disk.',
    read: ({ limits }) => Number(limits.day === 'durable'),
  },
  {
    name: 'petstore_valkey_call_duration_seconds',
    type: 'histogram',
    help: 'Time of a call to Valkey, from its request to its reply.',
    read: ({ limits }) => limits.valkeyCalls,
  },
  {
    name: 'petstore_banned_keys',
    type: 'gauge',
    help: 'API keys that are banned at present, as far as this node knows.',
    read: ({ limits }) => limits.bannedKeys,
  },
  {
    name: 'petstore_bans_total',
    type: 'counter',
    help: 'Bans that this node imposed.',
    read: ({ limits }) => limits.bansImposed,
  },
];

/** Without scheduled backups, these metrics have no values. */
const backupMetrics: readonly Metric<Snapshot>[] = [
  {
    name: 'petstore_backup_last_success_timestamp_seconds',
    type: 'gauge',
    help: 'When the latest good scheduled backup began, in seconds since the Unix epoch; 0 if there is none.',
    read: ({ backups }) => backups && (backups.last?.startedAt ?? 0) / 1000,
  },
  {
    name: 'petstore_backup_last_duration_seconds',
    type: 'gauge',
    help: 'How long the latest good scheduled backup took.',
    read: ({ backups }) => backups?.last && backups.last.durationMs / 1000,
  },
  {
    name: 'petstore_backup_last_size_bytes',
    type: 'gauge',
    help: 'Size of the latest good scheduled backup.',
    read: ({ backups }) => backups?.last?.bytes,
  },
  {
    name: 'petstore_backup_failures_total',
    type: 'counter',
    help: 'Failed attempts of this node at a scheduled backup.',
    read: ({ backups }) => backups?.failures,
  },
  {
    name: 'petstore_backup_interval_seconds',
    type: 'gauge',
    help: 'Time between scheduled backups: `PETSTORE_BACKUP_INTERVAL`.',
    read: ({ backups }) => backups && backups.intervalMs / 1000,
  },
];

/** Every metric by its section in the reference. `GET /metrics` serves them in this order. */
export const metricGroups: Readonly<Record<string, readonly Metric<Snapshot>[]>> = {
  Requests: [...requestMetrics, ...recordMetrics],
  Storage: storageMetrics,
  'Rate limits': limitMetrics,
  Backlog: workMetrics,
  Backups: backupMetrics,
  Process: processMetrics,
};

export const metrics: readonly Metric<Snapshot>[] = Object.values(metricGroups).flat();

function byAddress(read: (address: AddressReadings) => number) {
  return ({ addresses }: Snapshot): Values => addresses.map(address => [{ deployment: address.name }, read(address)]);
}

function byDeployment(read: (deployment: DeploymentReadings) => number) {
  return ({ deployments }: Snapshot): Values =>
    deployments.map(deployment => [{ deployment: deployment.name }, read(deployment)]);
}

/** Reads a measurement of the write-ahead log; no values on PostgreSQL. */
function ofWal<T>(read: (wal: NonNullable<StorageMeasurements['wal']>) => T) {
  return ({ deployments }: Snapshot): Values<T> =>
    deployments.flatMap(({ name, storage }) =>
      storage.wal ? [[{ deployment: name }, read(storage.wal)] as const] : [],
    );
}

/** Reads measurements of the pool; no values on the embedded engine. */
function ofPool(read: (pool: PoolState, labels: Labelled) => Values) {
  return ({ deployments }: Snapshot): Values =>
    deployments.flatMap(({ name, storage }) => (storage.pool ? read(storage.pool, { deployment: name }) : []));
}
