import { durationBounds, Histogram } from '../lib/histogram.ts';
import type { Outcome } from '../lib/http/server/options.ts';

/** The responses of one operation. */
export interface OperationMetrics {
  /** How many, by status. */
  readonly responses: Map<number, number>;
  /** The time from the headers of a request to its response, in seconds. */
  readonly durations: Histogram;
}

/** Counts the responses of one address. It holds an entry per operation, status and error code at most. */
export class RequestMetrics {
  /** Requests without an operation have the key `undefined`. */
  readonly operations = new Map<Outcome['route'], OperationMetrics>();
  /** The error responses by code. */
  readonly errors = new Map<string, number>();

  /** Records the response to a request of the API. */
  record({ route, status, durationMs }: Outcome): void {
    let operation = this.operations.get(route);
    if (operation === undefined) {
      operation = { responses: new Map(), durations: new Histogram(durationBounds) };
      this.operations.set(route, operation);
    }
    operation.responses.set(status, (operation.responses.get(status) ?? 0) + 1);
    operation.durations.observe(durationMs / 1000);
  }

  /** Records an error response, also of a request that is not well-formed. */
  recordError(code: string): void {
    this.errors.set(code, (this.errors.get(code) ?? 0) + 1);
  }
}
