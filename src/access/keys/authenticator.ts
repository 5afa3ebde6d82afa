import type { Clock } from '../../lib/clock.ts';
import type { Caller } from '../../lib/http/route.ts';
import type {
  AuthenticationResult,
  Authenticator,
  Credentials,
  KeyOwner,
} from '../../lib/http/server/authenticator.ts';
import type { MaybePromise } from '../../lib/maybe-promise.ts';
import { includesAddress } from '../../lib/networks.ts';
import { type ErrorCode, errors, problem } from '../../model/errors.ts';
import type { DeploymentName } from '../../model/schema.ts';
import { countedAddress } from '../limits/address.ts';
import type { Limiter, Verdict } from '../limits/limiter.ts';
import { schemeFault, tokenFault } from './header-faults.ts';
import type { CachedKey, KeyCache } from './key-cache.ts';
import { matchesHash, parseToken } from './token.ts';

const OVER_BUDGET =
  'This API key has used up its own budget, not the limits of its account; wait for the time in Retry-After.';

const codes = {
  limited: 'rate_limit_exceeded',
  overBudget: 'rate_limit_exceeded',
  overSandbox: 'sandbox_rate_limit_exceeded',
  banned: 'api_key_banned',
} as const satisfies Record<Exclude<Verdict['outcome'], 'accepted'>, ErrorCode>;

export interface KeyAuthenticatorOptions {
  readonly keys: KeyCache;
  readonly limiter: Limiter;
  readonly clock: Clock;
  readonly deployments: readonly DeploymentName[];
  /**
   * `note` is called for each request of an account that has used at least `from` percent of its requests of the day.
   */
  readonly dayAlerts?: { readonly from: number; note(caller: Caller, percent: number, at: number): void };
  /** Returns the URL that accepts keys of a deployment. */
  baseUrlOf(deployment: DeploymentName): string | undefined;
}

/** The scheme `Bearer` in any case, with one or more spaces before the token (RFC 9110, 11.1). */
const BEARER = /^bearer +(\S.*)$/i;

/**
 * The authenticator of API keys: only this class accepts or rejects callers.
 *
 * A request with a valid key counts only against the plan of its account and the budget of the key. Any other request
 * counts against its address and gets a 401 or 403, or a 429 once the address is over its limit. On PostgreSQL, once an
 * address has sent a rejected request, its requests with keys that are not cached share look-ups. Expiries take effect
 * immediately; revocations, bans and changed plans with the next request on SQLite, and within a second on PostgreSQL.
 */
export class KeyAuthenticator implements Authenticator {
  readonly #options: KeyAuthenticatorOptions;

  constructor(options: KeyAuthenticatorOptions) {
    this.#options = options;
  }

  authenticate(credentials: Credentials): MaybePromise<AuthenticationResult> {
    const { authorization = '' } = credentials;
    const { keys, deployments } = this.#options;
    const accepted = keys.findAccepted(authorization);
    if (accepted !== undefined && (deployments as readonly string[]).includes(accepted.caller.deployment)) {
      return this.#admit(credentials, accepted);
    }
    const token = BEARER.exec(authorization)?.[1]?.trimEnd();
    if (token === undefined) return this.#reject(credentials, 'missing_api_key', schemeFault(authorization));
    const parsed = parseToken(token);
    if (parsed === undefined) return this.#reject(credentials, 'malformed_api_key', tokenFault(token));
    if (!deployments.includes(parsed.deployment)) {
      return this.#reject(credentials, 'wrong_deployment', this.#wrongDeployment(parsed.deployment));
    }
    return this.#withKey(credentials, parsed.id, key => this.#verify(credentials, token, key));
  }

