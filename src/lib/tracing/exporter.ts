import { setImmediate as nextTurn } from 'node:timers/promises';
import { type ConnectionPool, createConnectionPool } from '../http/client/connection-pool.ts';
import { type Outcome, outcomeOf } from '../http/client/outcome.ts';
import { postOnce } from '../http/client/post-once.ts';
import type { Log } from '../log.ts';
import { LogThrottle } from '../log-throttle.ts';
import { endsWithin } from '../timeout.ts';
import { encodeSpans, type InstrumentationScope } from './otlp.ts';
import type { Attributes, EndedSpan } from './span.ts';

export interface SpanExporterOptions {
  /** The URL of the collector, without `/v1/traces`. */
  readonly url: string;
  /** More request headers, by lower-case name. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** The attributes of this process. */
  readonly resource: Attributes;
  /** The program that creates the spans. */
  readonly scope: InstrumentationScope;
  readonly log: Log;
  /** Overrides of {@link exportLimits}. */
  readonly limits?: Partial<ExportLimits>;
}

/** The bounds of an exporter. Times are in milliseconds. */
export const exportLimits = {
  /** The maximum number of waiting spans. Further ones are dropped. */
  queue: 4096,
  /** The maximum number of spans in one request. */
  batch: 512,
  /** How long spans wait for others to fill a batch. */
  delayMs: 1000,
  /** The deadline of a request. */
  timeoutMs: 10_000,
  /** How often a batch is sent before it is dropped. */
  attempts: 5,
  /** The wait after the first failure, and the longest wait: each consecutive failure doubles it. */
  retryMs: 1000,
  retryMaxMs: 30_000,
  /** How long `close` waits for the collector. */
  closeMs: 2000,
};

export type ExportLimits = Readonly<typeof exportLimits>;

/** Why spans were dropped. */
export type DropReason =
  /** Too many spans waited for the collector. */
  | 'queue'
  /** The collector did not accept them. */
  | 'export'
  /** Their unit of work had too many spans. */
  | 'trace';

/** The numbers of exported and dropped spans. */
export interface SpanCounts {
  /** The spans that the collector accepted. */
  readonly exported: number;
  readonly dropped: Readonly<Record<DropReason, number>>;
}

/** The statuses after which the same request may succeed later (OTLP 1.x). */
const RETRYABLE: readonly number[] = [429, 502, 503, 504];
const PATH = '/v1/traces';

/**
 * Sends spans to an OpenTelemetry collector in batches, as OTLP/HTTP with JSON. A collector that is down, slow or
 * hostile delays no request: the queue is bounded, each export has a deadline, and at most 64 KiB of a response are
 * read. Redirects are not followed.
 */
export class SpanExporter implements SpanCounts {
  exported = 0;
  readonly dropped: Record<DropReason, number> = { queue: 0, export: 0, trace: 0 };
  readonly #options: SpanExporterOptions;
  readonly #limits: ExportLimits;
  readonly #url: URL;
  readonly #pool: ConnectionPool;
  readonly #throttle = new LogThrottle();
  readonly #closing = new AbortController();
  /** The batch in flight stays at the front until the collector has accepted it, so that the bound includes it. */
  readonly #queue: EndedSpan[] = [];
  #timer: NodeJS.Timeout | undefined;
  #sending: Promise<void> | undefined;
  /** Consecutive failures: of all exports, and of the oldest batch. */
  #failures = 0;
  #batchFailures = 0;
  #retryAtMs = 0;
  #isReported = false;
  #isClosed = false;

  constructor(options: SpanExporterOptions) {
    this.#options = options;
    this.#limits = { ...exportLimits, ...options.limits };
    this.#url = new URL(options.url);
    this.#pool = createConnectionPool({ idlePerHost: 1, total: 1, idleMs: 4000 });
  }

  /** Queues spans. @param dropped how many spans were dropped because their unit of work had too many */
  add(spans: readonly EndedSpan[], dropped = 0): void {
    const free = this.#isClosed ? 0 : this.#limits.queue - this.#queue.length;
    this.#queue.push(...spans.slice(0, free));
    this.dropped.queue += Math.max(0, spans.length - free);
    this.dropped.trace += dropped;
    this.#schedule();
  }

