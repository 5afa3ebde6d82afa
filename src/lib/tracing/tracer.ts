import { AsyncLocalStorage } from 'node:async_hooks';
import { Problem } from '../http/problem.ts';
import type { MaybePromise } from '../maybe-promise.ts';
import { parseTraceparent } from '../trace-context.ts';
import { type EndedSpan, type NewSpan, type Recording, randomHex, Span } from './span.ts';

export interface TracerOptions {
  /** The share of the units of work without a parent that are recorded, from 0 to 1. */
  readonly ratio: number;
  /** Returns the time in milliseconds since the Unix epoch. */
  now(): number;
  /** Called when a unit of work ends, with its spans and the number of dropped ones. */
  export(spans: readonly EndedSpan[], dropped: number): void;
}

/** Records the spans of units of work, such as requests and jobs, and knows which span is active. */
export class Tracer {
  readonly #options: TracerOptions;
  readonly #active = new AsyncLocalStorage<Span | undefined>();

  constructor(options: TracerOptions) {
    this.#options = options;
  }

  /**
   * Starts the first span of a unit of work, in the trace of `traceparent` if that is valid. Returns `undefined` if the
   * caller does not record its trace, or if the ratio excludes it.
   */
  start(span: NewSpan, traceparent?: string | readonly string[] | undefined): Span | undefined {
    const caller = parseTraceparent(traceparent);
    const { ratio, now } = this.#options;
    if (caller === undefined ? Math.random() >= ratio : !caller.isSampled) return undefined;
    const recording: Recording = {
      traceId: caller?.traceId ?? randomHex(16),
      epochMs: now() - performance.now(),
      spans: [],
      started: 0,
      // Runs outside of the work's context, which the timers and connections of the export would keep alive.
      onEnd: (spans, dropped) => this.#active.run(undefined, () => this.#options.export(spans, dropped)),
    };
    return new Span(recording, caller?.spanId, span);
  }

  /** Runs work while `span` is active: `measure` records its children. Without a span nothing is recorded. */
  within<T>(span: Span | undefined, work: () => T): T {
    return this.#active.run(span, work);
  }

  /** Runs work, and records it as a child of the active span if there is one; `work` gets the child. */
  measure<T>(child: NewSpan, work: (span: Span | undefined) => MaybePromise<T>): MaybePromise<T> {
    const span = this.#active.getStore()?.child(child);
    return span === undefined ? work(undefined) : this.#active.run(span, endAfter, span, () => work(span));
  }
}

/** Runs work, and ends the span with it. */
export function endAfter<T>(span: Span, work: () => MaybePromise<T>): MaybePromise<T> {
  const end = (value: T) => {
    span.end();
    return value;
  };
  const fail = (error: unknown): never => {
    // An error of the caller is not a failure of the service.
    if (error instanceof Problem && error.status < 500) span.set({ 'error.type': error.code });
    else span.fail(errorType(error));
    span.end();
    throw error;
  };
  try {
    const result = work();
    return result instanceof Promise ? result.then(end, fail) : end(result);
  } catch (error) {
    return fail(error);
  }
}

/** Returns the code of an error, or its name. Messages may contain anything. */
function errorType(error: unknown): string {
  const { code, reason, name } = (error ?? {}) as { code?: unknown; reason?: unknown; name?: unknown };
  return [code, reason, name].map(String).find(text => /^(?!undefined$)\w{1,64}$/.test(text)) ?? 'error';
}