  /**
   * Authenticates a request that proves its key by other means than the key's token, and counts it.
   * @param proves reports whether the request proves this key
   */
  authenticateBy(
    credentials: Credentials,
    keyId: string,
    proves: (key: CachedKey) => boolean,
  ): MaybePromise<AuthenticationResult> {
    return this.#withKey(credentials, keyId, key => {
      if (key === undefined || !proves(key))
        return this.#reject(credentials, 'invalid_api_key', undefined, key?.caller);
      const isServed = (this.#options.deployments as readonly string[]).includes(key.caller.deployment);
      return isServed ? this.#admit(credentials, key) : this.#reject(credentials, 'wrong_deployment');
    });
  }

  /** Finds a key, and returns the result of `verify` for it. */
  #withKey(
    { address }: Credentials,
    keyId: string,
    verify: (key: CachedKey | undefined) => MaybePromise<AuthenticationResult>,
  ): MaybePromise<AuthenticationResult> {
    const { keys, limiter } = this.#options;
    const key = keys.find(keyId, () => limiter.hasRejections(countedAddress(address())));
    return key instanceof Promise ? key.then(verify) : verify(key);
  }

  async uncount(caller: Caller, countedAt: number): Promise<readonly string[]> {
    return (await this.#options.limiter.uncount(await this.keyOf(caller), countedAt)).headers;
  }

  /** Returns the key of an authenticated caller. */
  async keyOf({ keyId }: Pick<Caller, 'keyId'>): Promise<CachedKey> {
    const key = await this.#options.keys.find(keyId);
    if (key === undefined) throw new Error(`The key ${keyId} was deleted.`);
    return key;
  }

  isStillAuthorized(caller: Caller, scope?: string): MaybePromise<boolean> {
    const key = this.#options.keys.find(caller.keyId);
    return key instanceof Promise
      ? key.then(found => this.#isStillValid(found, caller, scope))
      : this.#isStillValid(key, caller, scope);
  }

  addressHeaders(address: string): readonly string[] {
    return this.#options.limiter.addressStatus(countedAddress(address)).headers;
  }

  #verify(credentials: Credentials, token: string, key: CachedKey | undefined): MaybePromise<AuthenticationResult> {
    if (key === undefined) return this.#reject(credentials, 'invalid_api_key');
    // Only a caller with the whole secret learns more than that the key is invalid.
    if (!matchesHash(token, key.hash)) return this.#reject(credentials, 'invalid_api_key', undefined, key.caller);
    this.#options.keys.noteAccepted(credentials.authorization!, key);
    return this.#admit(credentials, key);
  }

  /** Counts the request of a caller with the secret of this key, unless the key is not valid for it. */
  #admit(credentials: Credentials, key: CachedKey): MaybePromise<AuthenticationResult> {
    const now = this.#options.clock.now();
    let fault = endOf(key, now);
    if (fault === undefined && key.networks && !includesAddress(key.networks, credentials.address())) {
      fault = 'address_not_allowed';
    }
    if (fault !== undefined) return this.#reject(credentials, fault, undefined, key.caller);
    const verdict = this.#options.limiter.count(key);
    return verdict instanceof Promise
      ? verdict.then(decided => this.#decide(key, now, decided))
      : this.#decide(key, now, verdict);
  }

  #decide(key: CachedKey, now: number, { outcome, headers, at, dayPercent }: Verdict): AuthenticationResult {
    const { dayAlerts } = this.#options;
    if (dayAlerts !== undefined && dayPercent >= dayAlerts.from) dayAlerts.note(key.caller, dayPercent, at);
    if (outcome === 'accepted') {
      this.#options.keys.lastUses.set(key.keyId, now);
      return { authenticated: true, caller: key.caller, headers, countedAt: at };
    }
    return {
      authenticated: false,
      problem: problem(codes[outcome], outcome === 'overBudget' ? OVER_BUDGET : undefined),
      headers,
      caller: key.caller,
    };
  }

  /** A caller whose rights have changed, even to more rights, must authenticate again. */
  #isStillValid(key: CachedKey | undefined, caller: Caller, scope: string | undefined): MaybePromise<boolean> {
    if (key === undefined || endOf(key, this.#options.clock.now()) !== undefined) return false;
    if (key.caller.admin !== caller.admin || (scope !== undefined && !key.caller.scopes.has(scope))) return false;
    const banned = this.#options.limiter.isBanned(caller.keyId);
    return banned instanceof Promise ? banned.then(value => !value) : !banned;
  }

  /** @param refused the existing key, if any */
  #reject(
    credentials: Credentials,
    code: ErrorCode,
    message?: string,
    refused?: KeyOwner,
  ): MaybePromise<AuthenticationResult> {
    const challenge = errors[code].status === 401 ? ['WWW-Authenticate', 'Bearer'] : [];
    const respond = ({ outcome, headers }: Verdict): AuthenticationResult => ({
      authenticated: false,
      ...(outcome === 'accepted'
        ? { problem: problem(code, message, { headers: challenge }), refused }
        : { problem: problem('rate_limit_exceeded') }),
      headers,
    });
    const verdict = this.#options.limiter.countAddress(countedAddress(credentials.address()));
    return verdict instanceof Promise ? verdict.then(respond) : respond(verdict);
  }

  #wrongDeployment(deployment: DeploymentName): string {
    const baseUrl = this.#options.baseUrlOf(deployment);
    const location = baseUrl === undefined ? '' : ` at ${baseUrl}`;
    return `This is a key of ${deployment}. Use it${location}, or use a key of this deployment.`;
  }
}

/** Returns the reason why a key is no longer valid for any request; `undefined` while it is valid. */
function endOf(key: CachedKey, now: number): ErrorCode | undefined {
  if (key.revoked) return 'revoked_api_key';
  if (key.expiresAt <= now) return 'expired_api_key';
  return key.suspended ? 'account_suspended' : undefined;
}