  /** Sends the waiting spans, if the collector accepts them soon, and stops. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await endsWithin(this.#flush(), this.#limits.closeMs);
    this.#closing.abort();
    this.#pool.close();
    const lost = this.#queue.length;
    if (lost === 0) return;
    this.#dropBatch(lost);
    this.#options.log.warn({ spans: lost }, 'The last spans could not be exported.');
  }

  async #flush(): Promise<void> {
    await this.#sending;
    while (this.#queue.length > 0) {
      await this.#sendBatch();
      if (this.#failures > 0) return;
    }
  }

  #schedule(): void {
    if (this.#isClosed || this.#sending !== undefined || this.#queue.length === 0) return;
    if (this.#queue.length >= this.#limits.batch && this.#failures === 0) this.#start();
    else this.#timer ??= setTimeout(() => this.#start(), this.#waitMs()).unref();
  }

  #waitMs(): number {
    return Math.max(this.#limits.delayMs, this.#retryAtMs - performance.now());
  }

  #start(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#sending = this.#sendBatch().finally(() => {
      this.#sending = undefined;
      this.#schedule();
    });
  }

  /** Sends the batch at the front of the queue. Never rejects. */
  async #sendBatch(): Promise<void> {
    // Encoding a batch takes milliseconds; the request that filled the batch should not wait for it.
    await nextTurn();
    const batch = this.#queue.slice(0, this.#limits.batch);
    const { resource, scope } = this.#options;
    const outcome = await this.#post(encodeSpans(resource, scope, batch));
    if ('status' in outcome && outcome.status >= 200 && outcome.status < 300) {
      this.#accept(batch.length, outcome.body);
    } else {
      this.#fail(batch.length, outcome);
    }
  }

  async #post(body: string): Promise<Outcome> {
    const { protocol, hostname, port, pathname } = this.#url;
    const tls = protocol === 'https:';
    const host = hostname.replace(/^\[|\]$/g, '');
    const { scope, headers } = this.#options;
    const options = {
      host,
      port: port === '' ? (tls ? 443 : 80) : Number(port),
      path: pathname.replace(/\/+$/, '') + PATH,
      agent: tls ? this.#pool.https : this.#pool.http,
      headers: {
        'user-agent': `${scope.name}/${scope.version}`,
        ...headers,
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
        'accept-encoding': 'identity',
      },
    };
    const post = () =>
      postOnce(tls, options, body, this.#limits.timeoutMs, { signal: this.#closing.signal, isAllowed: undefined });
    let result = await post();
    // The collector has closed the idle connection, so repeat the request.
    if ('stale' in result && result.stale) result = await post();
    return 'fault' in result
      ? { fault: result.fault, durationMs: 0 }
      : outcomeOf(result.head, result.body, 0, Date.now());
  }

  #accept(count: number, response: string): void {
    const rejected = Math.min(count, Number(/"rejectedSpans"\s*:\s*"?(\d{1,9})\b/.exec(response)?.[1] ?? 0));
    this.exported += count - rejected;
    this.dropped.export += rejected;
    this.#removeBatch(count);
    if (rejected > 0 && this.#throttle.shouldLog('rejected')) {
      this.#options.log.warn({ collector: this.#url.host, rejected }, 'The collector rejected spans.');
    }
    if (this.#isReported) this.#options.log.info('Spans are exported again.');
    this.#isReported = false;
    this.#failures = 0;
  }

  #fail(count: number, outcome: Outcome): void {
    if (this.#closing.signal.aborted) return;
    const { attempts, retryMs, retryMaxMs } = this.#limits;
    const isRetryable = 'fault' in outcome || RETRYABLE.includes(outcome.status);
    this.#report(outcome);
    this.#failures++;
    this.#batchFailures++;
    if (!isRetryable || this.#batchFailures >= attempts) this.#dropBatch(count);
    const backoffMs = Math.min(retryMaxMs, retryMs * 2 ** (this.#failures - 1));
    const askedMs = 'status' in outcome ? Math.min(retryMaxMs, outcome.retryAfterMs ?? 0) : 0;
    // Jitter, so that several nodes do not retry at the same moment.
    this.#retryAtMs = performance.now() + Math.max(askedMs, backoffMs * (0.5 + Math.random() / 2));
  }

  /** Logs the first failure of an outage. */
  #report(outcome: Outcome): void {
    const isNew = this.#throttle.shouldLog('export');
    if (this.#failures > 0 || !isNew) return;
    const reason = 'fault' in outcome ? { fault: outcome.fault } : { status: outcome.status };
    this.#options.log.warn({ collector: this.#url.host, ...reason }, EXPORT_FAILED);
    this.#isReported = true;
  }

  #dropBatch(count: number): void {
    this.dropped.export += count;
    this.#removeBatch(count);
  }

  #removeBatch(count: number): void {
    this.#queue.splice(0, count);
    this.#batchFailures = 0;
  }
}

const EXPORT_FAILED =
  'Spans cannot be exported. The server keeps serving requests, and drops spans once too many wait.';
