import type { Deployment } from '../../access/deployment.ts';
import type { KeyAuthenticator } from '../../access/keys/authenticator.ts';
import { countedAddress } from '../../access/limits/address.ts';
import type { Limiter } from '../../access/limits/limiter.ts';
import { classicSubject } from '../../access/limits/subject.ts';
import type { ViewAuthentication, ViewRequest } from '../../lib/http/server/view.ts';
import { dayOf } from '../../lib/time.ts';
import { problem } from '../../model/errors.ts';
import type { Limits } from '../../model/plan.ts';

/** The parts of a process that serve the views, and identify and count their callers. */
export interface ClassicViewDeps {
  readonly authenticator: KeyAuthenticator;
  readonly limiter: Limiter;
  readonly deployment: Pick<Deployment, 'database' | 'clock'>;
  /** The limits of a network without a key. */
  readonly limits: Limits;
}

/** The networks of a day that are counted separately on one node; all further ones are counted together. */
const NETWORKS_MAX = 50_000;
const OTHER_NETWORKS = 'others';

/** Identifies callers: by an API key, or by their network. */
export class Visitors {
  readonly #deps: ClassicViewDeps;
  readonly #networks = new Set<string>();
  #day = 0;

  constructor(deps: ClassicViewDeps) {
    this.#deps = deps;
  }

  async authenticate(request: ViewRequest): Promise<ViewAuthentication> {
    const { authenticator, limiter, limits } = this.#deps;
    const token = tokenOf(request);
    if (token !== undefined) {
      return authenticator.authenticate({ authorization: `Bearer ${token}`, address: request.address });
    }
    const network = countedAddress(request.address());
    const account = classicSubject(this.#counted(network), limits);
    const caller = { keyId: account.name, account, budget: undefined, neverBanned: true } as const;
    const { outcome, headers } = await limiter.count(caller);
    if (outcome === 'accepted') return { visitor: network, headers };
    return { authenticated: false, problem: problem('rate_limit_exceeded', OVER_LIMIT), headers };
  }

  /** Returns the name by which a network is counted. */
  #counted(network: string): string {
    const today = dayOf(this.#deps.deployment.clock.now());
    if (today !== this.#day) {
      this.#day = today;
      this.#networks.clear();
    }
    if (this.#networks.size >= NETWORKS_MAX && !this.#networks.has(network)) return OTHER_NETWORKS;
    this.#networks.add(network);
    return network;
  }
}

const OVER_LIMIT = 'Too many requests from this network without an API key. Wait for the time in Retry-After.';

/** Returns the API key of a request. Ignores all other credentials, which clients of the original send. */
function tokenOf(request: ViewRequest): string | undefined {
  const authorization = (request.header('authorization') ?? '').replace(/^bearer +/i, '');
  return [authorization, request.header('api_key') ?? ''].map(text => text.trim()).find(isOurs);
}

const isOurs = (text: string) => text.startsWith('petstore_');
