import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import packageJson from '../../../package.json' with { type: 'json' };
import type { Limiter } from '../../access/limits/limiter.ts';
import type { Clock } from '../../lib/clock.ts';
import type { OutgoingClient } from '../../lib/http/client/client.ts';
import type { JobType } from '../../lib/jobs/job-loop.ts';
import type { Log } from '../../lib/log.ts';
import type { DatabaseLocation } from '../../lib/storage/open.ts';
import { type SpanCounts, SpanExporter } from '../../lib/tracing/exporter.ts';
import { Tracer } from '../../lib/tracing/tracer.ts';
import type { Database, DeploymentName } from '../../model/schema.ts';
import type { EmailSender } from '../../store/messages/email-sender.ts';
import { serverAttributes, traceClient, traceEmailSender, traceLimiter } from './client-spans.ts';
import { traceJob } from './job-spans.ts';
import { RequestSpans } from './request-spans.ts';
import { traceDatabase } from './storage-spans.ts';

interface TracingOptions {
  readonly clock: Clock;
  readonly log: Log;
  /** The URL of the collector, without `/v1/traces`. */
  readonly url: string;
  /** More headers of requests to the collector. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly serviceName: string;
  /** The share of requests and jobs without a parent that are traced, from 0 to 1. */
  readonly ratio: number;
}

/** The traces of one process: records spans of its work, and exports them. Loaded only if a collector is configured. */
export class Tracing {
  readonly requests: RequestSpans;
  readonly #exporter: SpanExporter;
  readonly #tracer: Tracer;

  constructor({ clock, log, url, headers, serviceName, ratio }: TracingOptions) {
    const { version } = packageJson;
    const resource = {
      'service.name': serviceName,
      'service.version': version,
      'service.instance.id': randomUUID(),
      'host.name': hostname(),
    };
    const exporter = new SpanExporter({ url, headers, resource, scope: { name: 'petstore', version }, log });
    const tracer = new Tracer({
      ratio,
      // Use the wall clock, because collectors compare times with their own.
      now: () => clock.wallTime?.() ?? clock.now(),
      export: exporter.add.bind(exporter),
    });
    this.#exporter = exporter;
    this.#tracer = tracer;
    this.requests = new RequestSpans(tracer);
  }

  /** @param deployment the deployment whose data the database stores */
  database(database: Database, deployment: DeploymentName, location: DatabaseLocation): Database {
    const server = 'url' in location ? serverAttributes(location.url) : {};
    return traceDatabase(this.#tracer, database, { 'petstore.deployment': deployment, ...server });
  }

  limiter(limiter: Limiter): Limiter {
    return traceLimiter(this.#tracer, limiter);
  }

  client(client: OutgoingClient): OutgoingClient {
    return traceClient(this.#tracer, client);
  }

  /** @param url the URL of the mail server */
  emailSender(sender: EmailSender, url: string): EmailSender {
    return traceEmailSender(this.#tracer, sender, url);
  }

  job<Job, Name extends string>(deployment: DeploymentName, type: JobType<Job, Name>): JobType<Job, Name> {
    return traceJob(this.#tracer, deployment, type);
  }

  /** The numbers of exported and dropped spans so far. */
  get spans(): SpanCounts {
    return this.#exporter;
  }

  close(): Promise<void> {
    return this.#exporter.close();
  }
}
