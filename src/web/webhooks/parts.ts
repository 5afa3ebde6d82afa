import type { DeliveryHealth } from '../../events/deliveries/health.ts';
import { getWebhook } from '../../events/webhooks/webhooks.ts';
import { type Html, html, timeHtml } from '../../lib/html/html.ts';
import { Problem } from '../../lib/http/problem.ts';
import { countText } from '../../lib/text.ts';
import { durationIn } from '../../lib/time.ts';
import { includesScopes } from '../../model/roles.ts';
import { FAILING_MAX_MS } from '../../model/rules.ts';
import type { Scope } from '../../model/scopes.ts';
import type { DisabledReason, WebhookRow } from '../../model/webhook.ts';
import { deploymentOf, withQuery } from '../deployments.ts';
import { found } from '../found.ts';
import { idOf } from '../lists.ts';
import { type AccountVisit, ownActor } from '../page.ts';
import { badge } from '../parts.ts';

export const PATH = '/webhooks';

/** The scope of keys that may have webhooks. */
export const SCOPE: Scope = 'webhooks:write';

/** The style sheets of the pages of webhooks. */
export const styles = ['webhooks.css'];

/** A visit of one webhook, with the deployment that has it. */
export interface WebhookVisit extends AccountVisit {
  readonly webhook: WebhookRow;
}

/** Returns the visit with the deployment that its address names; `undefined` if this process does not serve it. */
export function onDeployment(visit: AccountVisit): AccountVisit | undefined {
  const deployment = deploymentOf(visit);
  return deployment && { ...visit, deployment };
}

/**
 * Returns the visit with the webhook of its address; `undefined` if the account has no such webhook.
 * @throws {Problem} `role_not_allowed` unless the member may create keys with the scope of webhooks
 */
export async function onWebhook(visit: AccountVisit): Promise<WebhookVisit | undefined> {
  const on = onDeployment(visit);
  const id = idOf(visit.parameters['webhookId']);
  if (on === undefined || id === undefined) return undefined;
  const webhook = await found(getWebhook(on.deployment.database, ownActor(visit), id));
  if (webhook === undefined) return undefined;
  // Webhooks of an admin's account receive the events of all accounts.
  if (!includesScopes(visit.signedIn.scopes, [SCOPE])) {
    throw new Problem('role_not_allowed', 403, 'Only an owner of this account can open and change its webhooks.');
  }
  return { ...on, webhook };
}

/** Returns the path of a page of webhooks on a deployment. @param part the path after that of the list */
export function pathOn(
  { deployment }: Pick<AccountVisit, 'deployment'>,
  part = '',
  parameters: Readonly<Record<string, string | undefined>> = {},
): string {
  return withQuery(PATH + part, { deployment: deployment.name, ...parameters });
}

const reasons: Readonly<Record<DisabledReason, string>> = {
  gone: 'its receiver responded 410',
  failing: `every attempt failed for ${durationIn('day', FAILING_MAX_MS, 'words')}`,
  operator: 'by the operator',
  key_revoked: 'its key was revoked',
  key_expired: 'its key expired',
  account_suspended: 'its account was suspended',
  account_deleted: 'its account was deleted',
  secret_replaced: 'its secret was replaced after a restore',
};

/** Returns the state of a webhook, since when it has failed, and why it is disabled. */
export function stateOf({
  status,
  disabledReason,
  failingSince,
  updatedAt,
}: Pick<WebhookRow, 'status' | 'disabledReason' | 'failingSince' | 'updatedAt'>): Html {
  if (status === 'inactive') return badge('', 'Inactive');
  if (status === 'disabled') {
    const why = disabledReason === null ? '' : `: ${reasons[disabledReason]}`;
    return html`${badge('bad', 'Disabled')} <span class="quiet">${timeHtml(updatedAt)}${why}</span>`;
  }
  if (failingSince === null) return badge('good', 'Active');
  return html`${badge('warn', 'Failing')} <span class="quiet">since ${timeHtml(failingSince)}</span>`;
}

/** Returns the share of the newest deliveries that succeeded: `98 % of the latest 50`. */
export function successText({ delivered, failed, pending }: DeliveryHealth): Html {
  const finished = delivered + failed;
  if (finished === 0) return html`<span class="quiet">${pending === 0 ? 'None yet' : 'None of the latest'}</span>`;
  return html`${Math.floor((delivered * 100) / finished)} % <span class="quiet">of the latest ${countText(finished)}</span>`;
}

/** Returns the number of pending deliveries, and whether more events wait for them. */
export function pendingText({ pending, waits }: Pick<DeliveryHealth, 'pending' | 'waits'>): Html {
  return html`${countText(pending)}${waits === 1 && html` <span class="quiet">and more events wait in the log</span>`}`;
}

/** Returns the event types of a webhook. */
export function typesText({ types }: Pick<WebhookRow, 'types'>): Html {
  if (types === null) return html`Every event`;
  return html`${(JSON.parse(types) as string[]).map(type => html`<code>${type}</code> `)}`;
}
