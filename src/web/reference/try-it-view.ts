import { SANDBOX_MS, sandboxMax } from '../../access/keys/sandbox.ts';
import { type Html, html } from '../../lib/html/html.ts';
import type { Route } from '../../lib/http/route.ts';
import { countText } from '../../lib/text.ts';
import { durationIn } from '../../lib/time.ts';
import type { SandboxBounds } from '../../model/plan.ts';
import { bytesText } from '../parts.ts';
import { type DocumentedOperation, mainExample, type Parameter } from './operations.ts';
import { codeBlock, inline, jsonBlock } from './parts.ts';
import { bodyOf, neededBy, planOf, reasonAgainstSandbox, resources, valuesOf } from './recipes.ts';
import { curl, recordedResponseTo, sampleOf } from './samples.ts';

/** The data of the panel of an operation. */
interface TryItContext {
  readonly operation: DocumentedOperation;
  readonly routes: readonly Route<never>[];
  /** Returns the base URL of an operation on staging; `undefined` if staging is not served. */
  urlOf(route: Route<never>): string | undefined;
  /** The bounds of all trial keys together. */
  readonly bounds: SandboxBounds;
}

/**
 * Returns the panel that sends requests of an operation to staging. If a trial key cannot use the operation, it shows
 * the recorded request and response, and accepts a key of the visitor.
 */
export function tryItView(context: TryItContext): Html | undefined {
  const { operation, routes, urlOf, bounds } = context;
  const { route } = operation;
  if (!hasTryIt(route)) return undefined;
  const base = urlOf(route);
  if (base === undefined)
    return without(html`<p>This server has no staging deployment, so you cannot send requests from this page.</p>`);
  if (route.streams)
    return without(html`<p>A stream does not end, so it cannot be tried on this page. Use the curl example.</p>`);
  const reason = reasonAgainstSandbox(route);
  const plan = JSON.stringify(planOf(route, routes, one => urlOf(one)!));
  const form = html`<form method="dialog" autocomplete="off">
${fields(operation)}
${reason === undefined ? html`<button>Send request</button>\n${keyView(bounds)}` : html`${keyField(route.access.scope)}\n<button>Send request</button>`}
</form>`;
  return html`<section class="try" id="try" aria-labelledby="try-title" data-url="/try/key" data-method="${route.method}" data-base="${base}" data-path="${route.path}" data-plan="${plan}"${reason === undefined && html` data-sandbox`}>
<h2 id="try-title">Try it</h2>
${
  reason === undefined
    ? html`<p class="hint">Sends a real request to <strong>staging</strong>, which has sample data only.</p>
<noscript><p class="notice">This form needs JavaScript. Without it, use the curl example.</p></noscript>
${form}`
    : html`<p class="hint">${inline(reason)} This is a recorded request.</p>
<details class="own-key"><summary>Use a key of your own</summary>${form}</details>
${recordedView(route, base)}`
}
<div class="result" tabindex="-1" aria-live="polite"></div>
</section>`;
}

/** Reports whether the page of an operation has a panel. */
export function hasTryIt({ extensions }: Route<never>): boolean {
  return extensions?.['x-hideTryItPanel'] !== true;
}

function without(reason: Html): Html {
  return html`<section class="try" id="try" aria-labelledby="try-title"><h2 id="try-title">Try it</h2>${reason}</section>`;
}

function recordedView(route: Route<never>, base: string): Html | undefined {
  const example = mainExample(route);
  if (example === undefined) return undefined;
  const response = recordedResponseTo(route, example);
  return html`<div class="recorded">${codeBlock(curl(sampleOf(route, example, base)))}
<p class="response"><span class="status ok">${example.status}</span>${response === undefined && html` <span class="quiet">without a JSON body</span>`}</p>
${response !== undefined && jsonBlock(response)}</div>`;
}

