import { type Html, html } from '../lib/html/html.ts';
import { countText } from '../lib/text.ts';
import type { Account } from '../model/account.ts';
import { boundTitles } from '../model/plan.ts';
import { boundsOf } from '../views/account/routes.ts';
import { titleOf } from './layout.ts';
import type { AccountVisit } from './page.ts';
import { bytesText, facts, table } from './parts.ts';
import type { Site } from './site.ts';

type BoundName = keyof typeof boundTitles;

/** The bounds of what people add and do on pages; programs can reach the others. */
const everydayNames = [
  'pets',
  'photoBytes',
  'heldPets',
  'openOrders',
  'importedRows',
] as const satisfies readonly BoundName[];

/** Returns what the account uses of the bounds that people reach, as a list: `Animals: 12 of 10,000`. */
export async function everydayBounds({ deployment, account }: AccountVisit): Promise<Html> {
  const bounds = await boundsOf(deployment, { accountId: account.id, plan: account.plan });
  return facts(everydayNames.map(name => [boundTitles[name], cellOf(name, bounds[name])]));
}

/** Returns a table of all resources of an account on each deployment, with their maximum. */
export async function boundsTable({ deployments }: Site, { id, plan }: Account): Promise<Html> {
  const served = [...deployments.values()];
  const bounds = await Promise.all(served.map(deployment => boundsOf(deployment, { accountId: id, plan })));
  const names = Object.keys(boundTitles) as BoundName[];
  const columns = served.map(({ name: deployment }, index) => {
    return [titleOf(deployment), (name: BoundName) => cellOf(name, bounds[index]![name])] as const;
  });
  return table('Bounds', { Bound: name => boundTitles[name], ...Object.fromEntries(columns) }, names);
}

function cellOf(name: BoundName, { used, maximum }: { readonly used: number; readonly maximum: number }): Html {
  const text = name.endsWith('Bytes') ? bytesText : countText;
  return html`${text(used)} <span class="quiet">of ${text(maximum)}</span>`;
}
