import { sandboxScopes } from '../../keys/sandbox.ts';
import { type Html, html } from '../../lib/html/html.ts';
import type { Example, Route } from '../../lib/http/route.ts';
import { countText } from '../../lib/text.ts';
import type { SandboxBounds } from '../../plans/sandbox.ts';
import { bytesText } from '../parts.ts';
import { type DocumentedOperation, mainExample, type Parameter } from './operations.ts';
import { inline } from './parts.ts';

/**
 * Returns the form that sends requests of an operation to staging; for operations that have none, the reason.
 * @param stagingUrl the base URL of staging, if it is served
 * @param bounds the bounds of all trial keys together
 */
export function tryItView(
  { route, parameters, body }: DocumentedOperation,
  routes: readonly Route<never>[],
  stagingUrl: string | undefined,
  bounds: SandboxBounds,
): Html {
  if (route.extensions?.['x-hideTryItPanel'] === true) return html``;
  if (stagingUrl === undefined) return without('Staging is not served here, so requests cannot be tried on this page.');
  if (route.streams) return without('A stream does not end, so it cannot be tried on this page. Use the curl example.');
  if (route.upload) {
    return without(`A trial key cannot ${route.upload.action}. Use the curl example, with a key of your own account.`);
  }
  const example = mainExample(route);
  const inSandbox = route.access.scope === undefined || sandboxScopes.includes(route.access.scope);
  const isShown = ({ in: place, required }: Parameter) => place === 'path' || required;
  const [shown, optional] = [parameters.filter(isShown), parameters.filter(one => !isShown(one))];
  return html`<section class="try" id="try" aria-labelledby="try-title" data-url="/try/key" data-method="${route.method}" data-base="${stagingUrl}" data-path="${route.path}"${creates(route, routes)}>
<h2 id="try-title">Try it</h2>
<p>Sends a real request to <strong>staging</strong>, <code>${stagingUrl}</code>: sample data, nothing there is for real.</p>
<noscript><p class="notice">This form needs JavaScript. Without it, use the curl example above.</p></noscript>
<form method="dialog" autocomplete="off">
${keyField(inSandbox ? bounds : undefined, route.access.scope)}
${shown.map(parameter => parameterField(parameter, example))}
${
  optional.length > 0 &&
  html`<details class="shape"><summary>Optional parameters and headers (${optional.length})</summary>${optional.map(parameter => parameterField(parameter, undefined))}</details>`
}
${body && bodyField(example)}
<button>Send request</button>
</form>
<div class="result" tabindex="-1" aria-live="polite"></div>
</section>`;
}

function without(reason: string): Html {
  return html`<section class="try" id="try" aria-labelledby="try-title"><h2 id="try-title">Try it</h2><p>${reason}</p></section>`;
}

/** Names the path parameter that later requests get from the id in a response: after `createPet`, `petId`. */
function creates({ method, path }: Route<never>, routes: readonly Route<never>[]): Html | undefined {
  if (method !== 'POST') return undefined;
  const below = routes.find(one => one.path.startsWith(`${path}/{`))?.path.slice(path.length + 2);
  return below === undefined ? undefined : html` data-creates="${below.slice(0, below.indexOf('}'))}"`;
}

/** @param bounds those of all trial keys together, if one can call the operation */
function keyField(bounds: SandboxBounds | undefined, scope: string | undefined): Html {
  return html`<div class="field key">
<label for="try-key">API key for staging</label>
<p class="hint" id="try-key-hint">${
    bounds
      ? `Get a trial key, which is valid for 15 minutes, without an account. What you make with it is deleted afterwards. All trial keys together have at most ${countText(bounds.pets)} animals, ${bytesText(bounds.bytes)} of data and ${countText(bounds.perMinute)} requests a minute. Or paste a key of your own, which stays on this page.`
      : html`Paste a key of your own with the scope <code>${scope}</code>; it stays on this page. Trial keys do not have this scope.`
  }</p>
<div class="row"><input id="try-key" type="password" name="key" autocomplete="off" spellcheck="false" aria-describedby="try-key-hint try-key-state">${bounds && html`<button type="button" class="secondary" data-get-key>Get a trial key</button>`}</div>
<p class="hint" id="try-key-state" role="status"></p>
</div>`;
}

function parameterField({ name, in: place, schema, required, description }: Parameter, example?: Example): Html {
  const id = `try.${place}.${name}`;
  const value = place === 'path' ? (example?.path?.[name] ?? '') : '';
  const choices = schema.enum ?? (schema.type === 'boolean' ? ['true', 'false'] : undefined);
  const attributes = html`id="${id}" name="${place}.${name}" aria-describedby="${id}.hint"${required && html` required`}`;
  return html`<div class="field"><label for="${id}"><code>${name}</code>${required && html` <span class="required">required</span>`}</label>
<p class="hint" id="${id}.hint">${inline(description)}</p>
${
  choices === undefined
    ? html`<input ${attributes} type="text" value="${value}" autocomplete="off" spellcheck="false"${schema.type === 'integer' && html` inputmode="numeric"`}>`
    : html`<select ${attributes}><option value="">–</option>${choices.map(choice => html`<option>${String(choice)}</option>`)}</select>`
}</div>`;
}

function bodyField(example: Example | undefined): Html {
  const body = example?.body;
  const text = body === undefined ? '' : typeof body === 'string' ? body : JSON.stringify(body, null, 2);
  const lines = Math.min(16, Math.max(4, text.split('\n').length + 1));
  return html`<div class="field"><label for="try.body">Body <span class="quiet">JSON</span></label>
<textarea id="try.body" name="body" rows="${lines}" spellcheck="false">${text}</textarea></div>`;
}
