import { html } from '../../lib/html/html.ts';
import { PREFIX } from '../../urls.ts';
import { titleOf } from '../layout.ts';
import { publicPage } from '../page.ts';

export const frontPage = publicPage({
  path: '/',
  title: 'Pet Store',
  cached: true,
  show: ({ deployment, request }) => ({
    title: 'Pet Store',
    description: 'List, reserve and sell animals over a small, exact and fast JSON API.',
    body: html`<p class="lead">A pet store as a service over HTTP: list, reserve and sell animals through a small, exact, fast JSON API.</p>
<p>This is <strong>${titleOf(deployment.name)}</strong>. The base URL of the API is <code>${request.publicUrl + PREFIX}</code>.</p>`,
  }),
});
