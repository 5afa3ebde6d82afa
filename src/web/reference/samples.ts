import type { TSchema } from 'typebox';
import type { Example, Route, Success } from '../../lib/http/route.ts';
import recorded from '../../views/generated/recorded-responses.json' with { type: 'json' };
import { javascript } from './javascript-sample.ts';
import type { Sample } from './sample.ts';

/** A language of the samples. */
interface Language {
  readonly id: string;
  readonly title: string;
  codeOf(sample: Sample): string;
}

/** The languages of samples. All read the API key from the environment variable `KEY`. */
export const languages: readonly Language[] = [
  { id: 'curl', title: 'curl', codeOf: curl },
  { id: 'javascript', title: 'JavaScript', codeOf: javascript },
  { id: 'python', title: 'Python', codeOf: python },
];

/** Returns the request of an example. @param baseUrl the base URL of the API, without a trailing slash */
export function sampleOf(route: Route<never>, example: Example, baseUrl: string): Sample {
  const path = route.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(example.path?.[name] ?? ''));
  const success = route.successes.find(one => one.status === example.status);
  const { file, status } = example;
  const { operationId, method } = route;
  return {
    ...{ operationId, method, baseUrl, status, query: queryOf(route, example) },
    path: Array.from(route.path.matchAll(/\{(\w+)\}/g), ([, name]) =>
      typedValue(example.path?.[name!] ?? '', route.parameters![name!]!.schema),
    ),
    takesQuery: route.query !== undefined && route.body === undefined && route.upload === undefined,
    url: baseUrl + path + (example.query === undefined ? '' : `?${example.query}`),
    headers: {
      ...(example.body !== undefined && { 'Content-Type': 'application/json' }),
      ...(file && { 'Content-Type': file.contentType }),
      ...example.headers,
    },
    ...(example.body !== undefined && { body: example.body }),
    ...(file && { file: file.name }),
    returns: success?.status === 204 || success?.status === 304 ? 'nothing' : returnedBy(route, success),
  };
}

function queryOf({ query }: Route<never>, example: Example): Record<string, unknown> {
  const parameters = [...new URLSearchParams(example.query)];
  return Object.fromEntries(parameters.map(([name, text]) => [name, typedValue(text, query?.properties[name])]));
}

/** Returns a parameter as its schema describes it. */
function typedValue(text: string, schema: TSchema | undefined): unknown {
  const { type, items } = (schema ?? {}) as { type?: string; items?: TSchema };
  if (type === 'array') return text.split(',').map(one => typedValue(one, items));
  if (type === 'integer' || type === 'number') return Number(text);
  return type === 'boolean' ? text === 'true' : text;
}

/** Returns the recorded response to an example; `undefined` if it has no JSON body. */
export function recordedResponseTo({ operationId }: Route<never>, { name }: Example): unknown {
  const responses: Readonly<Record<string, unknown>> = recorded[operationId as keyof typeof recorded] ?? {};
  return responses[name];
}

function returnedBy({ streams }: Route<never>, success: Success | undefined): Sample['returns'] {
  if (success === undefined) return 'json';
  if (streams) return 'stream';
  return success.contentType === undefined ? 'json' : 'file';
}

export function curl({ method, url, headers, body, file, returns }: Sample): string {
  const sends = body !== undefined || file !== undefined;
  const options = [
    ...(returns === 'stream' ? ['-N'] : []),
    // Saves the file under the name in the response.
    ...(returns === 'file' ? ['-OJ'] : []),
    ...(method === 'GET' || (method === 'POST' && sends) ? [] : [`-X ${method}`]),
    shellText(url),
    '-H "Authorization: Bearer $KEY"',
    ...Object.entries(headers).map(([name, value]) => `-H ${shellText(`${name}: ${value}`)}`),
    ...(body === undefined ? [] : [`-d ${shellText(typeof body === 'string' ? body : jsonText(body))}`]),
    ...(file === undefined ? [] : [`--data-binary ${shellText(`@${file}`)}`]),
  ];
  return `curl ${options.join(' \\\n  ')}`;
}

function python({ method, url, headers, body, file, returns }: Sample): string {
  // `json=` sends the content type itself.
  const sendsType = typeof body === 'string' || file !== undefined;
  const own = Object.entries(headers).filter(([name]) => name !== 'Content-Type' || sendsType);
  const entries = own.map(([name, value]) => `        ${JSON.stringify(name)}: ${JSON.stringify(value)},\n`);
  const key = `"Authorization": f"Bearer {os.environ['KEY']}"`;
  const content =
    typeof body === 'string' ? `data=${JSON.stringify(body)}` : `json=${indented(pythonText(body), '    ')}`;
  const options = [
    `    ${JSON.stringify(url)},\n`,
    own.length === 0 ? `    headers={${key}},\n` : `    headers={\n        ${key},\n${entries.join('')}    },\n`,
    ...(body === undefined ? [] : [`    ${content},\n`]),
    ...(file === undefined ? [] : [`    data=open(${JSON.stringify(file)}, "rb"),\n`]),
    ...(returns === 'stream' ? ['    stream=True,\n'] : []),
  ];
  const call = `import os\nimport requests\n\nresponse = requests.${method.toLowerCase()}(\n${options.join('')})\n`;
  if (returns === 'nothing') return `${call}print(response.status_code)`;
  if (returns === 'json') return `${call}print(response.status_code, response.json())`;
  if (returns === 'file') return `${call}print(response.status_code, response.content)`;
  return `${call}for line in response.iter_lines(decode_unicode=True):\n    print(line)`;
}

/** Returns JSON on one line if it is short. */
function jsonText(value: unknown): string {
  const line = JSON.stringify(value) ?? '';
  return line.length <= LINE_MAX ? line : JSON.stringify(value, null, 2);
}

const LINE_MAX = 50;

function pythonText(value: unknown): string {
  // Strings match first, so that only literals outside of them are replaced.
  return jsonText(value).replaceAll(/"(?:[^"\\]|\\.)*"|true|false|null/g, text => pythonLiterals[text] ?? text);
}

const pythonLiterals: Readonly<Record<string, string>> = { true: 'True', false: 'False', null: 'None' };

function shellText(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

function indented(text: string, by: string): string {
  return text.replaceAll('\n', `\n${by}`);
}
