import { type Account, type AccountChange, checkChange } from '../../accounts/account.ts';
import { getAccount, requestDeletion, resumeAccount, suspendAccount, updateAccount } from '../../accounts/accounts.ts';
import { parseDuration } from '../../lib/time.ts';
import { UserError, userErrorOf } from '../../lib/user-error.ts';
import type { PlanName } from '../../plans/plan.ts';
import type { Transaction } from '../../schema.ts';
import { suspendWithDependents } from '../../webhooks/account-changes.ts';
import { idOf } from '../lists.ts';
import { type AccountVisit, operatorPage, type PageResult } from '../page.ts';
import { type AccountErrors, accountView, GRACES } from './account-view.ts';
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
    change(visit, 'updated', {
      wrong: account => limitErrors(visit.form, account),
      work: ({ id }) => visit.site.accounts.write(tx => updateAccount(tx, id, changeOf(visit.form)), visit.origin),
      about: 'admin',
    }),
});

export const suspendPage = operatorPage({
  path: '/operator/accounts/{accountId}/suspend',
  title: 'Suspend an account',
  submit: visit => change(visit, 'suspended', { work: ({ id }) => suspend(visit, id, suspendAccount) }),
});

/** Resumes an account, and cancels its deletion. */
export const resumePage = operatorPage({
  path: '/operator/accounts/{accountId}/resume',
  title: 'Resume an account',
  submit: visit =>
    change(visit, 'resumed', {
      work: ({ id }) => visit.site.accounts.write(tx => resumeAccount(tx, id), visit.origin),
    }),
});

export const deletePage = operatorPage({
  path: '/operator/accounts/{accountId}/delete',
  title: 'Delete an account',
  submit: visit =>
    change(visit, 'deleting', {
      wrong: ({ name }) =>
        visit.form.get('confirmation')?.trim() === name.trim()
          ? {}
          : { confirmation: 'Type the name of the account exactly as it is shown to confirm the deletion.' },
      work({ id }) {
        const grace = visit.form.get('grace') ?? '';
        const graceMs = parseDuration(Object.hasOwn(GRACES, grace) ? grace : '30d')!;
        return suspend(visit, id, (tx, id) => requestDeletion(tx, id, graceMs));
      },
    }),
});

/** A change of an account by a form. */
interface Change {
  /** Returns what is wrong with the entries, by field. */
  wrong?(account: Account): AccountErrors;
  work(account: Account): Promise<unknown>;
  /** The field that a refusal is about; the whole form by default. */
  readonly about?: keyof AccountErrors;
}

/** Makes a change of the account that the path names; then shows the account, with what was wrong if it failed. */
async function change(
  visit: AccountVisit,
  done: string,
  { wrong, work, about = '' }: Change,
): Promise<PageResult | undefined> {
  const account = await accountOf(visit);
  if (account === undefined) return undefined;
  const errors = wrong?.(account) ?? {};
  if (Object.values(errors).some(error => error !== undefined)) return accountView(visit, account, errors);
  try {
    await work(account);
  } catch (error) {
    return accountView(visit, account, { [about]: errorText(error) });
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

function changeOf(form: URLSearchParams): AccountChange {
  const plan = (form.get('plan') ?? '') as PlanName;
  const limits = plan === 'enterprise' ? { ...limitOf(form, 'perMinute'), ...limitOf(form, 'perDay') } : {};
  return { plan, ...limits, admin: form.get('admin') === 'yes' };
}

function limitOf(form: URLSearchParams, name: 'perMinute' | 'perDay'): AccountChange {
  const text = form.get(name)?.trim() ?? '';
  return text === '' ? {} : { [name]: /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN };
}

/** Returns what is wrong with the limits of a form, which Enterprise needs both of. */
function limitErrors(form: URLSearchParams, account: Account): AccountErrors {
  if (form.get('plan') !== 'enterprise') return {};
  const errorOf = (name: 'perMinute' | 'perDay', window: string) => {
    const limit = limitOf(form, name);
    const isMissing = limit[name] === undefined && account[name] === null;
    return isMissing ? `Enterprise needs its own requests per ${window}.` : userErrorOf(() => checkChange(limit));
  };
  return { perMinute: errorOf('perMinute', 'minute'), perDay: errorOf('perDay', 'day') };
}
