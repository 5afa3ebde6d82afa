import { type Html, html } from '../../lib/html/html.ts';
import type { Route } from '../../lib/http/route.ts';
import type { DeploymentName } from '../../model/schema.ts';
import { PREFIX } from '../../views/urls.ts';
import { titleOf } from '../layout.ts';
import type { Visit } from '../page.ts';

/** The base URLs from which the samples of a page can choose, without a trailing slash. */
export interface Bases {
  /** The base URLs of the known deployments: staging first, because the first key of a new user is for staging. */
  readonly deployments: readonly (readonly [name: DeploymentName, baseUrl: string])[];
  /** The base URL of the message address, if it is known. */
  readonly messages: string | undefined;
  /** The deployment of the samples. */
  readonly chosen: DeploymentName;
  readonly baseUrl: string;
}

const names = ['staging', 'production'] as const;

/** Returns the base URLs for a visit. The query chooses the deployment; by default it is the first one. */
export function basesOf({ site, request, query }: Visit): Bases {
  const deployments = names.flatMap(name => {
    const url = site.knownUrlOf(name, request.tls);
    return url === undefined ? [] : [[name, url + PREFIX] as const];
  });
  const asked = deployments.find(([name]) => name === query.get('deployment'));
  const [chosen, baseUrl] = asked ?? deployments[0]!;
  return { deployments, messages: site.knownUrlOf('messages', request.tls), chosen, baseUrl };
}

/** Returns the base URL of the samples of an operation. */
export function baseUrlOf(
  { address }: Route<never>,
  { messages, baseUrl }: Pick<Bases, 'messages' | 'baseUrl'>,
): string {
  return (address === 'messages' ? messages : undefined) ?? baseUrl;
}

/** Returns the query for links to other pages of the reference, so that they keep the chosen deployment. */
export function queryOf({ deployments, chosen }: Pick<Bases, 'deployments' | 'chosen'>): string {
  return chosen === deployments[0]![0] ? '' : `?deployment=${chosen}`;
}

/** Returns the links that choose the deployment of the samples; `undefined` if there is only one. */
export function deploymentSwitch(bases: Bases, path: string): Html | undefined {
  const { deployments, chosen } = bases;
  if (deployments.length === 1) return undefined;
  return html`<p class="deployments" role="group" aria-label="Deployment of the examples">${deployments.map(
    ([name]) =>
      html`<a href="${path}${queryOf({ deployments, chosen: name })}"${name === chosen && html` aria-current="true"`}>${titleOf(name)}</a> `,
  )}</p>`;
}
