import type { Deployment } from '../access/deployment.ts';
import type { Html } from '../lib/html/html.ts';
import type { DeploymentName } from '../model/schema.ts';
import { titleOf } from './layout.ts';
import type { AccountVisit } from './page.ts';
import { tabs } from './parts.ts';

/** Returns the deployment of the query, by default production; `undefined` if this process does not serve it. */
export function deploymentOf({ site, query }: AccountVisit): Deployment | undefined {
  return site.deployments.get(query.get('deployment') ?? 'production');
}

/** Returns the links to the same page of each deployment; nothing if there is only one. */
export function deploymentTabs({ site }: AccountVisit, path: string, current: DeploymentName): Html | undefined {
  if (site.deployments.size < 2) return undefined;
  const all = Array.from(site.deployments.values(), ({ name }) => ({
    ...{ href: withQuery(path, { deployment: name }), title: titleOf(name), isCurrent: name === current },
  }));
  return tabs('Deployment', all);
}

/** Returns a path with the parameters that have a value. Production, the default deployment, is omitted. */
export function withQuery(path: string, parameters: Readonly<Record<string, string | number | undefined>>): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    const isDefault = name === 'deployment' && value === 'production';
    if (value !== undefined && value !== '' && !isDefault) query.set(name, String(value));
  }
  return query.size === 0 ? path : `${path}?${query}`;
}
