import { type Html, html } from '../lib/html/html.ts';
import type { Problem } from '../lib/http/problem.ts';
import { form, hidden, isPasswordName, passwordField, passwordLabels } from './forms.ts';
import { SEARCH_MAX } from './layout.ts';
import type { View, Visit, WebPage } from './page.ts';
import { drawingOf } from './parts.ts';

/** Returns the page of a problem. For a path without a page, it offers a search. */
export function problemView({ status, message }: Problem, requestId: string): View & { readonly title: string } {
  const request = html`<p class="quiet small">Request <code>${requestId}</code></p>`;
  if (status !== 404) {
    const title = status < 500 ? 'That did not work' : 'Something went wrong';
    return { title, body: html`<p>${message}</p>\n<p><a href="/">Go to the front page</a></p>\n${request}` };
  }
  return {
    title: 'Page not found',
    styles: ['animals.css'],
    body: html`<div class="lost">${drawingOf('dog')}
<div>
<p class="lead">${message} The address may have a mistake, or the animal has found a home.</p>
<form role="search" action="/search" class="filter" aria-label="Everything">
<div class="field">
<label for="lost">Animals, guides, reference and error codes</label>
<input id="lost" name="q" type="search" maxlength="${SEARCH_MAX}">
</div>
<button>Search</button>
</form>
<p><a href="/animals">Animals</a> · <a href="/guides">Guides</a> · <a href="/reference">Reference</a> · <a href="/">Front page</a></p>
${request}
</div>
</div>`,
  };
}

/**
 * Returns the page that sends a form again whose token is outdated. The visitor enters only passwords and files again.
 */
export function staleFormView(visit: Visit, page: WebPage): View {
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
  // An empty password was not entered intentionally.
  const asked = passwords.filter(name => sent.get(name) !== '');
  return html`<p>Your entries are kept. Send them again${asked.length > 0 && ', with your password'}.</p>
${form(visit, { action: request.path + request.search, submit: 'Send again' }, [
  kept.map(([name, value]) => hidden(name, value)),
  asked.map(name => passwordField({ name, label: passwordLabels[name], autocomplete: 'off' })),
])}`;
}

/** A form with a file and without its own page is on the page above. */
function openAgain({ request: { path } }: Visit, page: WebPage): Html {
  const formPath = page.show === undefined ? path.slice(0, path.lastIndexOf('/')) : path;
  return html`<p><a href="${formPath}">Open the form again</a>, and choose the file again.</p>`;
}
