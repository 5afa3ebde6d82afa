import type { Deployment } from '../../access/deployment.ts';
import type { Limiter, LimiterHealth, LimiterMeasurements } from '../../access/limits/limiter.ts';
import { webhooksWaitingSince } from '../../events/deliveries/delay.ts';
import { durationBounds, Histogram } from '../../lib/histogram.ts';
import type { RequestOutcome, ServerLoad } from '../../lib/http/server/options.ts';
import type { SharedBudget } from '../../lib/shared-budget.ts';
import type { Health, StorageMeasurements } from '../../lib/storage/database.ts';
import type { SpanCounts } from '../../lib/tracing/exporter.ts';
import type { AddressName } from '../../model/config.ts';
import type { DeploymentName } from '../../model/schema.ts';
import type { BackupStatus, ScheduledBackups } from '../backup/scheduled/job.ts';
import { nextDueTimes, type QueuedJob } from '../jobs.ts';
import type { AccessLog } from '../usage/access-log.ts';
import { type Queue, type QueueName, readBacklog } from './backlog.ts';
import { type DatabaseSize, databaseSize } from './database-size.ts';
import { ProcessMonitor, type ProcessReadings } from './process-monitor.ts';

/** The parts of the service that a monitor measures, besides the process and the addresses. */
interface MonitorDeps {
  readonly deployments: readonly MeasuredDeployment[];
  readonly limiter: Limiter;
  readonly bodies: SharedBudget<number>;
  readonly accessLog: Pick<AccessLog, 'dropped'> | undefined;
  /** Absent without traces. */
  readonly spans: SpanCounts | undefined;
  /** Absent if no backups are scheduled. */
  readonly backups: Pick<ScheduledBackups, 'status'> | undefined;
}

type MeasuredDeployment = Pick<Deployment, 'name' | 'database' | 'clock' | 'scans'>;

/** The values that one scrape reads. */
export interface Snapshot {
  readonly addresses: readonly AddressReadings[];
  readonly deployments: readonly DeploymentReadings[];
  readonly limits: LimiterHealth & LimiterMeasurements;
  /** The memory for request bodies in progress. */
  readonly bodyBytes: number;
  /** The lists in progress that scan many rows. */
  readonly scans: number;
  /** The number of dropped lines of the access log; absent without an access log. */
  readonly accessLogDropped: number | undefined;
  /** Absent without traces. */
  readonly spans: SpanCounts | undefined;
  /** Absent if no backups are scheduled. */
  readonly backups: BackupStatus | undefined;
  readonly process: ProcessReadings;
}

export interface AddressReadings {
  readonly name: AddressName;
  readonly requests: RequestMetrics;
  readonly load: ServerLoad;
}

export interface DeploymentReadings {
  readonly name: DeploymentName;
  readonly health: Health;
  readonly storage: StorageMeasurements;
  /** The backlog and the size; absent while the database cannot be read. */
  readonly work: Work | undefined;
}

/** The backlog of a database, and its size. Times are in milliseconds since the Unix epoch. */
interface Work {
  readonly now: number;
  readonly queues: Readonly<Record<QueueName, Queue>>;
  readonly dueTimes: Readonly<Record<QueuedJob, number | null>>;
  /** See `webhooksWaitingSince`. */
  readonly webhooksSince: number | null;
  readonly size: DatabaseSize;
}

/** How long a backlog that was read stays valid. */
const WORK_MS = 2000;

/** Measures the service, and reads the values of the metrics at each scrape. */
export class Monitor {
  readonly #deps: MonitorDeps;
  readonly #process = new ProcessMonitor();
  readonly #addresses: { name: AddressName; requests: RequestMetrics; load(): ServerLoad }[] = [];
  readonly #work = new Map<DeploymentName, { readonly readMs: number; readonly work: Promise<Work | undefined> }>();

  constructor(deps: MonitorDeps) {
    this.#deps = deps;
  }

  /** Also measures an address. Returns the counters of its responses. */
  addAddress(name: AddressName, load: () => ServerLoad): RequestMetrics {
    const requests = new RequestMetrics();
    this.#addresses.push({ name, requests, load });
    return requests;
  }

  /** Never rejects. Ends within a few seconds, as calls of the database do. */
  async read(): Promise<Snapshot> {
    const { deployments, limiter, bodies, accessLog, spans, backups } = this.#deps;
    const [process, ...databases] = await Promise.all([
      this.#process.read(),
      ...deployments.map(deployment => this.#readDeployment(deployment)),
    ]);
    return {
      addresses: this.#addresses.map(({ name, requests, load }) => ({ name, requests, load: load() })),
      deployments: databases,
      limits: { ...limiter.health(), ...limiter.measurements() },
      bodyBytes: bodies.used,
      // All deployments share one queue.
      scans: deployments[0]!.scans.size,
      accessLogDropped: accessLog?.dropped,
      spans,
      backups: backups?.status(),
      process,
    };
  }

  close(): void {
    this.#process.close();
  }

  async #readDeployment(deployment: MeasuredDeployment): Promise<DeploymentReadings> {
    const { name, database } = deployment;
    const storage = database.measurements?.() ?? {};
    const [health, work] = await Promise.all([database.health(), this.#workOf(deployment)]);
    return { name, health, storage, work };
  }

  #workOf(deployment: MeasuredDeployment): Promise<Work | undefined> {
    const { name } = deployment;
    const latest = this.#work.get(name);
    if (latest !== undefined && performance.now() - latest.readMs < WORK_MS) return latest.work;
    const work = readWork(deployment).catch(() => undefined);
    this.#work.set(name, { readMs: performance.now(), work });
    return work;
  }
}

async function readWork({ database, clock }: MeasuredDeployment): Promise<Work> {
  const now = Math.floor(clock.now());
  const [queues, dueTimes, webhooksSince, size] = await Promise.all([
    readBacklog(database),
    nextDueTimes(database),
    webhooksWaitingSince(database, now),
    databaseSize(database),
  ]);
  return { now, queues, dueTimes, webhooksSince, size };
}

/** The responses of one operation. */
interface OperationMetrics {
  /** The number of responses by status. */
  readonly responses: Map<number, number>;
  /** The time from the headers of a request to its response, in seconds. */
  readonly durations: Histogram;
}

/** Counts the responses of one address. Has at most one entry per operation, status and error code. */
class RequestMetrics {
  /** Requests without an operation have the key `undefined`. */
  readonly operations = new Map<RequestOutcome['route'], OperationMetrics>();
  /** The error responses by code. */
  readonly errors = new Map<string, number>();

  /** Records the response to a request of the API. */
  record({ route, status, durationMs }: RequestOutcome): void {
    let operation = this.operations.get(route);
    if (operation === undefined) {
      operation = { responses: new Map(), durations: new Histogram(durationBounds) };
      this.operations.set(route, operation);
    }
    operation.responses.set(status, (operation.responses.get(status) ?? 0) + 1);
    operation.durations.observe(durationMs / 1000);
  }

  /** Records an error response, also to a malformed request. */
  recordError(code: string): void {
    this.errors.set(code, (this.errors.get(code) ?? 0) + 1);
  }
}
