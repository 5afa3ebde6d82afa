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
import type { Holder } from './keys.ts';
import type { LastUsedTracker } from './last-used.ts';
import { hashToken, parseToken } from './token.ts';

/**
 * The only place that decides who gets in.
 *
 * A request with a valid key is counted against the plan of its account; every other one against its address, where it
 * answers 401, or 429 once the address is over its limit. What was revoked, expired, banned or lowered counts at once.
 * @param options.takes the deployments whose keys this address takes
 * @param options.rightAddress where a key of the other deployment belongs, as a URL
 */
export function createAuthenticator(options: {
  readonly ring: KeyCache;
  readonly uses: LastUsedTracker;
  readonly limiter: Limiter;
  readonly clock: Clock;
  readonly takes: readonly DeploymentName[];
  rightAddress(deployment: DeploymentName): string | undefined;
}): Authenticator {
  const { ring, uses, limiter, clock, takes } = options;

  return {
    authenticate(arrival) {
      const token = bearerToken(arrival.authorization);
      if (token === undefined) return turnAway(arrival, 'missing_api_key');
      const parsed = parseToken(token);
      if (parsed === undefined) return turnAway(arrival, 'malformed_api_key');
      if (!takes.includes(parsed.deployment)) {
        return turnAway(arrival, 'wrong_deployment', wrongDeployment(parsed.deployment));
      }
      const holder = ring.find(parsed.id);
      return holder instanceof Promise
        ? holder.then(found => judge(arrival, token, found))
        : judge(arrival, token, holder);
    },
    isStillAuthorized(caller, scope) {
      const holder = ring.find(caller.keyId);
      return holder instanceof Promise
        ? holder.then(found => isStill(found, caller, scope))
        : isStill(holder, caller, scope);
    },
    addressHeaders(address) {
      return limiter.addressStatus(addressOf(address)).headers;
    },
  };

  function judge(arrival: Credentials, token: string, holder: Holder | undefined): MaybePromise<AuthenticationResult> {
    if (holder === undefined || !isSame(holder.hash, hashToken(token))) return turnAway(arrival, 'invalid_api_key');
    // Expired and revoked are told only here, to a caller who holds the whole secret.
    if (holder.revoked_at !== null) return turnAway(arrival, 'revoked_api_key');
    if (holder.expires_at !== null && holder.expires_at <= clock.now()) return turnAway(arrival, 'expired_api_key');
    const held = holdingOf(holder);
    const verdict = limiter.count(held);
    return verdict instanceof Promise ? verdict.then(decided => decide(held, decided)) : decide(held, verdict);
  }

  /** Whose rights have changed, also for the better, comes again. */
  function isStill(holder: Holder | undefined, caller: Caller, scope: string | undefined): MaybePromise<boolean> {
    if (holder === undefined || holder.revoked_at !== null) return false;
    if (holder.expires_at !== null && holder.expires_at <= clock.now()) return false;
    const held = holdingOf(holder);
    if (held.caller.admin !== caller.admin || (scope !== undefined && !held.allows(scope))) return false;
    const banned = limiter.isBanned(caller.keyId);
    return banned instanceof Promise ? banned.then(is => !is) : !banned;
  }

  function decide(held: Holding, { outcome, headers }: Verdict): AuthenticationResult {
    if (outcome === 'accepted') {
      uses.note(held.keyId, clock.now());
      return { authenticated: true, caller: held.caller, allows: held.allows, headers };
    }
    const code = outcome === 'banned' ? 'api_key_banned' : 'rate_limit_exceeded';
    return { authenticated: false, problem: problem(code), headers };
  }

  function turnAway(arrival: Credentials, code: ErrorCode, message?: string): MaybePromise<AuthenticationResult> {
    const refuse = ({ outcome, headers }: Verdict): AuthenticationResult =>
      outcome === 'accepted'
        ? {
            authenticated: false,
            problem: problem(code, message, { headers: ['WWW-Authenticate', 'Bearer'] }),
            headers,
          }
        : { authenticated: false, problem: problem('rate_limit_exceeded'), headers };
    const verdict = limiter.countAddress(addressOf(arrival.address()));
    return verdict instanceof Promise ? verdict.then(refuse) : refuse(verdict);
  }

  function wrongDeployment(deployment: DeploymentName): string {
    const address = options.rightAddress(deployment);
    const place = address === undefined ? '' : `, at ${address}`;
    return `This is a key of ${deployment}; use it there${place}, or use a key of this deployment here.`;
  }
}

/** A holder as the limiter and the routes take it; made once for each holder. */
interface Holding {
  readonly keyId: string;
  readonly accountId: number;
  readonly deployment: DeploymentName;
  readonly limits: Limits;
  readonly caller: Caller;
  allows(scope: string): boolean;
}

const holdings = new WeakMap<Holder, Holding>();

function holdingOf(holder: Holder): Holding {
  let holding = holdings.get(holder);
  if (holding === undefined) {
    const { id: keyId, account_id: accountId, deployment } = holder;
    const scopes = new Set(holder.scopes.split(' '));
    holding = {
      keyId,
      accountId,
      deployment,
      limits: limitsOf(holder),
      caller: { keyId, deployment, accountId, admin: holder.admin === 1 },
      allows: scope => scopes.has(EVERY_SCOPE) || scopes.has(scope),
    };
    holdings.set(holder, holding);
  }
  return holding;
}

/** What follows the scheme `Bearer`, in any case and with one or more spaces (RFC 9110, 11.1). */
function bearerToken(authorization: string | undefined): string | undefined {
  if (authorization === undefined) return undefined;
  return /^bearer +(\S.*)$/i.exec(authorization)?.[1]?.trimEnd();
}

function isSame(one: string, other: string): boolean {
  return one.length === other.length && timingSafeEqual(Buffer.from(one), Buffer.from(other));
}

/** What is no address, such as that of a closed socket, counts as one of its own. */
function addressOf(text: string): string {
  return canonicalAddress(text) ?? 'unknown';
}
