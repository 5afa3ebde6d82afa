import type { Deployment } from '../../deployment.ts';
import { type Html, type HtmlValue, html } from '../../lib/html/html.ts';
import { Problem } from '../../lib/http/problem.ts';
import { UserError } from '../../lib/user-error.ts';
import type { Database, DeploymentName } from '../../schema.ts';
import type { AccountDatabases } from '../../webhooks/account-changes.ts';
import { titleOf } from '../layout.ts';
import type { AccountVisit } from '../page.ts';

/** The style sheets of the pages for operators. */
export const styles = ['operator.css'];

/** Returns the actor of a change: the admin whose session it is. */
export function actorOf({ account }: AccountVisit) {
  return { accountId: account.id, admin: true };
}

export function databasesOf({ site }: AccountVisit): AccountDatabases & { readonly accounts: Database } {
  return { accounts: site.accounts, staging: site.deployments.get('staging')?.database };
}

/** Returns the deployment that the query names, production by default; `undefined` if this process does not have it. */
export function deploymentOf({ site, query }: AccountVisit): Deployment | undefined {
  return site.deployments.get(query.get('deployment') ?? 'production');
}

/** Returns the links to the same page of each deployment; nothing if there is only one. */
export function deploymentTabs({ site }: AccountVisit, path: string, current: DeploymentName): Html | undefined {
  if (site.deployments.size < 2) return undefined;
  return html`<nav class="tabs" aria-label="Deployment">${Array.from(site.deployments.values(), ({ name }) => {
    const isCurrent = name === current && html` aria-current="page"`;
    return html`<a href="${pathWith(path, { deployment: name })}"${isCurrent}>${titleOf(name)}</a>`;
  })}</nav>`;
}

/** Returns a path with the parameters that have a value; production is the default deployment and left out. */
export function pathWith(path: string, parameters: Readonly<Record<string, string | number | undefined>>): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    const isDefault = name === 'deployment' && value === 'production';
    if (value !== undefined && value !== '' && !isDefault) query.set(name, String(value));
  }
  return query.size === 0 ? path : `${path}?${query}`;
}

/** Returns a text that is not found in full because the list was read up to a bound. */
export function emptyText(text: string, { next }: { readonly next?: string | undefined }): string {
  return next === undefined ? text : 'Nothing of what was read so far matches. There is more to look through.';
}

/** Returns a form that searches: its fields become parameters of the address. */
export function searchForm(action: string, fields: HtmlValue, submit = 'Search'): Html {
  return html`<form action="${action}" class="filter">
${fields}
<button class="secondary">${submit}</button>
</form>`;
}

/** Returns a field of a search. */
export function searchField(
  { query }: AccountVisit,
  name: string,
  label: string,
  type: 'search' | 'number' | 'datetime-local' = 'search',
): Html {
  return html`<div class="field">
<label for="${name}">${label}</label>
<input id="${name}" name="${name}" type="${type}" value="${query.get(name)}" autocomplete="off">
</div>`;
}

export function accountLink(id: number | null | undefined, name?: string): Html | undefined {
  if (id === null || id === undefined) return undefined;
  return html`<a href="/operator/accounts/${id}">${name === undefined ? html`Account ${id}` : html`<bdi>${name}</bdi>`}</a>`;
}

export function keyLink(id: string): Html {
  return html`<a href="/operator/keys/${encodeURIComponent(id)}"><code>${id}</code></a>`;
}

/** Returns the text of a search, without NUL, which PostgreSQL has no place for; `undefined` if it is empty. */
export function searchText({ query }: AccountVisit, name: string): string | undefined {
  return query.get(name)?.replaceAll('\0', '').trim() || undefined;
}

/** Returns what is wrong with a form, as a sentence for the admin. @throws every error that is not about the form */
export function errorText(error: unknown): string {
  if (error instanceof UserError) return error.message;
  if (error instanceof Problem && error.status < 500) return error.errors?.[0]?.message ?? error.message;
  throw error;
}
