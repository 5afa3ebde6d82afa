import { accountName } from '../../access/accounts/accounts.ts';
import { findPersonByEmail } from '../../access/accounts/people.ts';
import {
  type Accepting,
  acceptInvitation,
  findInvitation,
  type Invitation,
  invitationPath,
} from '../../access/people/invitations.ts';
import { addressSubject, attemptLimits, requireAttempt } from '../../access/sessions/attempts.ts';
import { knownBrowserOf } from '../../access/sessions/known-browser.ts';
import { passwordError } from '../../access/sessions/passwords.ts';
import { isSecret } from '../../access/sessions/session.ts';
import { startSession, switchAccount } from '../../access/sessions/sessions.ts';
import { html } from '../../lib/html/html.ts';
import { NAME_LENGTH_MAX } from '../../lib/text.ts';
import { roles } from '../../model/roles.ts';
import { field, form, formError } from '../forms.ts';
import { type PageResult, publicForm, type View, type Visit } from '../page.ts';
import { HOME_PATH } from '../paths.ts';
import {
  browserOf,
  cookieNotice,
  emailUrlOf,
  knownCookie,
  newPasswordField,
  personNameError,
  sessionCookie,
} from '../sessions/visits.ts';
import { nowOf } from '../site.ts';

/** Where a member arrives after accepting. */
const ACCEPTED = HOME_PATH;

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

type Errors = Readonly<Partial<Record<'' | 'name' | 'email' | 'password', string | undefined>>>;

async function open({ site, parameters }: Visit): Promise<Opened | undefined> {
  const { secret = '' } = parameters;
  if (!isSecret(secret)) return undefined;
  const invitation = await findInvitation(site.accounts, secret, nowOf(site));
  if (invitation === undefined) return undefined;
  const name = (await accountName(site.accounts, invitation.accountId)) ?? '';
  const isKnown = (await findPersonByEmail(site.accounts, invitation.email)) !== undefined;
  return { secret, invitation, name, isKnown };
}

async function accept(visit: Visit, opened: Opened): Promise<PageResult | undefined> {
  const { site, signedIn, request } = visit;
  const { secret, invitation, isKnown } = opened;
  await requireAttempt(site.accounts, attemptLimits.acceptByAddress, addressSubject(request.address));
  const { accountId } = invitation;
  const by = (accepting: Accepting) =>
    site.accounts.write(
      async tx => {
        const person = await acceptInvitation(tx, secret, accepting, emailUrlOf(visit));
        if (person === undefined) return undefined;
        if (signedIn === undefined) return startSession(tx, person.id, browserOf(visit), accountId);
        await switchAccount(tx, signedIn.session, accountId);
        return { secret: undefined };
      },
      { accountId, requestId: request.requestId, address: request.address },
    );
  if (signedIn !== undefined) {
    if (signedIn.person.email !== invitation.email) return invitationView(visit, opened);
    const accepted = await by({ personId: signedIn.person.id });
    site.emailQueued();
    return accepted && { location: ACCEPTED };
  }
  if (isKnown) return invitationView(visit, opened);
  const { errors, name, password } = newPersonIn(visit, opened);
  if (Object.values(errors).some(error => error !== undefined)) return invitationView(visit, opened, errors);
  const hash = await site.passwords.hash(password, addressSubject(request.address));
  const accepted = await by({ name, hash });
  site.emailQueued();
  if (accepted?.secret === undefined) return undefined;
  return {
    location: ACCEPTED,
    cookies: [sessionCookie(visit, accepted.secret), knownCookie(visit, knownBrowserOf(hash))],
  };
}

function newPersonIn({ form }: Visit, { invitation }: Opened) {
  const name = form.get('name')?.trim() ?? '';
  const password = form.get('password') ?? '';
  // A printed link can reach anyone, so the new member types the invited address.
  const isOther = !invitation.mailed && form.get('email')?.trim().toLowerCase() !== invitation.email;
  const errors: Errors = {
    name: personNameError(name),
    email: isOther ? 'The invitation is for another e-mail address.' : undefined,
    password: passwordError(password, invitation.email),
  };
  return { errors, name, password };
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
  const { signedIn, form: sent } = visit;
  const action = invitationPath(secret);
  if (signedIn !== undefined && signedIn.person.email === invitation.email) {
    return form(visit, { action, submit: 'Join' });
  }
  if (signedIn !== undefined) {
    return html`<p>The invitation is for another e-mail address than <strong>${signedIn.person.email}</strong>, with which you are signed in. Sign out, and open the link again.</p>`;
  }
  if (isKnown) {
    return html`<p>You have a sign-in for the address of the invitation already.</p>
<p><a class="button" href="/sign-in?next=${encodeURIComponent(action)}">Sign in to join</a></p>`;
  }
  return form(visit, { action, submit: 'Join' }, [
    invitation.mailed
      ? html`<input type="hidden" name="username" value="${invitation.email}" autocomplete="username">`
      : field({
          ...{ name: 'email', label: 'E-mail address', type: 'email', value: sent.get('email') },
          ...{ hint: 'The address that you were invited with. You sign in with it.', error: errors.email },
          autocomplete: 'username',
        }),
    field({
      ...{ name: 'name', label: 'Your name', value: sent.get('name'), error: errors.name },
      ...{ hint: 'Your colleagues see it.', autocomplete: 'name', maxLength: NAME_LENGTH_MAX },
    }),
    newPasswordField({ label: 'Choose a password', error: errors.password }),
  ]);
}

function endedView(): View {
  return {
    title: 'This invitation no longer works',
    status: 410,
    body: html`<p>Invitations work once, and only for a while. Ask the person who invited you for another one.</p>
<p><a href="/sign-in">Sign in</a></p>`,
  };
}
