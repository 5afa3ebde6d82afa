import { dayHtml, type Html, html } from '../../lib/html/html.ts';
import type { Example, Route } from '../../lib/http/route.ts';
import { type ErrorCode, errors } from '../../model/errors.ts';
import { PREFIX } from '../../views/urls.ts';
import { type Bases, baseUrlOf, deploymentSwitch, queryOf } from './bases.ts';
import {
  type DocumentedOperation,
  type DocumentedSuccess,
  mainExample,
  type Parameter,
  type SchemaMember,
  type Schemas,
  type Shape,
  shapesOf,
  typeIn,
} from './operations.ts';
import { badges, codeBlock, filterField, inline, jsonBlock, methodBadge, operationMenu } from './parts.ts';
import { languages, recordedResponseTo, sampleOf } from './samples.ts';
import { hasTryIt } from './try-it-view.ts';

/** The data of the page of an operation. */
interface OperationContext {
  readonly operation: DocumentedOperation;
  readonly routes: readonly Route<never>[];
  readonly schemas: Schemas;
  readonly bases: Bases;
  /** The panel that sends requests to staging, or the reason for its absence. */
  readonly tryIt: Html | undefined;
}

/** Returns the page of an operation. */
export function operationView(context: OperationContext): Html {
  const { operation, routes, bases } = context;
  const { route } = operation;
  const menu = operationMenu(routes, route, queryOf(bases));
  return html`<div class="ref">
<div class="ref-side">${filterField('')}<nav aria-label="Operations">${menu}</nav></div>
<article>
<details class="ref-menu"><summary>All operations</summary><nav aria-label="Operations">${menu}</nav></details>
<div class="ref-columns">
<div class="ref-head">
${heading(operation, bases)}
</div>
<div class="ref-code">
${context.tryIt}
${samplesSection(context)}
</div>
<div class="ref-text">
${parametersSections(context)}
${bodySection(context)}
${successesSection(context)}
${errorsSection(operation)}
</div>
</div>
${neighbours(routes, route, queryOf(bases))}
</article>
</div>`;
}

function heading({ route }: DocumentedOperation, bases: Bases): Html {
  const { operationId, path, summary, description, limits, access, deprecation } = route;
  return html`<p class="quiet crumbs"><a href="/reference">Reference</a> / ${route.tag}</p>
<h1>${summary}${badges(route)}</h1>
<p class="endpoint">${methodBadge(route)} <code>${route.address === undefined ? PREFIX : baseUrlOf(route, bases)}${path}</code></p>
${
  deprecation &&
  html`<div class="notice alert"><p><strong>Deprecated</strong> since ${dayHtml(deprecation.since)}; removed on ${dayHtml(deprecation.sunset)}. ${inline(deprecation.instead)} <a href="${deprecation.page}">What to do</a></p></div>`
}
<p class="ref-lead">${inline(description)}</p>
${limits !== undefined && html`<details class="shape"><summary>Limits of this list</summary><p>${inline(limits)}</p></details>`}
<p class="quiet ref-facts"><span>Operation <code>${operationId}</code></span>${
    access.scope !== undefined && html` <span>Scope <code>${access.scope}</code></span>`
  } <span><a href="/reference/${operationId}.md">View as Markdown</a></span>${hasTryIt(route) && html` <span class="to-try"><a href="#try">Try it</a></span>`}</p>`;
}

const places = { path: 'Path parameters', query: 'Query parameters', header: 'Request headers' } as const;

function parametersSections({ operation: { parameters }, schemas }: OperationContext): Html[] {
  return Object.entries(places).map(([place, title]) => {
    const own = parameters.filter(parameter => parameter.in === place);
    if (own.length === 0) return html``;
    return html`<h2 id="${place}">${title}</h2><ul class="members">${own.map(parameter => parameterItem(parameter, schemas))}</ul>`;
  });
}

function parameterItem({ name, in: place, schema, required, description }: Parameter, schemas: Schemas): Html {
  return memberItem({ anchor: `${place}.${name}`, name, type: typeIn(schema, schemas), required, description });
}

function memberItem(
  {
    anchor,
    name,
    type,
    required,
    description,
  }: Pick<SchemaMember, 'name' | 'type' | 'required' | 'description'> & { anchor: string },
  within?: Html,
): Html {
  return html`<li id="${anchor}"><p><a class="member" href="#${anchor}"><code>${name}</code></a> <span class="type">${inline(type)}</span>${required && html` <span class="required">required</span>`}</p>${description !== '' && html`<p>${inline(description)}</p>`}${within}</li>`;
}

function bodySection({ operation: { route, body }, schemas }: OperationContext): Html | undefined {
  if (route.upload) {
    const { contentTypes, description } = route.upload;
    return html`<h2 id="body">Body</h2>
<p class="quiet">${contentTypes.join(', ')}</p>
<p>${inline(description)}</p>`;
  }
  if (body === undefined) return undefined;
  return html`<h2 id="body">Body</h2>
<p class="quiet">${inline(typeIn(body.schema, schemas))}, as JSON${!body.required && ', optional'}</p>
${shapesView(shapesOf(body.schema, schemas), 'body')}`;
}

