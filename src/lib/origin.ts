/** The source of a change: a request with an API key, a page that an account has open, or a command of the operator. */
export type Origin = RequestOrigin | SessionOrigin | CommandOrigin;

export interface RequestOrigin {
  readonly accountId: number;
  readonly keyId: string;
  readonly requestId: string;
  /** The client's address, as reported by trusted proxies; '' if the client has disconnected. */
  readonly address: string;
  /** The trace that the request belongs to, as a `traceparent` header. */
  readonly traceparent?: string;
}

export interface SessionOrigin extends Omit<RequestOrigin, 'keyId' | 'traceparent'> {
  /** Absent for a change by a link from an e-mail. */
  readonly sessionId?: number;
  /** The person who made the change; absent for changes of earlier releases. */
  readonly personId?: number;
}

/** Returns the person who made a change on a page; `null` for other changes. */
export function personIdOf(origin: Origin | undefined): number | null {
  return origin !== undefined && 'personId' in origin ? (origin.personId ?? null) : null;
}

export interface CommandOrigin {
  /** The name of the command: `key revoke`. */
  readonly command: string;
}
