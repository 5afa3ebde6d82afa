import { type Queue, type QueueName, readBacklog } from '../backlog.ts';
import type { BackupStatus, ScheduledBackups } from '../backup/scheduled/job.ts';
import type { AddressName } from '../config.ts';
import { type DatabaseSize, databaseSize } from '../database-size.ts';
import { webhooksWaitingSince } from '../deliveries/delay.ts';
import type { Deployment } from '../deployment.ts';
import { nextDueTimes, type QueuedJob } from '../jobs.ts';
import type { ServerLoad } from '../lib/http/server/options.ts';
import type { SharedBudget } from '../lib/shared-budget.ts';
import type { Health, StorageMeasurements } from '../lib/storage/database.ts';
import type { SpanCounts } from '../lib/tracing/exporter.ts';
import type { Limiter, LimiterHealth, LimiterMeasurements } from '../limits/limiter.ts';
import type { DeploymentName } from '../schema.ts';
import type { AccessLog } from '../usage/access-log.ts';
import { ProcessMonitor, type ProcessReadings } from './process-monitor.ts';
import { RequestMetrics } from './request-metrics.ts';

/** The parts of the service that a monitor measures, besides the process and the addresses. */
export interface MonitorDeps {
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

/** Everything that one scrape reads. */
export interface Snapshot {
  readonly addresses: readonly AddressReadings[];
  readonly deployments: readonly DeploymentReadings[];
  readonly limits: LimiterHealth & LimiterMeasurements;
  /** The memory for request bodies in progress. */
  readonly bodyBytes: number;
  /** The lists in progress that scan many rows. */
  readonly scans: number;
  /** The lines of the access log that were dropped; absent without one. */
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

/** What waits in a database, and its size. Times are in milliseconds since the Unix epoch. */
interface Work {
  readonly now: number;
  readonly queues: Readonly<Record<QueueName, Queue>>;
  readonly dueTimes: Readonly<Record<QueuedJob, number | null>>;
  /** See `webhooksWaitingSince`. */
  readonly webhooksSince: number | null;
  readonly size: DatabaseSize;
}

/** How long the backlog is not read again. */
const WORK_MS = 2000;

/** Measures the service, and reads what the metrics are made from at each scrape. */
export class Monitor {
  readonly #deps: MonitorDeps;
  readonly #process = new ProcessMonitor();
  readonly #addresses: { name: AddressName; requests: RequestMetrics; load(): ServerLoad }[] = [];
  readonly #work = new Map<DeploymentName, { readonly readMs: number; readonly work: Promise<Work | undefined> }>();

  constructor(deps: MonitorDeps) {
    this.#deps = deps;
  }

  /** Measures an address too. Returns what counts its responses. */
  addAddress(name: AddressName, load: () => ServerLoad): RequestMetrics {
    const requests = new RequestMetrics();
    this.#addresses.push({ name, requests, load });
    return requests;
  }

  /** Never rejects, and ends within a few seconds: calls of the database do. */
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
      // All deployments have the same queue.
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
