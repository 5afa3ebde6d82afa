import { timingSafeEqual } from 'node:crypto';
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
import { hashToken, parseToken } from './token.ts';

/**
 * Creates the authenticator: the only place that accepts or rejects callers.
 *
 * A request with a valid key counts against the plan of its account. Any other request counts against its address and
 * gets a 401, or a 429 once the address is over its limit. Revocations, expiries, bans and lowered plans take effect
 * immediately.
 * @param options.deployments the deployments whose keys are accepted
 * @param options.baseUrlOf the URL that accepts keys of a deployment
 */
export function createAuthenticator(options: {
  readonly keys: KeyCache;
  readonly lastUsed: LastUsedTracker;
  readonly limiter: Limiter;
  readonly clock: Clock;
  readonly deployments: readonly DeploymentName[];
  baseUrlOf(deployment: DeploymentName): string | undefined;
}): Authenticator {
  const { keys, lastUsed, limiter, clock, deployments } = options;

  return {
    authenticate(credentials) {
      const token = bearerToken(credentials.authorization);
      if (token === undefined) return reject(credentials, 'missing_api_key');
      const parsed = parseToken(token);
      if (parsed === undefined) return reject(credentials, 'malformed_api_key');
      if (!deployments.includes(parsed.deployment)) {
        return reject(credentials, 'wrong_deployment', wrongDeployment(parsed.deployment));
      }
      const key = keys.find(parsed.id);
      return key instanceof Promise
        ? key.then(found => verify(credentials, token, found))
        : verify(credentials, token, key);
    },
    isStillAuthorized(caller, scope) {
      const key = keys.find(caller.keyId);
      return key instanceof Promise
        ? key.then(found => isStillValid(found, caller, scope))
        : isStillValid(key, caller, scope);
    },
    addressHeaders(address) {
      return limiter.addressStatus(addressOf(address)).headers;
    },
  };

  function verify(
    credentials: Credentials,
    token: string,
    key: KeyWithAccount | undefined,
  ): MaybePromise<AuthenticationResult> {
    if (key === undefined || !equalInConstantTime(key.hash, hashToken(token)))
      return reject(credentials, 'invalid_api_key');
    // Only a caller with the whole secret learns that a key is revoked or expired.
    if (key.revoked_at !== null) return reject(credentials, 'revoked_api_key');
    if (key.expires_at !== null && key.expires_at <= clock.now()) return reject(credentials, 'expired_api_key');
    const cached = cachedCallerOf(key);
    const verdict = limiter.count(cached);
    return verdict instanceof Promise ? verdict.then(decided => decide(cached, decided)) : decide(cached, verdict);
  }

  /** A caller whose rights have changed, even for the better, has to authenticate again. */
  function isStillValid(
    key: KeyWithAccount | undefined,
    caller: Caller,
    scope: string | undefined,
  ): MaybePromise<boolean> {
    if (key === undefined || key.revoked_at !== null) return false;
    if (key.expires_at !== null && key.expires_at <= clock.now()) return false;
    const cached = cachedCallerOf(key);
    if (cached.caller.admin !== caller.admin || (scope !== undefined && !cached.allows(scope))) return false;
    const banned = limiter.isBanned(caller.keyId);
    return banned instanceof Promise ? banned.then(value => !value) : !banned;
  }

  function decide(cached: CachedCaller, { outcome, headers }: Verdict): AuthenticationResult {
    if (outcome === 'accepted') {
      lastUsed.record(cached.keyId, clock.now());
      return { authenticated: true, caller: cached.caller, allows: cached.allows, headers };
    }
    const code = outcome === 'banned' ? 'api_key_banned' : 'rate_limit_exceeded';
    return { authenticated: false, problem: problem(code), headers };
  }

  function reject(credentials: Credentials, code: ErrorCode, message?: string): MaybePromise<AuthenticationResult> {
    const respond = ({ outcome, headers }: Verdict): AuthenticationResult =>
      outcome === 'accepted'
        ? {
            authenticated: false,
            problem: problem(code, message, { headers: ['WWW-Authenticate', 'Bearer'] }),
            headers,
          }
        : { authenticated: false, problem: problem('rate_limit_exceeded'), headers };
    const verdict = limiter.countAddress(addressOf(credentials.address()));
    return verdict instanceof Promise ? verdict.then(respond) : respond(verdict);
  }

  function wrongDeployment(deployment: DeploymentName): string {
    const baseUrl = options.baseUrlOf(deployment);
    const location = baseUrl === undefined ? '' : ` at ${baseUrl}`;
    return `This is a key of ${deployment}. Use it${location}, or use a key of this deployment.`;
  }
}

/** A key as the limiter and the routes need it; created once per cached key. */
interface CachedCaller {
  readonly keyId: string;
  readonly accountId: number;
  readonly deployment: DeploymentName;
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

function equalInConstantTime(one: string, other: string): boolean {
  return one.length === other.length && timingSafeEqual(Buffer.from(one), Buffer.from(other));
}

/** Text that is not an address, such as that of a closed socket, counts as one address. */
function addressOf(text: string): string {
  return canonicalAddress(text) ?? 'unknown';
}
