import { routes } from '../../src/api.ts';
import type { ErrorCode } from '../../src/errors.ts';
import { impliedHeadersOf, type Route, takesIdempotencyKey, takesIfMatch } from '../../src/lib/http/route.ts';
import { codesOf, openApiDocument } from '../../src/openapi.ts';
import { PREFIX } from '../../src/urls.ts';
import { descriptionOf, memberRows, typeText } from './schema-text.ts';

// biome-ignore lint/suspicious/noExplicitAny: the document is read as it comes
type Json = any;

const document: Json = openApiDocument(routes, [{ url: '/v1', description: '' }], '');

/** Returns the page that lists all operations and schemas. */
export function referencePage(all: readonly Route<never>[]): string {
  const shared = sharedCodes(all);
  const lists = Array.from(shared, ([kind, codes]) => `- ${kind}: ${codeList(codes)}.`);
  return `# API reference

This page lists every operation with its parameters and responses, and then the [schemas](#schemas) of bodies. The OpenAPI document (\`GET /openapi.json\` or
\`petstore openapi\`) has the same, with an example of every response. Every request needs an [API key](authentication.md). Every response has [rate limit headers](rate-limits.md). Operations
marked as [beta or experimental](versioning.md#stability) may change. The operations on messages
are also on the [message address](messages.md), without \`/v1\`.

## Common headers

| Header | Accepted by | Description |
|---|---|---|
${sharedHeaders(all).join('\n')}

A successful response with a body has an \`ETag\` header. A replayed response has \`Idempotency-Replayed: true\`. \`Preference-Applied\` names the preferences that
were applied.
${all.map(route => operationSection(route, all, [...shared.values()].flat())).join('')}
## Common errors

${lists.join('\n')}
- Unknown path or method: ${codeList(['route_not_found', 'method_not_allowed'])}.

## Schemas

Objects may get further members: ignore those that you do not know.

${schemaSections()}`;
}

/** The page that explains each common header, unless it is about concurrency. */
const headerPages: Readonly<Record<string, string>> = {
  'Idempotency-Key': 'idempotency.md',
  Prefer: 'requests.md#strict-validation',
};

/** Returns a table row for each header that operations accept because of their kind. */
function sharedHeaders(all: readonly Route<never>[]): string[] {
  const headers = new Map(all.flatMap(route => Object.entries(impliedHeadersOf(route))));
  return Array.from(headers, ([name, says]) => {
    const methods = [...new Set(all.map(({ method }) => method))].filter(method => isTakenByAll(name, method, all));
    const some = all.some(route => isMarked(name, route, all)) ? ['operations that name it below'] : [];
    const page = headerPages[name] ?? 'concurrency.md';
    const takers = [...methods.map(method => `\`${method}\``), ...some].join(', ');
    return `| [\`${name}\`](${page}) | ${takers} | ${says} |`;
  });
}

function isTakenByAll(header: string, method: string, all: readonly Route<never>[]): boolean {
  return all.every(route => route.method !== method || header in impliedHeadersOf(route));
}

/** Reports whether a route accepts a header that other routes of its method do not. */
function isMarked(header: string, route: Route<never>, all: readonly Route<never>[]): boolean {
  return header in impliedHeadersOf(route) && !isTakenByAll(header, route.method, all);
}

/** The kinds of operations that share error codes. */
const kinds: readonly [string, (route: Route<never>) => boolean][] = [
  ['Every operation', () => true],
  ['Operations with a body', route => route.body !== undefined],
  ['`POST` and `PATCH`', takesIdempotencyKey],
  ['Operations with `If-Match`', takesIfMatch],
  ['Operations for which `If-Match` can be required', route => route.conditional === true && route.method !== 'POST'],
  ['Every change', route => route.method !== 'GET'],
];

