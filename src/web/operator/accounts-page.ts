import type { Account } from '../../accounts/account.ts';
import { type AccountState, searchAccounts } from '../../accounts/search.ts';
import { type Html, html, timeHtml } from '../../lib/html/html.ts';
import { plans } from '../../plans/plan.ts';
import { select } from '../forms.ts';
import { listPage, pageLinks } from '../lists.ts';
import { operatorPage } from '../page.ts';
import { badge, table } from '../parts.ts';
import { accountLink, emptyText, searchField, searchForm, searchText, styles } from './parts.ts';

const states: Readonly<Record<AccountState, string>> = {
  admin: 'Admins',
  suspended: 'Suspended',
  deleting: 'Being deleted',
};

/** The accounts, to search. */
export const accountsPage = operatorPage({
  path: '/operator/accounts',
  title: 'Accounts',
  menu: 'operator',
  async show(visit) {
    const { site, query } = visit;
    const text = searchText(visit, 'q');
    const state = Object.hasOwn(states, query.get('state') ?? '') ? (query.get('state') as AccountState) : undefined;
    const page = await searchAccounts(site.accounts, { text, state }, listPage(visit));
    const choices = [['', 'All'], ...Object.entries(states)].map(([value, label]) => {
      return { value: value!, label, checked: value === (state ?? '') };
    });
    return {
      styles,
      body: html`${searchForm('/operator/accounts', [
        searchField(visit, 'q', 'Name, e-mail address or id'),
        select({ name: 'state', label: 'State', choices }),
      ])}
${table(
  'Accounts',
  ['Name', 'Id', 'E-mail address', 'Plan', 'State', 'Created'],
  page.rows.map(account => [
    accountLink(account.id, account.name),
    String(account.id),
    html`<bdi>${account.email}</bdi>`,
    plans[account.plan].title,
    stateBadges(account),
    timeHtml(account.createdAt),
  ]),
  emptyText('No account matches.', page),
)}
${pageLinks(visit, page)}`,
    };
  },
});

/** Returns the state of an account, and whether it is an admin. */
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
