import { type Html, html } from '../lib/html/html.ts';
import { countText } from '../lib/text.ts';
import type { Account } from '../model/account.ts';
import { boundTitles } from '../model/plan.ts';
import { boundsOf } from '../views/account/routes.ts';
import { titleOf } from './layout.ts';
import { bytesText, table } from './parts.ts';
import type { Site } from './site.ts';

type BoundName = keyof typeof boundTitles;

/** Returns a table of an account's resources on each deployment, with their maximum. */
export async function boundsTable({ deployments }: Site, { id, plan }: Account): Promise<Html> {
  const served = [...deployments.values()];
  const bounds = await Promise.all(served.map(deployment => boundsOf(deployment, { accountId: id, plan })));
  const names = Object.keys(boundTitles) as BoundName[];
  const columns = served.map(({ name: deployment }, index) => {
    const cell = (name: BoundName) => {
      const text = name.endsWith('Bytes') ? bytesText : countText;
      const { used, maximum } = bounds[index]![name];
      return html`${text(used)} <span class="quiet">of ${text(maximum)}</span>`;
    };
    return [titleOf(deployment), cell] as const;
  });
  return table('Bounds', { Bound: name => boundTitles[name], ...Object.fromEntries(columns) }, names);
}
