import { type Html, html } from '../lib/html/html.ts';
import { form, isPasswordName, passwordField, passwordLabels } from './forms.ts';
import type { Page, View, Visit } from './page.ts';

/** Returns the page that sends a form again whose token is out of date. The visitor enters only passwords and files again. */
export function staleFormView(visit: Visit, page: Page): View {
  const isSignedOut = page.access !== 'everyone' && visit.signedIn === undefined;
  return {
    status: 403,
    errors: { '': 'This form is out of date, so nothing was changed.' },
    body: html`${isSignedOut && html`<p>You are signed out. <a href="/sign-in" target="_blank">Sign in in a new tab</a>, then come back to this one.</p>`}
${page.file === undefined ? sendAgain(visit) : openAgain(visit, page)}`,
  };
}

function sendAgain(visit: Visit): Html {
  const { request, form: sent } = visit;
  const kept = Array.from(sent).filter(([name]) => name !== 'token' && !isPasswordName(name));
  const passwords = Array.from(sent.keys()).filter(isPasswordName);
  // An empty password is one that the visitor did not want to enter.
  const asked = passwords.filter(name => sent.get(name) !== '');
  return html`<p>Your entries are kept. Send them again${asked.length > 0 && ', with your password'}.</p>
${form(visit, { action: request.path + request.search, submit: 'Send again' }, [
  kept.map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`),
  asked.map(name => passwordField({ name, label: passwordLabels[name], autocomplete: 'off' })),
])}`;
}

/** A form with a file that has no page of its own is on the page above. */
function openAgain({ request: { path } }: Visit, page: Page): Html {
  const formPath = page.show === undefined ? path.slice(0, path.lastIndexOf('/')) : path;
  return html`<p><a href="${formPath}">Open the form again</a>, and choose the file again.</p>`;
}
