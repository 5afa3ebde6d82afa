import type { Clock } from './lib/clock.ts';
import { routesIn } from './lib/http/route.ts';
import type { Database, Deployment as DeploymentName } from './schema.ts';

/** One deployment as its routes see it. */
export interface Deployment {
  readonly name: DeploymentName;
  readonly database: Database;
  readonly clock: Clock;
  /** Whether a category that was never seen before gets a placeholder, or is refused. */
  readonly categories: 'open' | 'strict';
}

/** Defines a route that serves one deployment. */
export const route = routesIn<Deployment>();
