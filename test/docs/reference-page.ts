import {
  descriptionWithLimits,
  impliedHeadersOf,
  type Route,
  takesIdempotencyKey,
  takesIfMatch,
} from '../../src/lib/http/route.ts';
import type { ErrorCode } from '../../src/model/errors.ts';
import { routes } from '../../src/views/api.ts';
import { codesOf, openApiDocument } from '../../src/views/openapi.ts';
import { PREFIX } from '../../src/views/urls.ts';
import { type DocumentedOperation, documentedOperations } from '../../src/web/reference/operations.ts';
import { descriptionOf, type JsonSchema, typeText } from '../../src/web/reference/schema-text.ts';

const document = openApiDocument(routes, [{ url: '/v1', description: '' }], '');
const { operations, schemas } = documentedOperations(document, routes as readonly Route<never>[], codesOf);

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
${operations.map(operation => operationSection(operation, all, [...shared.values()].flat())).join('')}
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
  ['Operations with a body', route => route.body !== undefined || route.upload !== undefined],
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

function operationSection(
  operation: DocumentedOperation,
  all: readonly Route<never>[],
  shared: readonly ErrorCode[],
): string {
  const { route } = operation;
  const { operationId, method, path, summary, deprecation, stability, access } = route;
  const marks = [
    deprecation && '[deprecated](versioning.md#deprecated-operations)',
    stability !== 'stable' && `[${stability}](versioning.md#stability)`,
    access.scope && `scope \`${access.scope}\``,
    ...Object.keys(impliedHeadersOf(route)).map(name => isMarked(name, route, all) && `\`${name}\``),
  ].filter(mark => typeof mark === 'string');
  return `
## ${operationId}

${[`\`${method} ${PREFIX}${path}\``, ...marks].join(' · ')}

${summary}. ${descriptionWithLimits(route)}
${requestText(operation)}
${responsesText(operation, shared)}
`;
}

/** Returns the parameters of an operation, and its body: a link to the schema. */
function requestText({ route, parameters, body }: DocumentedOperation): string {
  const implied = Object.keys(impliedHeadersOf(route)).filter(name => route.headers?.[name] === undefined);
  const rows = parameters
    .filter(({ name }) => !implied.includes(name))
    .map(({ name, in: place, schema, required, description }) => {
      return `| \`${name}\` | ${place} | ${cellText(schema)} | ${required ? 'yes' : ''} | ${description} |`;
    });
  const header = '| Name | In | Type | Required | Description |\n|---|---|---|---|---|';
  const table = rows.length === 0 ? '' : `\n${header}\n${rows.join('\n')}\n`;
  if (route.upload) return `${table}\nBody: ${route.upload.contentTypes.join(', ')}. ${route.upload.description}\n`;
  if (body === undefined) return table;
  return `${table}\nBody: ${linkedType(body.schema)}${body.required ? '' : ', optional'}.\n`;
}

/** Returns the successes of an operation with their bodies and headers, and the errors of its own. */
function responsesText({ successes, codes }: DocumentedOperation, shared: readonly ErrorCode[]) {
  const lines = successes.map(({ status, description, schema, headers }) => {
    const body = schema === undefined ? '' : ` Body: ${linkedType(schema)}.`;
    const own = Object.entries(headers).map(([name, says]) => `  - \`${name}\`: ${says}`);
    return [`- ${status}: ${description}${body}`, ...own].join('\n');
  });
  const own = codes.filter(code => !shared.includes(code));
  return [...lines, ...(own.length > 0 ? [`- Errors: ${codeList(own)}.`] : [])].join('\n');
}

/** Returns a section for each schema that operations refer to. */
function schemaSections(): string {
  const sections = Object.entries(schemas).map(([name, schema]) => {
    const rows = memberRows(schema);
    const members =
      rows.length > 0
        ? `| Member | Type | Required | Description |\n|---|---|---|---|\n${rows.join('\n')}`
        : `Type: ${linkedType(schema)}.`;
    return `### ${name}\n\n${schema.description ?? ''}\n\n${members}\n`.replace('\n\n\n', '\n');
  });
  return sections.join('\n');
}

/** Returns a table row for each member of an object; none for other schemas. */
function memberRows({ properties = {}, required = [] }: JsonSchema): string[] {
  return Object.entries(properties).map(([name, member]) => {
    const mark = required.includes(name) ? 'yes' : '';
    return `| \`${name}\` | ${cellText(member)} | ${mark} | ${descriptionOf(member)} |`;
  });
}

/** Returns the type of a schema, with links to the sections of named schemas. */
function linkedType(schema: JsonSchema): string {
  return typeText(schema, name => `[\`${name}\`](#${name.toLowerCase()})`);
}

/** Returns the type of a schema for a cell of a table. */
function cellText(schema: JsonSchema): string {
  return linkedType(schema).replaceAll('|', '\\|');
}

function codeList(codes: readonly string[]): string {
  return codes.map(code => `[\`${code}\`](errors/${code}.md)`).join(', ');
}
