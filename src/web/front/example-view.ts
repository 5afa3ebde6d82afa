import { type Html, html } from '../../lib/html/html.ts';
import { PREFIX } from '../../urls.ts';
import type { Visit } from '../page.ts';

const QUERY = '/pets?limit=3';

/** The response of a new staging deployment to the example; the script replaces it with the current response. */
export const recordedResponse = {
  status: '200 OK',
  headers: { 'X-RateLimit-Limit': '60', 'X-RateLimit-Remaining': '59' },
  body: [
    { id: 1, name: 'Bella', categoryId: 1, status: 'available' },
    { id: 2, name: 'Oliver', categoryId: 2, status: 'available' },
    { id: 3, name: 'Peanut', categoryId: 4, status: 'pending' },
  ],
};

/** Returns a request with its response; where staging is served, a button sends it. */
export function exampleView({ site, request }: Visit): Html {
  const { status, headers, body } = recordedResponse;
  const staging = site.urlOf('staging', request.tls);
  const url = staging && staging + PREFIX + QUERY;
  return html`<section class="example" aria-label="Example request"${url !== undefined && html` data-request="${url}" data-url="/try/key"`}>
<div class="request"><pre><code>GET ${PREFIX + QUERY}
Authorization: Bearer petstore_test_…</code></pre>
<button type="button" hidden>Run it</button></div>
<p class="status" role="status">${status}</p>
<pre class="response" tabindex="0" aria-label="Response"><code>${Object.entries(headers).map(([name, value]) => `${name}: ${value}\n`)}
${jsonText(body)}</code></pre>
<p class="source">${
    url === undefined
      ? 'A recorded response: staging is not served here, so there is nothing to run it against.'
      : 'A recorded response from staging, which has sample animals.'
  }</p>
</section>`;
}

/** Returns an array as JSON with one element per line, as the script writes it too. */
function jsonText(elements: readonly object[]): string {
  return `[\n${elements.map(element => `  ${JSON.stringify(element)}`).join(',\n')}\n]`;
}
