import { type Html, html } from '../../lib/html/html.ts';
import type { AccountVisit } from '../page.ts';

/** The style sheets of the pages for operators. */
export const styles = ['operator.css'];

/** Returns the actor of a change: the admin of the session. */
export function actorOf({ account }: AccountVisit) {
  return { accountId: account.id, admin: true };
}

export function accountLink(id: number | null | undefined, name?: string): Html | undefined {
  if (id === null || id === undefined) return undefined;
  return html`<a href="/operator/accounts/${id}">${name === undefined ? html`Account ${id}` : html`<bdi>${name}</bdi>`}</a>`;
}

export function keyLink(id: string): Html {
  return html`<a href="/operator/keys/${encodeURIComponent(id)}"><code>${id}</code></a>`;
}