/** Shows the members of objects. @param prefix the prefix of the members' anchors */
function shapesView(shapes: readonly Shape[], prefix: string): Html {
  const [only] = shapes;
  if (only !== undefined && shapes.length === 1) return membersList(only.members, prefix);
  return html`${shapes.map(
    ({ name = 'Object', description, members }) => html`<details class="shape"><summary><code>${name}</code></summary>
${description !== '' && html`<p>${inline(description)}</p>`}${membersList(members, `${prefix}.${name}`)}</details>`,
  )}`;
}

function membersList(members: readonly SchemaMember[], prefix: string): Html {
  return html`<ul class="members">${members.map(member => {
    const anchor = `${prefix}.${member.name}`;
    const within =
      member.shapes.length > 0
        ? html`<details class="shape"><summary>Members of <code>${member.name}</code></summary>${shapesView(member.shapes, anchor)}</details>`
        : undefined;
    return memberItem({ ...member, anchor }, within);
  })}</ul>`;
}

function successesSection({ operation: { successes }, schemas }: OperationContext): Html {
  return html`<h2 id="responses">Responses</h2>
${successes.map(success => successView(success, schemas))}
<p class="quiet">Every response has <a href="/reference#limits">rate limit headers</a> and <code>X-Request-Id</code>.</p>`;
}

function successView({ status, description, schema, headers }: DocumentedSuccess, schemas: Schemas): Html {
  return html`<h3 id="${status}"><span class="status ok">${status}</span> ${inline(description)}</h3>
${
  Object.keys(headers).length > 0 &&
  html`<ul class="members">${Object.entries(headers).map(([name, says]) => memberItem({ anchor: `${status}.${name}`, name, type: 'header', required: false, description: says }))}</ul>`
}${
  schema !== undefined &&
  html`<p class="quiet">${inline(typeIn(schema, schemas))}</p>${shapesView(shapesOf(schema, schemas), `${status}`)}`
}`;
}

/** Returns the error codes: first those of the operation, then those of every operation in a collapsed list. */
function errorsSection({ route, codes }: DocumentedOperation): Html {
  const own = new Set([...route.errors, ...Object.values(route.parameters ?? {}).map(({ errorCode }) => errorCode)]);
  const [specific, common] = [codes.filter(code => own.has(code)), codes.filter(code => !own.has(code))];
  return html`<h2 id="errors">Errors</h2>
${specific.length > 0 && codeList(specific)}
<details class="shape"><summary>Errors of every operation like this one</summary>${codeList(common)}</details>`;
}

/** Lists errors by their status, each with its message. */
function codeList(codes: readonly ErrorCode[]): Html {
  const sorted = codes.toSorted((one, other) => errors[one].status - errors[other].status);
  return html`<ul class="members codes">${sorted.map(
    code =>
      html`<li><p><span class="status">${errors[code].status}</span> <a href="/errors/${code}"><code>${code}</code></a></p><p>${inline(errors[code].message)}</p></li>`,
  )}</ul>`;
}

function samplesSection(context: OperationContext): Html {
  const { route } = context.operation;
  const first = mainExample(route);
  const others = route.examples.filter(example => example !== first);
  return html`<h2 id="examples">Example</h2>
${route.address === undefined && deploymentSwitch(context.bases, `/reference/${route.operationId}`)}
${first && exampleView(context, first, 0)}
${
  others.length > 0 &&
  html`<h3>More examples</h3>${others.map(
    (example, index) =>
      html`<details class="shape"><summary>${example.summary} <span class="status${example.status < 400 && ' ok'}">${example.status}</span></summary>${exampleView(context, example, index + 1)}</details>`,
  )}`
}`;
}

/**
 * Shows a request in every language, and its recorded response. The languages are radio buttons, which need no script.
 */
function exampleView({ operation: { route }, bases }: OperationContext, example: Example, number: number): Html {
  const sample = sampleOf(route, example, baseUrlOf(route, bases));
  const response = recordedResponseTo(route, example);
  return html`${number === 0 && html`<p>${example.summary}.</p>`}
<fieldset class="tabs"><legend class="sr-only">Language of the example</legend>
${languages.map(
  ({ id, title }, index) =>
    html`<input type="radio" name="language-${number}" id="${id}-${number}" value="${id}" class="sr-only ${id}"${index === 0 && html` checked`}><label for="${id}-${number}">${title}</label>`,
)}
${languages.map(({ id, codeOf }) => html`<div class="panel ${id}">${codeBlock(codeOf(sample))}</div>`)}</fieldset>
<p class="response"><span class="status${example.status < 400 && ' ok'}">${example.status}</span>${example.code !== undefined && html` <a href="/errors/${example.code}"><code>${example.code}</code></a>`}${response === undefined && html` <span class="quiet">${sample.returns === 'file' ? 'a file' : 'without a body'}</span>`}</p>
${response !== undefined && jsonBlock(response)}`;
}

function neighbours(routes: readonly Route<never>[], route: Route<never>, query: string): Html {
  const index = routes.indexOf(route);
  const [previous, next] = [routes[index - 1], routes[index + 1]];
  return html`<nav class="neighbours" aria-label="Previous and next operation">
${previous && html`<a rel="prev" href="/reference/${previous.operationId}${query}"><span class="quiet">Previous</span>${previous.summary}</a>`}
${next && html`<a rel="next" href="/reference/${next.operationId}${query}"><span class="quiet">Next</span>${next.summary}</a>`}
</nav>`;
}
