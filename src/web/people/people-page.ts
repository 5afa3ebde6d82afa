import { requireSecondFactor } from '../../access/accounts/accounts.ts';
import {
  cancelInvitation,
  INVITATION_MS,
  type Invitation,
  invitationPath,
  invite,
  listInvitations,
} from '../../access/people/invitations.ts';
import { listMembers } from '../../access/people/members.ts';
import { attemptLimits, requireAttempt } from '../../access/sessions/attempts.ts';
import { hasSecondFactor } from '../../access/sessions/has-second-factor.ts';
import { type Html, html, timeHtml } from '../../lib/html/html.ts';
import { durationIn } from '../../lib/time.ts';
import type { Member } from '../../model/person.ts';
import { isRole, type Role, roleNames, roles } from '../../model/roles.ts';
import { type Choice, choices, doneNotice, fieldsOf, form, formError, hidden, notice } from '../forms.ts';
import { idOf } from '../lists.ts';
import { type AccountVisit, accountPage, type View } from '../page.ts';
import { table } from '../parts.ts';
import { emailUrlOf, UPGRADING } from '../sessions/visits.ts';
import { nowOf } from '../site.ts';

/** The path of the page, and of the pages below it. */
export const PATH = '/account/people';

/** The members of the account, and the people who are invited. */
export const peoplePage = accountPage({
  path: PATH,
  permission: 'people',
  shownFor: 'own',
  title: 'People',
  menu: 'account',
  asksAgain: 'everyone',
  showsSecret: true,
  show: visit => peopleView(visit),
  async submit(visit) {
    const { site, account, signedIn, origin, form, request } = visit;
    const email = form.get('email')?.trim() ?? '';
    const role = form.get('role');
    if (!isRole(role)) return peopleView(visit, { role: 'Choose a role.' });
    if (!site.isUpgraded()) return peopleView(visit, { '': UPGRADING });
    await requireAttempt(site.accounts, attemptLimits.people, String(account.id));
    const emailUrl = emailUrlOf(visit);
    const wanted = { accountId: account.id, invitedBy: signedIn.person.id, role, email };
    try {
      const secret = await site.accounts.write(tx => invite(tx, wanted, emailUrl), origin);
      site.emailQueued();
      if (secret === undefined) return { location: `${PATH}?done=invited` };
      return linkView(email, request.publicUrl + invitationPath(secret));
    } catch (error) {
      return peopleView(visit, { email: formError(error) });
    }
  },
});

/** Withdraws an invitation. */
export const cancelInvitationPage = accountPage({
  path: `${PATH}/invitations/{invitationId}/cancel`,
  permission: 'people',
  title: 'Withdraw an invitation',
  async submit({ site, account, origin, parameters }) {
    const id = idOf(parameters['invitationId']);
    if (id === undefined) return undefined;
    const existed = await site.accounts.write(tx => cancelInvitation(tx, account.id, id), origin);
    return existed ? { location: `${PATH}?done=withdrawn` } : undefined;
  },
});

/** Requires a second factor of every member, or ends that. */
export const secondFactorRulePage = accountPage({
  path: `${PATH}/second-factor`,
  permission: 'people',
  title: 'Require a second factor',
  asksAgain: 'everyone',
  show: () => ({ location: PATH }),
  async submit(visit) {
    const { site, account, signedIn, origin, form } = visit;
    const isRequired = form.get('required') === 'yes';
    if (isRequired && !(await hasSecondFactor(site.accounts, signedIn.person.id))) {
      return peopleView(visit, { '': 'Add a second factor to your own sign-in first, on the page Security.' });
    }
    await requireAttempt(site.accounts, attemptLimits.people, String(account.id));
    await site.accounts.write(tx => requireSecondFactor(tx, account.id, isRequired), origin);
    return { location: `${PATH}?done=${isRequired ? 'required' : 'optional'}` };
  },
});