function fields({ route, parameters, body }: DocumentedOperation): Html {
  const isShown = ({ in: place, required }: Parameter) => place === 'path' || required;
  const [shown, optional] = [parameters.filter(isShown), parameters.filter(one => !isShown(one))];
  const needed = neededBy(route);
  return html`${shown.map(parameter => parameterField(parameter, route))}
${route.upload ? fileField(route.upload.contentTypes) : body && bodyField(route)}
${needed.length > 0 && html`<p class="hint" id="try-needs">${needsText(needed)}</p>`}
${
  optional.length > 0 &&
  html`<details class="shape"><summary>Optional parameters and headers (${optional.length})</summary>${optional.map(parameter => parameterField(parameter, route))}</details>`
}`;
}

function needsText(needed: readonly (keyof typeof resources)[]): string {
  const names = new Intl.ListFormat('en').format(needed.map(name => resources[name]));
  return `Takes ${names}. If there is none yet, the page creates one first.`;
}

function keyView(bounds: SandboxBounds): Html {
  return html`<p class="hint key-state"><span id="try-key-state" role="status">Uses a trial key, which you get without an account.</span> <button type="button" class="plain" data-forget hidden>Forget this key</button></p>
<details class="shape"><summary>Use a key of your own</summary>
${keyField(undefined)}
</details>
<details class="shape"><summary>About trial keys</summary>
<p class="hint">A trial key is valid for ${durationIn('minute', SANDBOX_MS)}. Afterwards, everything that you created with it is deleted. All pages of this browser share one trial key; a network can have ${sandboxMax.perNetwork}. All trial keys together have at most ${countText(bounds.pets)} animals, ${bytesText(bounds.bytes)} of data and ${countText(bounds.perMinute)} requests a minute.</p>
</details>`;
}

/** @param scope the scope that the key needs, if a trial key does not suffice */
function keyField(scope: string | undefined): Html {
  return html`<div class="field key">
<label for="try-key">API key for staging</label>
<p class="hint" id="try-key-hint">${scope !== undefined && html`The key needs the scope <code>${scope}</code>. `}The key stays in this field until you close the page, and is not stored.</p>
<input id="try-key" type="password" name="key" autocomplete="off" spellcheck="false" aria-describedby="try-key-hint"${scope !== undefined && html` required`}>
</div>`;
}

function parameterField({ name, in: place, schema, required, description }: Parameter, route: Route<never>): Html {
  const id = `try.${place}.${name}`;
  const { path = {}, query } = valuesOf(route);
  const value =
    place === 'path' ? path[name] : place === 'query' && required ? new URLSearchParams(query).get(name) : undefined;
  const choices = schema.enum ?? (schema.type === 'boolean' ? ['true', 'false'] : undefined);
  const attributes = html`id="${id}" name="${place}.${name}" aria-describedby="${id}.hint"${required && place !== 'path' && html` required`}`;
  return html`<div class="field"><label for="${id}"><code>${name}</code>${required && html` <span class="required">required</span>`}</label>
<p class="hint" id="${id}.hint">${inline(description)}</p>
${
  choices === undefined
    ? html`<input ${attributes} type="text" value="${value ?? ''}" autocomplete="off" spellcheck="false"${schema.type === 'integer' && html` inputmode="numeric"`}>`
    : html`<select ${attributes}><option value="">–</option>${choices.map(choice => html`<option${choice === value && html` selected`}>${String(choice)}</option>`)}</select>`
}</div>`;
}

function bodyField(route: Route<never>): Html {
  const body = bodyOf(route);
  const text = body === undefined ? '' : typeof body === 'string' ? body : JSON.stringify(body, null, 2);
  const lines = Math.min(LINES_MAX, Math.max(3, text.split('\n').length));
  return html`<div class="field"><label for="try.body">Body <span class="quiet">JSON</span></label>
<textarea id="try.body" name="body" rows="${lines}" spellcheck="false">${text}</textarea></div>`;
}

/** The maximum number of lines of the body field, so that the button stays in view. */
const LINES_MAX = 9;

function fileField(types: readonly string[]): Html {
  return html`<div class="field"><label for="try.file">File <span class="quiet">${types.join(', ')}</span></label>
<input id="try.file" type="file" name="file" accept="${types.join(',')}" required></div>`;
}
