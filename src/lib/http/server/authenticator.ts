import type { MaybePromise } from '../../maybe-promise.ts';
import type { Problem } from '../problem.ts';
import type { Caller } from '../route.ts';

/** What a gate judges a request by. */
export interface Credentials {
  /** The `Authorization` header as it was sent. */
  readonly authorization: string | undefined;
  /** The caller's address, behind the trusted proxies. */
  address(): string;
}

/** A gate's decision, and the headers (names and values in turn) that the answer carries whatever it will be. */
export type AuthenticationResult =
  | {
      readonly admitted: true;
      readonly caller: Caller;
      /** Whether the caller's key has this scope. */
      allows(scope: string): boolean;
      readonly headers: readonly string[];
    }
  | { readonly admitted: false; readonly problem: Problem; readonly headers: readonly string[] };

/** Decides who gets in. The server asks it before anything else of a request is judged. */
export interface Authenticator {
  /** Decides on one request, and counts it. */
  authenticate(arrival: Credentials): MaybePromise<AuthenticationResult>;
  /**
   * Whether a caller who was admitted would still get in, with this scope: for answers that go on. Counts nothing.
   * @param scope left out, none is asked for
   */
  stillAdmits(caller: Caller, scope: string | undefined): MaybePromise<boolean>;
  /** The headers for an answer that no request is counted for; counts nothing. */
  show(address: string): readonly string[];
}
