import { accountNames } from '../../access/accounts/accounts.ts';
import { type Html, html } from '../../lib/html/html.ts';
import type { AccountVisit } from '../page.ts';

/** Returns a function that names an account: `You`, or its name. */
export async function partiesNamed(
  { site, account }: AccountVisit,
  ids: readonly number[],
): Promise<(id: number) => Html> {
  const names = await accountNames(
    site.accounts,
    ids.filter(id => id !== account.id),
  );
  return id => (id === account.id ? html`You` : html`<bdi>${names.get(id) ?? `Account ${id}`}</bdi>`);
}
