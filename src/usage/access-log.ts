import type { Clock } from '../lib/clock.ts';
import type { Exchange } from '../lib/http/server/exchange.ts';
import type { Outcome } from '../lib/http/server/options.ts';
import type { LineWriter } from '../lib/line-writer.ts';
import { redact } from '../lib/log.ts';
import { formatTime } from '../lib/time.ts';
import { parseTraceparent } from '../lib/trace-context.ts';
import { shownPath } from './shown-path.ts';

/** What an entry has besides what every entry has. */
interface Entry {
  /** Without query parameters that the operation does not have, and without secrets; absent without an operation or page. */
  readonly path?: string | undefined;
  readonly operation?: string | undefined;
  readonly keyId?: string | undefined;
  readonly status: number;
  readonly code: string;
}

/** Logs every request of the API and of the pages as a line of JSON. */
export class AccessLog {
  readonly #writer: LineWriter;
  readonly #clock: Clock;

  constructor(writer: LineWriter, clock: Clock) {
    this.#writer = writer;
    this.#clock = clock;
  }

  /** Lines that were not written, because the reader of the log is slow. */
  get dropped(): number {
    return this.#writer.dropped;
  }

  /** Logs a request of the API. @param prefix of its paths */
  logRequest(deployment: string, prefix: string, exchange: Exchange, { route, status, code }: Outcome): void {
    const path = route && shownPath({ ...exchange, prefix, route });
    const entry = { path, operation: route?.operationId, keyId: exchange.caller?.keyId, status, code };
    this.#log(deployment, exchange, entry);
  }

  /** Logs a request of a page. @param path that of the page, with its parameters in braces: they may be secrets */
  logPage(deployment: string, exchange: Exchange, path: string | undefined, code: string): void {
    this.#log(deployment, exchange, { path, status: exchange.response.statusCode, code });
  }

  #log(deployment: string, { request, requestId, receivedMs }: Exchange, entry: Entry): void {
    const { path, operation, keyId, status, code } = entry;
    const line = JSON.stringify({
      level: 'info',
      time: formatTime(Math.floor(this.#clock.now())),
      deployment,
      method: request.method,
      path,
      operation,
      status,
      code: code === '' ? undefined : code,
      durationMs: Math.round((performance.now() - receivedMs) * 1000) / 1000,
      keyId,
      requestId,
      traceId: parseTraceparent(request.headers['traceparent'])?.traceId,
      msg: 'request',
    });
    this.#writer.write(`${redact(line)}\n`);
  }
}
