import { switchAccount } from '../../access/sessions/sessions.ts';
import { idOf } from '../lists.ts';
import { homeOf } from '../menu.ts';
import { accountPage } from '../page.ts';

/** Shows the pages of another account of the person. */
export const switchAccountPage = accountPage({
  path: '/account/switch',
  permission: 'own',
  title: 'Switch the account',
  whileSuspended: true,
  withoutFactor: true,
  show: () => ({ location: '/account' }),
  async submit({ site, signedIn, form }) {
    const id = idOf(form.get('account') ?? undefined);
    const chosen = signedIn.memberships.find(({ account }) => account.id === id);
    if (chosen === undefined) return undefined;
    await site.accounts.write(tx => switchAccount(tx, signedIn.session, chosen.account.id));
    return { location: homeOf(chosen.account) };
  },
});
