import { type ErrorCode, problem } from '../errors.ts';
import type { Clock } from '../lib/clock.ts';
import type { Caller } from '../lib/http/route.ts';
import type { AuthenticationResult, Authenticator, Credentials } from '../lib/http/server/authenticator.ts';
import type { MaybePromise } from '../lib/maybe-promise.ts';
import { canonicalAddress } from '../limits/address.ts';
import type { Limiter, Verdict } from '../limits/limiter.ts';
import { type Limits, limitsOf } from '../plans/plan.ts';
import type { DeploymentName } from '../schema.ts';
import { EVERY_SCOPE } from './key.ts';
import type { KeyCache } from './key-cache.ts';
import type { KeyWithAccount } from './keys.ts';
import type { LastUsedTracker } from './last-used.ts';
import { matchesHash, parseToken } from './token.ts';

export interface KeyAuthenticatorOptions {
  readonly keys: KeyCache;
  readonly lastUsed: LastUsedTracker;
  readonly limiter: Limiter;
  readonly clock: Clock;
  /** The deployments whose keys are accepted. */
  readonly deployments: readonly DeploymentName[];
  /** Returns the URL that accepts keys of a deployment. */
  baseUrlOf(deployment: DeploymentName): string | undefined;
}

/**
 * The authenticator of API keys: the only place that accepts or rejects callers.
 *
 * A request with a valid key counts against the plan of its account. Any other request counts against its address and
 * gets a 401, or a 429 once the address is over its limit. Revocations, expiries, bans and lowered plans take effect
 * immediately.
 */
export class KeyAuthenticator implements Authenticator {
  readonly #options: KeyAuthenticatorOptions;

  constructor(options: KeyAuthenticatorOptions) {
    this.#options = options;
  }

  authenticate(credentials: Credentials): MaybePromise<AuthenticationResult> {
    const token = bearerToken(credentials.authorization);
    if (token === undefined) return this.#reject(credentials, 'missing_api_key');
    const parsed = parseToken(token);
    if (parsed === undefined) return this.#reject(credentials, 'malformed_api_key');
    if (!this.#options.deployments.includes(parsed.deployment)) {
      return this.#reject(credentials, 'wrong_deployment', this.#wrongDeployment(parsed.deployment));
    }
    const key = this.#options.keys.find(parsed.id);
    return key instanceof Promise
      ? key.then(found => this.#verify(credentials, token, found))
      : this.#verify(credentials, token, key);
  }

  isStillAuthorized(caller: Caller, scope?: string): MaybePromise<boolean> {
    const key = this.#options.keys.find(caller.keyId);
    return key instanceof Promise
      ? key.then(found => this.#isStillValid(found, caller, scope))
      : this.#isStillValid(key, caller, scope);
  }

  addressHeaders(address: string): readonly string[] {
    return this.#options.limiter.addressStatus(addressOf(address)).headers;
  }

  #verify(
    credentials: Credentials,
    token: string,
    key: KeyWithAccount | undefined,
  ): MaybePromise<AuthenticationResult> {
    if (key === undefined) return this.#reject(credentials, 'invalid_api_key');
    const cached = cachedCallerOf(key);
    if (!matchesHash(token, cached.hash)) return this.#reject(credentials, 'invalid_api_key');
    // Only a caller with the whole secret learns that a key is revoked or expired.
    if (key.revoked_at !== null) return this.#reject(credentials, 'revoked_api_key');
    if (this.#isExpired(key)) return this.#reject(credentials, 'expired_api_key');
    const verdict = this.#options.limiter.count(cached);
    return verdict instanceof Promise
      ? verdict.then(decided => this.#decide(cached, decided))
      : this.#decide(cached, verdict);
  }

  /** A caller whose rights have changed, even for the better, has to authenticate again. */
  #isStillValid(key: KeyWithAccount | undefined, caller: Caller, scope: string | undefined): MaybePromise<boolean> {
    if (key === undefined || key.revoked_at !== null || this.#isExpired(key)) return false;
    const cached = cachedCallerOf(key);
    if (cached.caller.admin !== caller.admin || (scope !== undefined && !cached.allows(scope))) return false;
    const banned = this.#options.limiter.isBanned(caller.keyId);
    return banned instanceof Promise ? banned.then(value => !value) : !banned;
  }

  #isExpired({ expires_at }: KeyWithAccount): boolean {
    return expires_at !== null && expires_at <= this.#options.clock.now();
  }

  #decide(cached: CachedCaller, { outcome, headers }: Verdict): AuthenticationResult {
    if (outcome === 'accepted') {
      this.#options.lastUsed.record(cached.keyId, this.#options.clock.now());
      return { authenticated: true, caller: cached.caller, allows: cached.allows, headers };
    }
    const code = outcome === 'banned' ? 'api_key_banned' : 'rate_limit_exceeded';
    return { authenticated: false, problem: problem(code), headers };
  }

  #reject(credentials: Credentials, code: ErrorCode, message?: string): MaybePromise<AuthenticationResult> {
    const respond = ({ outcome, headers }: Verdict): AuthenticationResult => ({
      authenticated: false,
      problem:
        outcome === 'accepted'
          ? problem(code, message, { headers: ['WWW-Authenticate', 'Bearer'] })
          : problem('rate_limit_exceeded'),
      headers,
    });
    const verdict = this.#options.limiter.countAddress(addressOf(credentials.address()));
    return verdict instanceof Promise ? verdict.then(respond) : respond(verdict);
  }

  #wrongDeployment(deployment: DeploymentName): string {
    const baseUrl = this.#options.baseUrlOf(deployment);
    const location = baseUrl === undefined ? '' : ` at ${baseUrl}`;
    return `This is a key of ${deployment}. Use it${location}, or use a key of this deployment.`;
  }
}

/** A key as the limiter and the routes need it; created once per cached key. */
interface CachedCaller {
  readonly keyId: string;
  readonly accountId: number;
  readonly deployment: DeploymentName;
  /** The bytes of the stored hash. */
  readonly hash: Buffer;
  readonly limits: Limits;
  readonly caller: Caller;
  allows(scope: string): boolean;
}

const cachedCallers = new WeakMap<KeyWithAccount, CachedCaller>();

function cachedCallerOf(key: KeyWithAccount): CachedCaller {
  let cached = cachedCallers.get(key);
  if (cached === undefined) {
    const { id: keyId, account_id: accountId, deployment } = key;
    const scopes = new Set(key.scopes.split(' '));
    cached = {
      keyId,
      accountId,
      deployment,
      hash: Buffer.from(key.hash, 'base64'),
      limits: limitsOf(key),
      caller: { keyId, deployment, accountId, admin: key.admin === 1 },
      allows: scope => scopes.has(EVERY_SCOPE) || scopes.has(scope),
    };
    cachedCallers.set(key, cached);
  }
  return cached;
}

/** Returns the token after the scheme `Bearer`, in any case and with one or more spaces (RFC 9110, 11.1). */
function bearerToken(authorization: string | undefined): string | undefined {
  if (authorization === undefined) return undefined;
  return /^bearer +(\S.*)$/i.exec(authorization)?.[1]?.trimEnd();
}

/** Text that is not an address, such as that of a closed socket, counts as one address. */
function addressOf(text: string): string {
  return canonicalAddress(text) ?? 'unknown';
}
