import { html } from '../lib/html/html.ts';
import type { Problem } from '../lib/http/problem.ts';
import type { View } from './page.ts';
import { drawingOf } from './parts.ts';

/** Returns the page on a problem. For a path without a page it helps to find what was looked for. */
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
<input id="lost" name="q" type="search" maxlength="100">
</div>
<button>Search</button>
</form>
<p><a href="/animals">Animals</a> · <a href="/guides">Guides</a> · <a href="/reference">Reference</a> · <a href="/">Front page</a></p>
${request}
</div>
</div>`,
  };
}
