import { routes } from '../api.ts';
import { dayHtml, html, sentence } from '../lib/html/html.ts';
import { publicPage } from './page.ts';

/** The replacement of a deprecated operation. */
export const deprecation = publicPage({
  path: '/deprecations/{operationId}',
  title: 'Deprecation',
  cached: true,
  show({ parameters }) {
    const route = routes.find(({ operationId }) => operationId === parameters['operationId']);
    if (route?.deprecation === undefined) return undefined;
    const { since, sunset, instead } = route.deprecation;
    return {
      title: `${route.operationId} is deprecated`,
      body: html`<p><code>${route.method} ${route.path}</code> has been deprecated since ${dayHtml(since)} and will be removed on
<strong>${dayHtml(sunset)}</strong>. From that day on it returns 410 <a href="/errors/operation_removed"><code>operation_removed</code></a>.</p>
<h2>What to do</h2>
<p>${sentence(instead)}</p>`,
    };
  },
});
