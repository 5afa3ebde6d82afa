import { cancelOwnDeletion, requestOwnDeletion } from '../../access/accounts/accounts.ts';
import { attemptLimits, requireAttempt } from '../../access/sessions/attempts.ts';
import { findPassword } from '../../access/sessions/passwords.ts';
import { suspendWithDependents } from '../../events/webhooks/account-changes.ts';
import { html, timeHtml } from '../../lib/html/html.ts';
import { DAY_MS } from '../../lib/time.ts';
import { UserError } from '../../lib/user-error.ts';
import { DELETION_GRACE_DAYS } from '../../model/rules.ts';
import { exportAccount } from '../../views/account-export/export.ts';
import { fieldsOf, form } from '../forms.ts';
import { type AccountVisit, accountPage, type View } from '../page.ts';
import { setting as section } from '../parts.ts';
import { accountDatabases, nowOf } from '../site.ts';
import { currentPasswordError } from './account.ts';
import { currentPassword, exportSection } from './view.ts';

const GRACE_MS = DELETION_GRACE_DAYS * DAY_MS;

/** The export of the data of the account, and its deletion. */
export const dataPage = accountPage({
  path: '/account/data',
  permission: 'account',
  title: 'Your data',
  menu: 'account',
  menuItem: { text: 'Data' },
  show: visit => ({
    styles: ['account.css'],
    body: html`${exportSection(visit)}${section(
      'delete',
      'Delete the account',
      `You can change your mind for ${DELETION_GRACE_DAYS} days.`,
      html`<a class="button secondary" href="/account/delete">Delete the account …</a>`,
    )}`,
  }),
});

/** Downloads all data of the account. */
export const exportData = accountPage({
  path: '/account/export',
  permission: 'account',
  title: 'Export the data',
  asksAgain: 'everyone',
  whileSuspended: true,
  show: () => ({ location: '/account' }),
  async submit({ site, account }) {
    await requireAttempt(site.accounts, attemptLimits.export, String(account.id));
    const options = { accounts: site.accounts, deployments: [...site.deployments.values()], now: nowOf(site) };
    return {
      contentType: 'application/json; charset=utf-8',
      bytes: '',
      parts: exportAccount(options, account.id),
      fileName: `petstore-account-${account.id}.json`,
    };
  },
});

/** Requests the deletion of the account. */
export const deleteAccount = accountPage({
  path: '/account/delete',
  permission: 'account',
  title: 'Delete the account',
  parent: '/account/data',
  asksAgain: 'people with a second factor',
  show: visit => deletionView(visit),
  async submit(visit) {
    const { site, account, origin, form } = visit;
    const name = form.get('name')?.trim() ?? '';
    const errors = {
      name: name === account.name.trim() ? undefined : `Type the name of the account: ${account.name}`,
      password: await currentPasswordError(visit, 'password'),
    };
    if (errors.name !== undefined || errors.password !== undefined) {
      return deletionView(visit, errors);
    }
    try {
      const databases = accountDatabases(site);
      await suspendWithDependents(databases, account.id, (tx, id) => requestOwnDeletion(tx, id, GRACE_MS), origin);
    } catch (error) {
      if (error instanceof UserError) return deletionView(visit, { '': error.message });
      throw error;
    }
    return { location: '/account' };
  },
});

/** Cancels the deletion that the owner requested. */
export const cancelDeletion = accountPage({
  path: '/account/delete/cancel',
  permission: 'account',
  title: 'Keep the account',
  whileSuspended: true,
  show: () => ({ location: '/account' }),
  async submit({ site, account, origin }) {
    try {
      await site.accounts.write(tx => cancelOwnDeletion(tx, account.id), origin);
      return { location: '/account?done=resumed' };
    } catch (error) {
      // The account page explains what the owner can do.
      if (error instanceof UserError) return { location: '/account' };
      throw error;
    }
  },
});

async function deletionView(visit: AccountVisit, errors: Parameters<typeof currentPassword>[1] = {}): Promise<View> {
  const { site, account } = visit;
  const hasPassword = (await findPassword(site.accounts, visit.signedIn.person.id)) !== undefined;
  return {
    errors,
    body: html`<p>Your account is suspended at once: its API keys are rejected and its webhooks are disabled.
On <strong>${timeHtml(nowOf(site) + GRACE_MS)}</strong> we delete it for good, on both deployments:</p>
<ul>
<li>your animals, webhooks, API keys, notes and the texts of your messages are deleted;</li>
<li>your open orders are cancelled and your holds released;</li>
<li>your name and e-mail address are replaced. The people that you dealt with keep your orders.</li>
</ul>
<p>Until that day, sign in and choose “Keep the account” to cancel. <a href="/account/data">Export your data</a> first if you need it.</p>
${form(visit, { action: '/account/delete', submit: 'Delete the account', danger: true }, [
  fieldsOf(visit, errors)('name', `Type the name of the account: ${account.name}`),
  currentPassword('password', errors, hasPassword),
])}
<p><a href="/account/data">Back to your data</a></p>`,
  };
}
