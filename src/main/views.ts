import type { Deployment } from '../access/deployment.ts';
import type { KeyAuthenticator } from '../access/keys/authenticator.ts';
import type { Limiter } from '../access/limits/limiter.ts';
import type { ViewMount } from '../lib/http/server/view.ts';
import type { AddressName, Config } from '../model/config.ts';
import { MCP_PATH, PETFINDER_PATH } from '../views/urls.ts';

/** The parts of a process that its views use. */
export interface ViewDeps {
  readonly config: Config;
  readonly deployment: Deployment;
  /** The authenticator of the address. */
  readonly authenticator: KeyAuthenticator;
  readonly limiter: Limiter;
  /** Returns the public URL of an address that this process serves, or whose URL is set. */
  knownUrlOf(name: AddressName, tls?: boolean): string | undefined;
}

/** Returns the views of the address of a deployment. Each is imported with the first request for it. */
export function viewsOf(deps: ViewDeps): readonly ViewMount[] {
  const { mcp, views = [], classic: limits } = deps.config;
  const mounts: ViewMount[] = [];
  if (mcp.isServed) {
    mounts.push({ prefix: MCP_PATH, load: async () => (await import('../views/mcp/view.ts')).mcpView(deps) });
  }
  if (views.includes('petfinder')) {
    const load = async () => (await import('../views/petfinder/view.ts')).petfinderView(deps);
    mounts.push({ prefix: PETFINDER_PATH, load });
  }
  if (views.includes('classic') && deps.deployment.name === 'staging') {
    for (const [version, prefix] of [
      ['v2', '/v2'],
      ['v3', '/api/v3'],
    ] as const) {
      const load = async () =>
        (await import('../views/classic/view.ts')).classicView(version, prefix, { ...deps, limits });
      mounts.push({ prefix, load });
    }
  }
  return mounts;
}
