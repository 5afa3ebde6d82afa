import type { Account, AccountChange } from '../../accounts/account.ts';
import { getAccount, requestDeletion, resumeAccount, suspendAccount, updateAccount } from '../../accounts/accounts.ts';
import { parseDuration } from '../../lib/time.ts';
import { UserError } from '../../lib/user-error.ts';
import type { PlanName } from '../../plans/plan.ts';
import type { Transaction } from '../../schema.ts';
import { suspendWithDependents } from '../../webhooks/account-changes.ts';
import { idOf } from '../lists.ts';
import { type AccountVisit, operatorPage, type PageResult } from '../page.ts';
import { accountView, GRACES } from './account-view.ts';
import { databasesOf, errorText } from './parts.ts';

/** One account: what it has, and the forms to change, suspend, resume and delete it. */
export const accountPage = operatorPage({
  path: '/operator/accounts/{accountId}',
  title: 'Account',
  async show(visit) {
    const account = await accountOf(visit);
    return account && accountView(visit, account);
  },
  submit: visit =>
    change(visit, 'updated', ({ id }) => {
      const wanted = changeOf(visit.form);
      return visit.site.accounts.write(tx => updateAccount(tx, id, wanted), visit.origin);
    }),
});

export const suspendPage = operatorPage({
  path: '/operator/accounts/{accountId}/suspend',
  title: 'Suspend an account',
  submit: visit => change(visit, 'suspended', ({ id }) => suspend(visit, id, suspendAccount)),
});

/** Resumes an account, and cancels its deletion. */
export const resumePage = operatorPage({
  path: '/operator/accounts/{accountId}/resume',
  title: 'Resume an account',
  submit: visit =>
    change(visit, 'resumed', ({ id }) => visit.site.accounts.write(tx => resumeAccount(tx, id), visit.origin)),
});

export const deletePage = operatorPage({
  path: '/operator/accounts/{accountId}/delete',
  title: 'Delete an account',
  submit: visit =>
    change(visit, 'deleting', ({ id, name }) => {
      const { form } = visit;
      if (form.get('confirmation')?.trim() !== name.trim()) {
        throw new UserError('Type the name of the account exactly as it is shown to confirm the deletion.');
      }
      const grace = form.get('grace') ?? '';
      const graceMs = parseDuration(Object.hasOwn(GRACES, grace) ? grace : '30d')!;
      return suspend(visit, id, (tx, id) => requestDeletion(tx, id, graceMs));
    }),
});

/** Makes a change of the account that the path names; then shows the account, with what was wrong if it failed. */
async function change(
  visit: AccountVisit,
  done: string,
  work: (account: Account) => Promise<unknown>,
): Promise<PageResult | undefined> {
  const account = await accountOf(visit);
  if (account === undefined) return undefined;
  try {
    await work(account);
  } catch (error) {
    return accountView(visit, account, errorText(error));
  }
  return { location: `/operator/accounts/${account.id}?done=${done}` };
}

function suspend(visit: AccountVisit, id: number, work: (tx: Transaction, id: number) => Promise<Account>) {
  return suspendWithDependents(databasesOf(visit), id, work, visit.origin);
}

/** Returns the account that the path names, also a deleted one; `undefined` if there is none. */
async function accountOf({ site, parameters }: AccountVisit): Promise<Account | undefined> {
  const id = idOf(parameters['accountId']);
  if (id === undefined) return undefined;
  try {
    return await getAccount(site.accounts, id);
  } catch (error) {
    if (error instanceof UserError) return undefined;
    throw error;
  }
}

/** @throws {UserError} for limits that are no numbers */
function changeOf(form: URLSearchParams): AccountChange {
  const plan = (form.get('plan') ?? '') as PlanName;
  const limits = plan === 'enterprise' ? { ...limitOf(form, 'perMinute'), ...limitOf(form, 'perDay') } : {};
  return { plan, ...limits, admin: form.get('admin') === 'yes' };
}

function limitOf(form: URLSearchParams, name: 'perMinute' | 'perDay'): AccountChange {
  const text = form.get(name)?.trim() ?? '';
  return text === '' ? {} : { [name]: /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN };
}
