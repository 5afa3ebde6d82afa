import type { Account } from '../accounts/account.ts';
import { boundsOf } from '../accounts/usage/routes.ts';
import { type Html, html } from '../lib/html/html.ts';
import { countText } from '../lib/text.ts';
import { boundTitles } from '../plans/plan.ts';
import { titleOf } from './layout.ts';
import { bytesText, table } from './parts.ts';
import type { Site } from './site.ts';

/** Returns a table of what an account has on each deployment, and can have at most. */
export async function boundsTable({ deployments }: Site, { id, plan }: Account): Promise<Html> {
  const served = [...deployments.values()];
  const bounds = await Promise.all(served.map(deployment => boundsOf(deployment, { accountId: id, plan })));
  const names = Object.keys(boundTitles) as (keyof typeof boundTitles)[];
  const rows = names.map(name => {
    const text = name.endsWith('Bytes') ? bytesText : countText;
    const cells = bounds.map(({ [name]: { used, maximum } }) => {
      return html`${text(used)} <span class="quiet">of ${text(maximum)}</span>`;
    });
    return [boundTitles[name], ...cells];
  });
  return table('Bounds', ['Bound', ...served.map(({ name }) => titleOf(name))], rows, '');
}
