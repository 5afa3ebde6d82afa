import type { Clock } from '../../lib/clock.ts';
import type { Exchange } from '../../lib/http/server/exchange.ts';
import type { RequestOutcome } from '../../lib/http/server/options.ts';
import type { LineWriter } from '../../lib/line-writer.ts';
import { redact } from '../../lib/log.ts';
import { formatTime } from '../../lib/time.ts';
import { parseTraceparent } from '../../lib/trace-context.ts';
import { shownPath } from './shown-path.ts';

/** The members of an entry besides those of every entry. */
interface Entry {
  /**
   * Without secrets and without query parameters that the operation does not have; absent without an operation or page.
   */
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

  /** The number of lines dropped because the reader of the log is slow. */
  get dropped(): number {
    return this.#writer.dropped;
  }

  /** Logs a request of the API or of a view. */
  logRequest(deployment: string, exchange: Exchange, { route, prefix, status, code }: RequestOutcome): void {
    const path = route && shownPath({ ...exchange, prefix, route });
    const entry = { path, operation: route?.operationId, keyId: exchange.caller?.keyId, status, code };
    this.#log(deployment, exchange, entry);
  }

  /**
   * Logs a request of a page. @param path the page's path with its parameters in braces, because values may be secrets
   */
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