const done = {
  invited: 'We sent the invitation.',
  withdrawn: 'The invitation is withdrawn. Its link no longer works.',
  role: 'The role is changed.',
  required: 'Everyone in this account now needs a second factor.',
  optional: 'A second factor is no longer required.',
  removed: 'The person is removed, and signed out of this account.',
};

/** Returns the roles as choices. @param chosen the role that is selected */
export function roleChoices(chosen: Role | null): Choice[] {
  return roleNames.map(value => ({
    ...{ value, label: roles[value].title, hint: roles[value].summary, checked: value === chosen },
  }));
}

async function peopleView(visit: AccountVisit, errors: Readonly<Record<string, string>> = {}): Promise<View> {
  const { site, account, form: sent } = visit;
  const members = await listMembers(site.accounts, account.id);
  const invitations = visit.may('people') ? await listInvitations(site.accounts, account.id, nowOf(site)) : [];
  const role = sent.get('role');
  return {
    errors,
    description: 'Who works in this account, and what they may do.',
    body: html`${doneNotice(visit, done)}
<p class="lead">Everyone who works in ${account.name} has their own sign-in, so that the history shows who did what.</p>
${table('People', memberColumns(visit), members)}
${invitations.length > 0 && html`<h2>Invited</h2>\n${table('Invitations', invitationColumns(visit), invitations)}`}
${
  visit.may('people') &&
  html`<h2 id="invite">Invite someone</h2>
${form(visit, { action: PATH, submit: site.emailSender === undefined ? 'Create a link' : 'Send the invitation' }, [
  fieldsOf(visit, errors)('email', 'E-mail address', { type: 'email' }),
  choices('radio', {
    ...{ name: 'role', label: 'Role', error: errors['role'], choices: roleChoices(isRole(role) ? role : 'staff') },
  }),
])}
${secondFactorRule(visit)}`
}`,
  };
}

function secondFactorRule(visit: AccountVisit): Html {
  const { secondFactorRequired = false } = visit.account;
  const options = { action: `${PATH}/second-factor`, className: 'inline', secondary: true } as const;
  return html`<h2 id="second-factor">Second factor</h2>
<p>${
    secondFactorRequired
      ? 'Everyone in this account needs an authenticator app or a passkey to work in it.'
      : 'A password alone is enough to work in this account. With a second factor, a stolen password opens nothing.'
  }</p>
${
  secondFactorRequired
    ? form(visit, { ...options, submit: 'Stop requiring it' })
    : form(visit, { ...options, submit: 'Require a second factor' }, hidden('required', 'yes'))
}`;
}

function memberColumns({ signedIn }: AccountVisit) {
  return {
    Name: ({ id, name }: Member) =>
      html`<a href="${PATH}/${id}"><bdi>${name}</bdi></a>${id === signedIn.person.id && html` <span class="quiet">(you)</span>`}`,
    'E-mail address': ({ email }: Member) => email,
    Role: ({ role }: Member) => roles[role].title,
    Joined: ({ joinedAt }: Member) => timeHtml(joinedAt),
  };
}

function invitationColumns(visit: AccountVisit) {
  return {
    'E-mail address': ({ email }: Invitation) => email,
    Role: ({ role }: Invitation) => roles[role].title,
    'Works until': ({ expiresAt }: Invitation) => timeHtml(expiresAt),
    '': ({ id, email }: Invitation) =>
      form(
        visit,
        { action: `${PATH}/invitations/${id}/cancel`, submit: 'Withdraw', className: 'inline', danger: true },
        html`<span class="sr-only">${email}</span>`,
      ),
  };
}

/** Shows the link of an invitation once, where the store sends no e-mail. */
function linkView(email: string, url: string): View {
  return {
    title: 'Give this link to the person',
    body: html`<p>This store sends no e-mail. Send the link to <strong>${email}</strong> yourself. It is shown only now.</p>
<p><code class="token">${url}</code></p>
${notice('status', `It works once, for ${durationIn('day', INVITATION_MS, 'words')}, and only for this address.`)}
<p><a href="${PATH}">Back to the people</a></p>`,
  };
}
