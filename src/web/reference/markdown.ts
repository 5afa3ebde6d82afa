import { descriptionWithLimits, type Route } from '../../lib/http/route.ts';
import { PREFIX } from '../../views/urls.ts';
import type { Visit } from '../page.ts';
import { type Bases, baseUrlOf } from './bases.ts';
import { type DocumentedOperation, type Schemas, type Shape, shapesOf, typeIn } from './operations.ts';
import { byTag } from './parts.ts';
import { curl, recordedResponseTo, sampleOf } from './samples.ts';

interface Urls extends Pick<Visit, 'markdownUrl'> {
  readonly bases: Bases;
}

/** Returns the list of all operations as Markdown. */
export function listMarkdown(routes: readonly Route<never>[], { markdownUrl, bases }: Urls): string {
  const groups = byTag(routes).map(([tag, group]) => {
    const rows = group.map(({ operationId, method, path, summary, stability, deprecation }) => {
      const marks = [...(stability === 'stable' ? [] : [stability]), ...(deprecation ? ['deprecated'] : [])];
      const marked = marks.length === 0 ? '' : ` (${marks.join(', ')})`;
      return `- [${summary}](${markdownUrl(`/reference/${operationId}`)})${marked}: \`${method} ${path}\``;
    });
    return `## ${tag}\n\n${rows.join('\n')}\n`;
  });
  return `# API reference

${bases.deployments.map(([name, url]) => `- Base URL of ${name}: \`${url}\``).join('\n')}

Send an API key with every request: \`Authorization: Bearer <API_KEY>\`. The
[OpenAPI document](${markdownUrl('/openapi.json')}) describes the same operations. [Error codes](${markdownUrl('/errors')}).

${groups.join('\n')}`;
}

/** Returns the page of an operation as Markdown. */
export function operationMarkdown(
  { route, parameters, body, successes, codes }: DocumentedOperation,
  schemas: Schemas,
  urls: Urls,
): string {
  const { method, path, summary, access, stability, deprecation } = route;
  const base = route.address === undefined ? PREFIX : baseUrlOf(route, urls.bases);
  const marks = [`\`${method} ${base}${path}\``, stability, `scope \`${access.scope}\``];
  const rows = parameters.map(one => {
    const type = typeIn(one.schema, schemas).replaceAll('|', '\\|');
    return `| \`${one.name}\` | ${one.in} | ${type} | ${one.required ? 'yes' : ''} | ${one.description} |`;
  });
  const table = `| Name | In | Type | Required | Description |\n|---|---|---|---|---|\n${rows.join('\n')}`;
  const sections = [
    `# ${summary}`,
    marks.join(' · '),
    ...(deprecation ? [`**Deprecated.** ${deprecation.instead}`] : []),
    descriptionWithLimits(route),
    ...(rows.length > 0 ? ['## Parameters', table] : []),
    ...(route.upload ? ['## Body', `${route.upload.contentTypes.join(', ')}. ${route.upload.description}`] : []),
    ...(body ? ['## Body', `${typeIn(body.schema, schemas)}.`, ...shapesText(shapesOf(body.schema, schemas))] : []),
    '## Responses',
    ...successes.flatMap(({ status, description, headers, schema }) => [
      `### ${status}`,
      description,
      ...Object.entries(headers).map(([name, says]) => `- \`${name}\`: ${says}`),
      ...(schema ? [`${typeIn(schema, schemas)}.`, ...shapesText(shapesOf(schema, schemas))] : []),
    ]),
    '## Errors',
    codes.map(code => `- [\`${code}\`](${urls.markdownUrl(`/errors/${code}`)})`).join('\n'),
    '## Examples',
    ...route.examples.flatMap(example => examplesText(route, example, urls)),
  ];
  return `${sections.join('\n\n')}\n`;
}

function examplesText(route: Route<never>, example: Route<never>['examples'][number], { bases }: Urls): string[] {
  const response = recordedResponseTo(route, example);
  const sample = sampleOf(route, example, baseUrlOf(route, bases));
  const empty = sample.returns === 'file' ? ', a file' : ', without a body';
  return [
    `### ${example.summary}`,
    `\`\`\`sh\n${curl(sample)}\n\`\`\``,
    `Response: ${example.status}${response === undefined ? empty : ''}.`,
    ...(response === undefined ? [] : [`\`\`\`json\n${JSON.stringify(response, null, 2)}\n\`\`\``]),
  ];
}

/** Returns a list of all members, including nested ones with their paths. */
function shapesText(shapes: readonly Shape[]): string[] {
  return shapes.map(({ name, members }) => {
    const title = shapes.length > 1 && name !== undefined ? `\`${name}\`:\n\n` : '';
    return title + membersText(members).join('\n');
  });
}

function membersText(members: Shape['members']): string[] {
  return members.flatMap(({ path, type, required, description, shapes }) => [
    `- \`${path}\` (${type}${required ? ', required' : ''})${description === '' ? '' : `: ${description}`}`,
    ...shapes.flatMap(shape => membersText(shape.members)),
  ]);
}
