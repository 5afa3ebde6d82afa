/** The maximum number of spans of one request or job. Others are dropped. */
export const SPANS_MAX = 128;

/** A trace, and the caller's span in it (W3C Trace Context). */
export interface TraceContext {
  /** 32 hexadecimal digits. */
  readonly traceId: string;
  /** 16 hexadecimal digits. */
  readonly spanId: string;
  /** Whether the caller records the trace. */
  readonly isSampled: boolean;
  /** The header to pass on. */
  readonly traceparent: string;
}

/** Parses a `traceparent` header. Returns `undefined` without a valid one, which is ignored. */
export function parseTraceparent(header: string | readonly string[] | undefined): TraceContext | undefined {
  if (typeof header !== 'string') return undefined;
  const [, version, traceId, spanId, flags, more] = format.exec(header) ?? [];
  if (traceId === undefined || version === 'ff' || (version === '00' && more !== undefined)) return undefined;
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId!)) return undefined;
  const isSampled = (Number.parseInt(flags!, 16) & 1) === 1;
  // Later versions may append fields.
  return { traceId, spanId: spanId!, isSampled, traceparent: `00-${traceId}-${spanId}-${flags}` };
}

const format = /^([\da-f]{2})-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})(-.*)?$/;
