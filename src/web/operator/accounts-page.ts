import { type AccountState, searchAccounts } from '../../access/accounts/search.ts';
import { type Html, html, timeHtml } from '../../lib/html/html.ts';
import type { Account } from '../../model/account.ts';
import { plans } from '../../model/plan.ts';
import { badge } from '../parts.ts';
import { choiceFilter, operatorList, textFilter } from './list.ts';
import { accountLink } from './parts.ts';

const states: Readonly<Record<AccountState, string>> = {
  admin: 'Admins',
  suspended: 'Suspended',
  deleting: 'Being deleted',
};

/** A searchable list of the accounts. */
export const accountsPage = operatorList({
  path: '/operator/accounts',
  title: 'Accounts',
  menu: 'operator',
  filters: { q: textFilter('Name, e-mail address or id'), state: choiceFilter('State', states) },
  read: ({ site }, { q, state }, page) => searchAccounts(site.accounts, { text: q, state }, page),
  caption: 'Accounts',
  columns: () => ({
    Name: ({ id, name }) => accountLink(id, name),
    Id: ({ id }) => id,
    'E-mail address': ({ email }) => html`<bdi>${email}</bdi>`,
    Plan: ({ plan }) => plans[plan].title,
    State: stateBadges,
    Created: ({ createdAt }) => timeHtml(createdAt),
  }),
  empty: 'No account matches.',
});

/** Returns badges with the state of an account, and whether it is an admin. */
export function stateBadges({ admin, suspendedAt, deleteAt, deletedAt }: Account): Html {
  const state =
    deletedAt !== undefined
      ? badge('bad', 'Deleted')
      : deleteAt !== undefined
        ? badge('bad', 'Being deleted')
        : suspendedAt !== undefined
          ? badge('warn', 'Suspended')
          : badge('good', 'Active');
  return html`${state}${admin && html` ${badge('', 'Admin')}`}`;
}
