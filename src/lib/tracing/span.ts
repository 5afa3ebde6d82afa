import { randomFillSync } from 'node:crypto';
import { SPANS_MAX } from '../trace-context.ts';

/** The kind of work that a span measures: a received request, a sent request, or other work. */
export type SpanKind = 'server' | 'client' | 'internal';

/** The attributes of a span. `undefined` values are omitted. */
export type Attributes = Readonly<Record<string, string | number | undefined>>;

/** A span that has ended. Times are in milliseconds since the Unix epoch, with a fraction. */
export interface EndedSpan {
  /** 32 hexadecimal digits. */
  readonly traceId: string;
  /** 16 hexadecimal digits. */
  readonly spanId: string;
  readonly parentSpanId: string | undefined;
  readonly name: string;
  readonly kind: SpanKind;
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes: Attributes;
  readonly isError: boolean;
}

/** The spans that one unit of work of this process, such as a request, adds to a trace. */
export interface Recording {
  readonly traceId: string;
  /** The Unix time at the zero of `performance.now()`, in milliseconds. */
  readonly epochMs: number;
  /** The spans that have ended; absent once the unit of work has ended. */
  spans: EndedSpan[] | undefined;
  /** How many spans were started. */
  started: number;
  /** Called when the unit of work ends, with its spans and the number of dropped ones. */
  onEnd(spans: readonly EndedSpan[], dropped: number): void;
}

/** A span that has not ended. */
export class Span {
  readonly spanId = randomHex(8);
  name: string;
  readonly #recording: Recording;
  /** The parent in this process; absent for the first span of a unit of work. */
  readonly #parent: Span | undefined;
  readonly #parentSpanId: string | undefined;
  readonly #kind: SpanKind;
  readonly #startMs: number;
  #attributes: Attributes;
  #isError = false;

  /** @param parent a span of this recording, or the id of the caller's span if there is one */
  constructor(
    recording: Recording,
    parent: Span | string | undefined,
    { name, kind, attributes = {}, startMs = performance.now() }: NewSpan,
  ) {
    recording.started++;
    this.#recording = recording;
    this.#parent = typeof parent === 'string' ? undefined : parent;
    this.#parentSpanId = typeof parent === 'string' ? parent : parent?.spanId;
    this.name = name;
    this.#kind = kind;
    this.#attributes = attributes;
    this.#startMs = startMs;
  }

  /** The header that makes this span the parent of the receiver's spans. */
  get traceparent(): string {
    return `00-${this.#recording.traceId}-${this.spanId}-01`;
  }

  /** Starts a child. Returns `undefined` once the unit of work has ended, or has too many spans. */
  child(options: NewSpan): Span | undefined {
    const recording = this.#recording;
    if (recording.spans === undefined) return undefined;
    if (recording.started < SPANS_MAX) return new Span(recording, this, options);
    recording.started++;
    return undefined;
  }

  /** Adds attributes. */
  set(attributes: Attributes): void {
    this.#attributes = { ...this.#attributes, ...attributes };
  }

  /** Marks the span as failed. @param type a short name of the kind of error */
  fail(type: string): void {
    this.#isError = true;
    this.set({ 'error.type': type });
  }

  /** Ends the span. The first span of a unit of work also ends the unit: children that have not ended are omitted. */
  end(): void {
    const recording = this.#recording;
    const { spans, traceId, epochMs, started } = recording;
    if (spans === undefined) return;
    spans.push({
      traceId,
      spanId: this.spanId,
      parentSpanId: this.#parentSpanId,
      name: this.name,
      kind: this.#kind,
      startMs: epochMs + this.#startMs,
      endMs: epochMs + performance.now(),
      attributes: this.#attributes,
      isError: this.#isError,
    });
    if (this.#parent !== undefined) return;
    recording.spans = undefined;
    recording.onEnd(spans, Math.max(0, started - SPANS_MAX));
  }

  /** Ends the unit of work without exporting its spans. */
  discard(): void {
    this.#recording.spans = undefined;
  }
}

/** The options of a new span. */
export interface NewSpan {
  /** One of few names; contains no ids. */
  readonly name: string;
  readonly kind: SpanKind;
  readonly attributes?: Attributes;
  /** When it started, in milliseconds of `performance.now()`: now by default. */
  readonly startMs?: number;
}

const randomBytes = Buffer.alloc(4096);
let used = randomBytes.length;

/** Returns random bytes in hexadecimal digits. */
export function randomHex(bytes: number): string {
  if (used + bytes > randomBytes.length) {
    randomFillSync(randomBytes);
    used = 0;
  }
  used += bytes;
  return randomBytes.toString('hex', used - bytes, used);
}
