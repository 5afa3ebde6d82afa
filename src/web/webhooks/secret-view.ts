import { html, timeHtml } from '../../lib/html/html.ts';
import { notice } from '../forms.ts';
import type { AccountVisit, View } from '../page.ts';
import { pathOn } from './parts.ts';

interface ShownSecret {
  readonly title: string;
  /** The id of the webhook. */
  readonly id: number;
  readonly secret: string;
  /** Until when previous secrets also sign; absent for the first secret. */
  readonly previousExpiresAt?: number;
}

/** Returns the page that shows the secret of a webhook. It is shown only once. */
export function secretView(on: AccountVisit, { title, id, secret, previousExpiresAt }: ShownSecret): View {
  const next =
    previousExpiresAt === undefined
      ? 'Start your receiver with it, then test and activate the webhook.'
      : html`Previous secrets also sign until ${timeHtml(previousExpiresAt)}. Set the new one in your receiver before.`;
  return {
    title,
    body: html`${notice('status', html`<p><strong>Copy the secret now.</strong> It is shown only this once.</p>`)}
<h2>Signing secret</h2>
<pre class="copy" id="secret"><code>${secret}</code></pre>
<p>Deliveries are signed with this secret. ${next} See <a href="/guides/receive-webhooks">how to verify signatures</a>.</p>
<p><a class="button" href="${pathOn(on, `/${id}`)}">Continue to the webhook</a></p>`,
  };
}
