import { accountName } from '../../access/accounts/accounts.ts';
import { findPersonByEmail } from '../../access/accounts/people.ts';
import { countedAddress } from '../../access/limits/address.ts';
import {
  type Accepting,
  acceptInvitation,
  findInvitation,
  type Invitation,
  invitationPath,
} from '../../access/people/invitations.ts';
import { attemptLimits, requireAttempt } from '../../access/sessions/attempts.ts';
import { knownBrowserOf } from '../../access/sessions/known-browser.ts';
import { passwordError } from '../../access/sessions/passwords.ts';
import { isSecret } from '../../access/sessions/session.ts';
import { startSession, switchAccount } from '../../access/sessions/sessions.ts';
import { html } from '../../lib/html/html.ts';
import { NAME_LENGTH_MAX } from '../../lib/text.ts';
import { roles } from '../../model/roles.ts';
import type { Transaction } from '../../model/schema.ts';
import { enteredText, fieldsOf, form, formError } from '../forms.ts';
import { type PageResult, publicForm, type Redirect, type View, type Visit } from '../page.ts';
import { HOME_PATH } from '../paths.ts';
import {
  browserOf,
  cookieNotice,
  emailUrlOf,
  knownCookie,
  newPasswordField,
  personNameError,
  sessionCookie,
  usernameField,
} from '../sessions/visits.ts';
import { nowOf } from '../site.ts';

/**
 * The page that an invitation opens. Opening it changes nothing, because mail scanners open links; its button accepts.
 */
export const invitationPage = publicForm({
  path: '/invitations/{secret}',
  showsSecret: true,
  title: 'Invitation',
  on: 'portal',
  async show(visit) {
    const opened = await open(visit);
    return opened === undefined ? endedView() : invitationView(visit, opened);
  },
  async submit(visit) {
    const opened = await open(visit);
    if (opened === undefined) return endedView();
    try {
      return (await accept(visit, opened)) ?? endedView();
    } catch (error) {
      return invitationView(visit, opened, { '': formError(error) });
    }
  },
});

/** A valid invitation, with its secret, the name of its account, and whether its address can sign in already. */
interface Opened {
  readonly secret: string;
  readonly invitation: Invitation;
  readonly name: string;
  readonly isKnown: boolean;
}

type Errors = Readonly<Record<string, string | undefined>>;

async function open({ site, parameters }: Visit): Promise<Opened | undefined> {
  const { secret = '' } = parameters;
  if (!isSecret(secret)) return undefined;
  const invitation = await findInvitation(site.accounts, secret, nowOf(site));
  if (invitation === undefined) return undefined;
  const name = (await accountName(site.accounts, invitation.accountId)) ?? '';
  const isKnown = (await findPersonByEmail(site.accounts, invitation.email)) !== undefined;
  return { secret, invitation, name, isKnown };
}

/** Accepts the invitation for the signed-in person, or for a new one. Returns `undefined` if it has ended. */
async function accept(visit: Visit, opened: Opened): Promise<PageResult | undefined> {
  const { site, signedIn, request } = visit;
  await requireAttempt(site.accounts, attemptLimits.acceptByAddress, countedAddress(request.address));
  if (signedIn === undefined) return acceptAsNew(visit, opened);
  if (signedIn.person.email !== opened.invitation.email) return invitationView(visit, opened);
  return write(visit, opened, { personId: signedIn.person.id }, async (tx, _, accountId) => {
    await switchAccount(tx, signedIn.session, accountId);
    return { location: HOME_PATH };
  });
}