/** Returns, for each kind of operation, the error codes that all of its operations can return and no others. */
function sharedCodes(all: readonly Route<never>[]): Map<string, ErrorCode[]> {
  const codes = [...new Set(all.flatMap(codesOf))];
  const kindOf = (code: ErrorCode) =>
    kinds.find(([, belongs]) => all.every(route => codesOf(route).includes(code) === belongs(route)))?.[0];
  return new Map(
    kinds
      .map(([kind]) => [kind, codes.filter(code => kindOf(code) === kind)] as const)
      .filter(([, some]) => some.length > 0),
  );
}

function operationSection(route: Route<never>, all: readonly Route<never>[], shared: readonly ErrorCode[]): string {
  const { operationId, method, path, summary, description, deprecation, stability, access } = route;
  const marks = [
    deprecation && '[deprecated](versioning.md#deprecated-operations)',
    stability !== 'stable' && `[${stability}](versioning.md#stability)`,
    access.scope && `scope \`${access.scope}\``,
    ...Object.keys(impliedHeadersOf(route)).map(name => isMarked(name, route, all) && `\`${name}\``),
  ].filter(mark => typeof mark === 'string');
  const operation = document.paths[path][method.toLowerCase()];
  return `
## ${operationId}

${[`\`${method} ${PREFIX}${path}\``, ...marks].join(' · ')}

${summary}. ${description}
${requestText(route, operation)}
${responsesText(route, operation, shared)}
`;
}

/** Returns the parameters of an operation, and its body: a link to the schema. */
function requestText(route: Route<never>, { parameters = [], requestBody }: Json): string {
  const implied = Object.keys(impliedHeadersOf(route)).filter(name => route.headers?.[name] === undefined);
  const rows = parameters
    .map((one: Json) => (one.$ref ? document.components.parameters[one.$ref.split('/').at(-1)] : one))
    .filter(({ name }: Json) => !implied.includes(name))
    .map(({ name, in: place, schema, required, description }: Json) => {
      return `| \`${name}\` | ${place} | ${typeText(schema)} | ${required ? 'yes' : ''} | ${description ?? referred(schema)} |`;
    });
  const header = '| Name | In | Type | Required | Description |\n|---|---|---|---|---|';
  const table = rows.length === 0 ? '' : `\n${header}\n${rows.join('\n')}\n`;
  if (requestBody === undefined) return table;
  const body = typeText(requestBody.content['application/json'].schema);
  return `${table}\nBody: ${body}${requestBody.required ? '' : ', optional'}.\n`;
}

/** Returns the successes of an operation with their bodies and headers, and the errors of its own. */
function responsesText(
  { successes, headers: _, ...route }: Route<never>,
  { responses }: Json,
  shared: readonly ErrorCode[],
) {
  const lines = successes.map(({ status, description, headers = {} }) => {
    const [content] = Object.values(responses[status].content ?? {}) as Json[];
    const body = content === undefined ? '' : ` Body: ${typeText(content.schema)}.`;
    const own = Object.entries(headers).map(([name, says]) => `  - \`${name}\`: ${says}`);
    return [`- ${status}: ${description}${body}`, ...own].join('\n');
  });
  const own = codesOf(route as Route<never>).filter(code => !shared.includes(code));
  return [...lines, ...(own.length > 0 ? [`- Errors: ${codeList(own)}.`] : [])].join('\n');
}

/** Returns a section for each schema that operations refer to. */
function schemaSections(): string {
  const sections = Object.entries(document.components.schemas as Record<string, Json>).map(([name, schema]) => {
    const rows = memberRows(schema);
    const members =
      rows.length > 0
        ? `| Member | Type | Required | Description |\n|---|---|---|---|\n${rows.join('\n')}`
        : `Type: ${typeText(schema)}.`;
    return `### ${name}\n\n${schema.description ?? ''}\n\n${members}\n`.replace('\n\n\n', '\n');
  });
  return sections.join('\n');
}

/** Returns the description of the schema that a schema refers to. */
function referred({ $ref }: Json): string {
  return $ref === undefined ? '' : descriptionOf(document.components.schemas[$ref.split('/').at(-1)]);
}

function codeList(codes: readonly string[]): string {
  return codes.map(code => `[\`${code}\`](errors/${code}.md)`).join(', ');
}
