import { html, sentence } from '../lib/html/html.ts';
import { type ErrorCode, errors } from '../model/errors.ts';
import { publicPage } from './page.ts';

/** The list of all error codes. */
export const errorCodes = publicPage({
  path: '/errors',
  title: 'Error codes',
  cached: true,
  show: () => ({
    description: 'Every error code of the API, with its cause and what to do.',
    body: html`<dl class="codes">
${Object.entries(errors).map(
  ([
    code,
    { status, meaning },
  ]) => html`<dt><a href="/errors/${code}"><code>${code}</code></a> <span class="quiet">${status}</span></dt>
<dd>${sentence(meaning)}</dd>
`,
)}</dl>`,
  }),
});

/** An error code, with its cause and remedy. */
export const errorCode = publicPage({
  path: '/errors/{code}',
  title: 'Error code',
  cached: true,
  show({ parameters }) {
    const code = parameters['code']!;
    if (!Object.hasOwn(errors, code)) return undefined;
    const { status, message, meaning, remedy } = errors[code as ErrorCode];
    return {
      title: code,
      description: message,
      body: html`<p>HTTP status <strong>${status}</strong>: “${message}”</p>
<h2>Cause</h2>
<p>${sentence(meaning)}</p>
<h2>What to do</h2>
<p>${sentence(remedy)}</p>
<p><a href="/errors">All error codes</a></p>`,
    };
  },
});