async function acceptAsNew(visit: Visit, opened: Opened): Promise<PageResult | undefined> {
  const { site, request, form: sent } = visit;
  const { email, mailed } = opened.invitation;
  const name = enteredText(visit, 'name');
  const password = sent.get('password') ?? '';
  // A printed link can reach anyone, so the new member types the invited address.
  const isOther = !mailed && enteredText(visit, 'email').toLowerCase() !== email;
  const errors: Errors = {
    name: personNameError(name),
    email: isOther ? 'The invitation is for another e-mail address.' : undefined,
    password: passwordError(password, email),
  };
  if (Object.values(errors).some(error => error !== undefined)) return invitationView(visit, opened, errors);
  if (opened.isKnown) {
    return invitationView(visit, opened, { '': 'This address has a sign-in already. Sign in to join.' });
  }
  const hash = await site.passwords.hash(password, countedAddress(request.address));
  return write(visit, opened, { name, hash }, async (tx, personId, accountId) => {
    const { secret } = await startSession(tx, personId, browserOf(visit), accountId);
    return { location: HOME_PATH, cookies: [sessionCookie(visit, secret), knownCookie(visit, knownBrowserOf(hash))] };
  });
}

/** Accepts the invitation, and shows the account to its new member. Returns `undefined` if the invitation has ended. */
async function write(
  visit: Visit,
  { secret, invitation: { accountId } }: Opened,
  accepting: Accepting,
  showAccount: (tx: Transaction, personId: number, accountId: number) => Promise<Redirect>,
): Promise<Redirect | undefined> {
  const { site, request } = visit;
  const origin = { accountId, requestId: request.requestId, address: request.address };
  const accepted = await site.accounts.write(async tx => {
    const person = await acceptInvitation(tx, secret, accepting, emailUrlOf(visit));
    return person && showAccount(tx, person.id, accountId);
  }, origin);
  site.emailQueued();
  return accepted;
}

function invitationView(visit: Visit, opened: Opened, errors: Errors = {}): View {
  const { invitation, name } = opened;
  return {
    title: `Join ${name}`,
    errors,
    body: html`<p class="lead">You are invited to work in <strong>${name}</strong> as ${roles[invitation.role].title.toLowerCase()}. ${roles[invitation.role].summary}</p>
${howToAccept(visit, opened, errors)}
${cookieNotice(visit)}`,
  };
}

function howToAccept(visit: Visit, { secret, invitation, isKnown }: Opened, errors: Errors) {
  const { signedIn } = visit;
  const fields = fieldsOf(visit, errors);
  const action = invitationPath(secret);
  if (signedIn !== undefined && signedIn.person.email === invitation.email) {
    return form(visit, { action, submit: 'Join' });
  }
  if (signedIn !== undefined) {
    return html`<p>The invitation is for another e-mail address than <strong>${signedIn.person.email}</strong>, with which you are signed in. Sign out, and open the link again.</p>`;
  }
  const signIn = `/sign-in?next=${encodeURIComponent(action)}`;
  // A link that was not mailed can be opened by its sender, who must not learn whether the address has a sign-in.
  if (isKnown && invitation.mailed) {
    return html`<p>You have a sign-in for the address of the invitation already.</p>
<p><a class="button" href="${signIn}">Sign in to join</a></p>`;
  }
  const newPerson = form(visit, { action, submit: 'Join' }, [
    invitation.mailed
      ? usernameField(invitation.email)
      : fields('email', 'E-mail address', {
          ...{ type: 'email', hint: 'The address that you were invited with. You sign in with it.' },
          autocomplete: 'username',
        }),
    fields('name', 'Your name', {
      ...{ hint: 'Your colleagues see it.', autocomplete: 'name', maxLength: NAME_LENGTH_MAX },
    }),
    newPasswordField({ label: 'Choose a password', error: errors['password'] }),
  ]);
  return html`${newPerson}\n<p>You have a sign-in already? <a href="${signIn}">Sign in to join</a></p>`;
}

function endedView(): View {
  return {
    title: 'This invitation no longer works',
    status: 410,
    body: html`<p>Invitations work once, and only for a while. Ask the person who invited you for another one.</p>
<p><a href="/sign-in">Sign in</a></p>`,
  };
}
