import type { MaybePromise } from '../../maybe-promise.ts';
import type { Problem } from '../problem.ts';
import type { Caller } from '../route.ts';

/** The parts of a request that authentication uses. */
export interface Credentials {
  /** The `Authorization` header as it was sent. */
  readonly authorization: string | undefined;
  /** Returns the client's address, as reported by trusted proxies. */
  address(): string;
}

/** An existing key, and its account. */
export type KeyOwner = Pick<Caller, 'keyId' | 'accountId'>;

/** The result, with the rate limit headers of the response (names and values in turn). */
export type AuthenticationResult =
  | {
      readonly authenticated: true;
      readonly caller: Caller;
      readonly headers: readonly string[];
      /** When the request was counted, in milliseconds since the Unix epoch. */
      readonly countedAt: number;
    }
  | {
      readonly authenticated: false;
      readonly problem: Problem;
      readonly headers: readonly string[];
      /** The key, if it exists; absent if the rate limit rejects the request. */
      readonly refused?: KeyOwner | undefined;
      /** The caller, if the key is valid and the rate limit rejects the request. */
      readonly caller?: Caller;
    };

/** Identifies callers and limits their rate, before anything else of a request is checked. */
export interface Authenticator {
  /** Authenticates one request and counts it. */
  authenticate(credentials: Credentials): MaybePromise<AuthenticationResult>;
  /**
   * Reverses the count of a request that is rejected because the server is overloaded.
   * @returns the rate limit headers of its response
   */
  uncount(caller: Caller, countedAt: number): MaybePromise<readonly string[]>;
  /**
   * Reports whether an authenticated caller is still allowed this scope; for long streams. Does not count a request.
   * @param scope the scope that the operation requires, if any
   */
  isStillAuthorized(caller: Caller, scope: string | undefined): MaybePromise<boolean>;
  /** Returns the rate limit headers of an address, for responses to requests that are not counted. */
  addressHeaders(address: string): readonly string[];
}
