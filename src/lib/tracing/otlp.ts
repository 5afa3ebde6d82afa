import type { Attributes, EndedSpan, SpanKind } from './span.ts';

/** The OTLP numbers of span kinds. */
const kinds: Readonly<Record<SpanKind, number>> = { internal: 1, server: 2, client: 3 };

/** The OTLP status of a failed span. */
const ERROR = 2;

/** The program that creates spans. */
export interface InstrumentationScope {
  readonly name: string;
  readonly version: string;
}

/**
 * Returns spans as the JSON of an `ExportTraceServiceRequest` (OTLP 1.x).
 * @param resource the attributes of this process
 */
export function encodeSpans(resource: Attributes, scope: InstrumentationScope, spans: readonly EndedSpan[]): string {
  const scopeSpans = [{ scope, spans: spans.map(encodeSpan) }];
  return JSON.stringify({ resourceSpans: [{ resource: { attributes: encodeAttributes(resource) }, scopeSpans }] });
}

function encodeSpan({ traceId, spanId, parentSpanId, name, kind, startMs, endMs, attributes, isError }: EndedSpan) {
  return {
    traceId,
    spanId,
    parentSpanId,
    name,
    kind: kinds[kind],
    startTimeUnixNano: nanoseconds(startMs),
    endTimeUnixNano: nanoseconds(endMs),
    attributes: encodeAttributes(attributes),
    status: isError ? { code: ERROR } : {},
  };
}

function encodeAttributes(attributes: Attributes) {
  return Object.entries(attributes)
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => ({ key, value: encodeValue(value!) }));
}

function encodeValue(value: string | number) {
  if (typeof value === 'string') return { stringValue: value };
  return Number.isSafeInteger(value) ? { intValue: String(value) } : { doubleValue: value };
}

/**
 * Returns milliseconds as a whole number of nanoseconds, precise to the microsecond, as text: a JSON number cannot hold
 * it.
 */
function nanoseconds(ms: number): string {
  return `${Math.round(ms * 1000)}000`;
}
