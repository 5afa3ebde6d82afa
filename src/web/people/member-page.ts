import { keyIdsOfMember, listKeys } from '../../access/keys/keys.ts';
import { changeRole, listMembers } from '../../access/people/members.ts';
import { attemptLimits, requireAttempt } from '../../access/sessions/attempts.ts';
import { removeMemberWithDependents } from '../../events/webhooks/account-changes.ts';
import { listWebhooks } from '../../events/webhooks/webhooks.ts';
import { type Html, html, timeHtml } from '../../lib/html/html.ts';
import { Problem } from '../../lib/http/problem.ts';
import { UserError } from '../../lib/user-error.ts';
import { keyState } from '../../model/key.ts';
import type { Member } from '../../model/person.ts';
import { allows, isRole, roles } from '../../model/roles.ts';
import { formPage } from '../form-page.ts';
import { choices, form } from '../forms.ts';
import { idOf } from '../lists.ts';
import { type AccountVisit, ownActor, type View } from '../page.ts';
import { facts } from '../parts.ts';
import { emailUrlOf } from '../sessions/visits.ts';
import { accountDatabases, nowOf } from '../site.ts';
import { pathOn } from '../webhooks/parts.ts';
import { PATH, roleChoices } from './people-page.ts';

/** The maximum number of webhooks that the page about removing a member lists, by deployment. */
const WEBHOOKS_SHOWN = 100;

/** A member of the account, and the role. */
export const memberPage = formPage({
  path: `${PATH}/{personId}`,
  permission: 'people',
  shownFor: 'own',
  title: 'Member',
  asksAgain: 'everyone',
  find: memberOf,
  view: memberView,
  async change(visit, { id }) {
    const { site, account, origin, form } = visit;
    const role = form.get('role');
    if (!isRole(role)) throw new UserError('Choose a role.');
    await requireAttempt(site.accounts, attemptLimits.people, String(account.id));
    await site.accounts.write(tx => changeRole(tx, account.id, id, role, emailUrlOf(visit)), origin);
    site.emailQueued();
    return `${PATH}?done=role`;
  },
});

/** Removes a member, or leaves the account. */
export const removeMemberPage = formPage({
  path: `${PATH}/{personId}/removal`,
  permission: 'own',
  title: 'Remove a member',
  asksAgain: 'everyone',
  async find(visit) {
    const member = await memberOf(visit);
    if (member === undefined || mayRemove(visit, member)) return member;
    throw new Problem('role_not_allowed', 403, 'Only an owner can remove someone else.');
  },
  view: removalView,
  async change(visit, member) {
    const { site, account, origin, form } = visit;
    await requireAttempt(site.accounts, attemptLimits.people, String(account.id));
    const revokesKeys = form.get('revoke') === 'keys' && visit.may('people');
    const removed = { accountId: account.id, personId: member.id };
    const options = { revokesKeys, origin, emailUrl: emailUrlOf(visit) };
    await removeMemberWithDependents(accountDatabases(site), removed, options);
    site.emailQueued();
    return isSelf(visit, member) ? '/sign-in?done=left' : `${PATH}?done=removed`;
  },
});

async function memberOf({ site, account, parameters }: AccountVisit): Promise<Member | undefined> {
  const id = idOf(parameters['personId']);
  return (await listMembers(site.accounts, account.id)).find(one => one.id === id);
}

function isSelf({ signedIn }: AccountVisit, { id }: Member): boolean {
  return id === signedIn.person.id;
}

function mayRemove(visit: AccountVisit, member: Member): boolean {
  return visit.may('people') || isSelf(visit, member);
}

function memberView(visit: AccountVisit, member: Member, error?: string): View {
  const { id, name, email, role, joinedAt } = member;
  const remove = isSelf(visit, member) ? 'Leave this account …' : 'Remove from this account …';
  return {
    title: name,
    errors: { role: error },
    body: html`<p><a href="${PATH}">All people</a></p>
${facts([
  ['E-mail address', email],
  ['Role', roles[role].title],
  ['Joined', timeHtml(joinedAt)],
])}
${
  visit.may('people') &&
  form(
    visit,
    { action: `${PATH}/${id}`, submit: 'Change the role' },
    choices('radio', { name: 'role', label: 'Role', error, choices: roleChoices(role) }),
  )
}
${mayRemove(visit, member) && html`<p><a class="button secondary" href="${PATH}/${id}/removal">${remove}</a></p>`}`,
  };
}

/** Lists the webhooks of the account for owners: a member may have added or changed each. */
async function webhooksView(visit: AccountVisit, member: Member): Promise<Html | undefined> {
  const note = html`Webhooks belong to the account, and go on working`;
  if (!visit.may('people')) return allows(member.role, 'developers') ? html`<p>${note}.</p>` : undefined;
  const on = Array.from(visit.site.deployments.values(), deployment => ({ ...visit, deployment }));
  const lists = await Promise.all(
    on.map(({ deployment }) => listWebhooks(deployment.database, ownActor(visit), { limit: WEBHOOKS_SHOWN })),
  );
  const items = lists.flatMap(({ rows }, index) =>
    rows.map(
      ({ id, url }) =>
        html`<li><a href="${pathOn(on[index]!, `/${id}`)}"><bdi>${url}</bdi></a> (${on[index]!.deployment.name})</li>`,
    ),
  );
  return items.length > 0 ? html`<p>${note}. Check where they send the events:</p>\n<ul>${items}</ul>` : undefined;
}

async function removalView(visit: AccountVisit, member: Member, error?: string): Promise<View> {
  const { site, account } = visit;
  const { id, name } = member;
  const self = isSelf(visit, member);
  const made = new Set(await keyIdsOfMember(site.accounts, account.id, id));
  const keys = (await listKeys(site.accounts, account.id)).filter(
    key => made.has(key.id) && keyState(key, nowOf(site)) === 'active',
  );
  const offersKeys = keys.length > 0 && visit.may('people');
  return {
    title: self ? `Leave ${account.name}?` : `Remove ${name}?`,
    errors: { '': error },
    body: html`<p>${
      self
        ? 'You are signed out of this account at once. An owner can invite you again.'
        : html`<bdi>${name}</bdi> is signed out of this account at once, on every device.`
    } An import that ${self ? 'you' : 'they'} started ends. What ${self ? 'you' : 'they'} did stays, with the name.</p>
${
  offersKeys &&
  html`<p>${self ? 'You' : 'They'} made these API keys. Keys belong to the account, and go on working:</p>
<ul>${keys.map(key => html`<li><a href="/keys/${key.id}"><code>${key.id}</code></a>${key.name !== undefined && html` <bdi>${key.name}</bdi>`} (${key.deployment})</li>`)}</ul>`
}
${await webhooksView(visit, member)}
${form(
  visit,
  { action: `${PATH}/${id}/removal`, submit: self ? 'Leave' : 'Remove', danger: true },
  offersKeys &&
    choices('checkbox', {
      name: 'revoke',
      label: 'API keys',
      choices: [{ value: 'keys', label: 'Revoke these keys as well', hint: 'Programs that use them stop working.' }],
    }),
)}
<p><a href="${PATH}/${id}">Cancel</a></p>`,
  };
}
