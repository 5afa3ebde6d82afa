import type { Deployment } from '../access/deployment.ts';
import type { KeyAuthenticator } from '../access/keys/authenticator.ts';
import type { Limiter } from '../access/limits/limiter.ts';
import type { ViewMount } from '../lib/http/server/view.ts';
import type { Log } from '../lib/log.ts';
import type { Config } from '../model/config.ts';

/** The parts of a process that its views use. */
export interface ViewDeps {
  readonly config: Config;
  readonly log: Log;
  readonly deployment: Deployment;
  /** The authenticator of the address. */
  readonly authenticator: KeyAuthenticator;
  readonly limiter: Limiter;
}

/** Returns the views of the address of a deployment. Each is imported with the first request for it. */
export function viewsOf(_: ViewDeps): readonly ViewMount[] {
  return [];
}
