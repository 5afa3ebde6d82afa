import type { Method } from '../../lib/http/route.ts';

/** A request in the documentation. */
export interface Sample {
  readonly operationId: string;
  readonly baseUrl: string;
  /** The values of the path parameters, in their order. */
  readonly path: readonly unknown[];
  /** The query parameters, with the types of their schemas. */
  readonly query: Readonly<Record<string, unknown>>;
  /** Whether the operation takes a query and neither a body nor a file. */
  readonly takesQuery: boolean;
  /** The status of the response. */
  readonly status: number;
  readonly method: Method;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** A JSON value; text is sent as it is. */
  readonly body?: unknown;
  /** The name of the file to send. */
  readonly file?: string;
  /** The kind of response. */
  readonly returns: 'json' | 'nothing' | 'stream' | 'file';
}
