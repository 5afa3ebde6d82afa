import type { Route } from '../../src/lib/http/route.ts';
import { errors } from '../../src/model/errors.ts';
import { routes } from '../../src/views/api.ts';
import { openApiDocument } from '../../src/views/openapi.ts';
import { eventKindsFile } from './sdk-event-kinds.ts';

/** JSON Schema, as far as our schemas use it. */
interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly patternProperties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly description?: string;
}

interface Parameter {
  readonly $ref?: string;
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly description?: string;
  readonly schema: Schema;
}

interface Content {
  readonly content?: Readonly<Record<string, { readonly schema: Schema }>>;
}

interface Operation {
  readonly parameters: readonly Parameter[];
  readonly requestBody?: Content & { readonly required: boolean };
  readonly responses: Readonly<Record<string, Content & { readonly headers?: object }>>;
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>;
    readonly parameters: Readonly<Record<string, Parameter>>;
  };
}

const all = routes as readonly Route<never>[];
const document = openApiDocument(all, [], '') as Document;
const { schemas, parameters } = document.components;

/** The names of types that are not those of the document, because JavaScript has others of the same name. */
const renamed: Readonly<Record<string, string>> = { Event: 'PetstoreEvent' };
/** Events of future types. Their general type would keep `type` from narrowing an event. */
const LEFT_OUT = 'OtherEvent';
/** A line of the file, before it is broken. */
const LINE_MAX = 120;

const generated = '// Generated from the routes by `npm run docs`. Do not edit.\n';

/** Returns the generated source files of the SDK by their paths. */
export function sdkSources(): Map<string, string> {
  const used = new Set<string>(['WebhookTestEvent']);
  const methods = all.map(route => methodOf(route, used));
  const queries = all.map(route => queryOf(route, used));
  return new Map([
    ['sdk/src/types.ts', typesFile(queries, used)],
    ['sdk/src/operations.ts', operationsFile(methods)],
    ['sdk/listen/event-kinds.ts', eventKindsFile()],
  ]);
}

function typesFile(queries: readonly string[], used: Set<string>): string {
  // Printing a type adds those that it uses to the set, which then come later in the loop.
  const types = Array.from(used, name => typeDeclaration(name, used));
  const codes = Object.keys(errors).map(code => `'${code}'`);
  return `${generated}
/** The codes of errors. */
export type ErrorCode =${broken(codes)};

/** One value, or any of several. */
export type OneOrMore<T> = T | readonly T[];

${[...queries.filter(Boolean), ...types].join('\n')}`;
}

function typeDeclaration(name: string, used: Set<string>): string {
  const schema = schemas[name]!;
  const head = comment(schema.description) + (schema.properties ? 'export interface' : 'export type');
  const title = renamed[name] ?? name;
  if (schema.properties) return `${head} ${title} ${membersOf(schema, used, '')}\n`;
  const options = schema.enum?.map(literal) ?? schema.anyOf?.filter(isKept).map(one => typeOf(one, used));
  return `${head} ${title} =${options ? broken(options) : ` ${typeOf(schema, used)}`};\n`;
}

function isKept({ $ref }: Schema): boolean {
  return $ref === undefined || nameOf($ref) !== LEFT_OUT;
}

/** Returns the interface of the query parameters of an operation; '' if it has none. */
function queryOf(route: Route<never>, used: Set<string>): string {
  const members = queryParameters(route).map(({ name, required, description, schema }) => {
    const type = schema.items ? `OneOrMore<${typeOf(schema.items, used)}>` : typeOf(schema, used);
    return member(name, required ? type : `${type} | undefined`, required === true, description, '');
  });
  if (members.length === 0) return '';
  return `/** The parameters of \`${route.operationId}\`. */
export interface ${queryName(route)} {
${members.join('')}}
`;
}

function queryParameters(route: Route<never>): Parameter[] {
  return operationOf(route)
    .parameters.map(one => (one.$ref === undefined ? one : parameters[nameOf(one.$ref)]!))
    .filter(one => one.in === 'query');
}

function queryName({ operationId }: Route<never>): string {
  return `${operationId[0]!.toUpperCase()}${operationId.slice(1)}Query`;
}

function operationOf({ path, method }: Route<never>): Operation {
  return document.paths[path]![method.toLowerCase()]!;
}

function operationsFile(methods: readonly string[]): string {
  const text = methods.join('');
  const uses = (names: readonly string[]) => names.filter(name => new RegExp(`\\b${name}\\b`).test(text)).sort();
  const types = uses([...Object.keys(schemas).map(name => renamed[name] ?? name), ...all.map(queryName)]);
  return `${generated}
import type { ${uses(['Call', 'Download', 'Lines', 'Pages']).join(', ')} } from './calls.ts';
import type { EventStream } from './stream.ts';
import type { RequestOptions } from './transport.ts';
import type {
${types.map(name => `  ${name},\n`).join('')}} from './types.ts';
import type { FileSource } from './upload.ts';

/**
 * Each operation: its name; a letter for its method, if that is not GET; its path after that of the group, with \`:\` for each
 * parameter; what it takes; and what it returns, if that is not JSON. It takes nothing (\`-\`), a query (\`?\`), a JSON body
 * (\`=\`) or a file of a type, the last two with query parameters among the options.
 */
export const operations = \`
${all.map((route, index) => prefixLine(route, all[index - 1]) + lineOf(route)).join('')}\`;

/** The methods of a client: path parameters first, then the query, body or file, then the options of the call. */
export interface Operations {
${text}}
`;
}

/** Returns the line before a group of operations whose paths begin with the same segment. */
function prefixLine(route: Route<never>, previous: Route<never> | undefined): string {
  const prefix = prefixOf(route);
  return previous !== undefined && prefixOf(previous) === prefix ? '' : `${prefix}\n`;
}

function prefixOf({ path }: Route<never>): string {
  return path.match(/^\/\w+/)![0];
}

function lineOf(route: Route<never>): string {
  const path = route.path.slice(prefixOf(route).length).replaceAll(/\{\w+\}/g, ':');
  const beside = inputOf(route) === '?' ? [] : queryParameters(route).map(({ name }) => name);
  const input = inputOf(route) + (beside.length === 0 ? '' : `?${beside.join(',')}`);
  const words = [route.operationId, methodWord[route.method], path, input, outputWord[outputOf(route)]];
  return `${words.filter(Boolean).join(' ').replace(/ -$/, '')}\n`;
}

/** The letter of a method; GET has none. */
const methodWord: Readonly<Record<string, string>> = { DELETE: 'D', GET: '', PATCH: 'A', POST: 'O', PUT: 'U' };

/** The word for what an operation returns; JSON has none. */
const outputWord = { json: '', page: '', events: 'events', file: 'file', lines: 'file' };

/** Returns what an operation takes: the usual content type of its file, `=` for a body, `?` for a query, or `-` for nothing. */
function inputOf(route: Route<never>): string {
  if (route.upload) return route.upload.contentTypes[0]!;
  if (route.body) return '=';
  return queryParameters(route).length > 0 ? '?' : '-';
}

function outputOf({ streams, successes: [success] }: Route<never>): keyof typeof outputWord {
  if (streams) return 'events';
  if (success.contentType) return success.contentType.endsWith('ndjson') ? 'lines' : 'file';
  return success.headers?.['x-next'] === undefined ? 'json' : 'page';
}

/** Returns the declarations of the method of an operation, one for each type of result. */
function methodOf(route: Route<never>, used: Set<string>): string {
  const { summary, access, stability } = route;
  const level = stability === 'stable' ? '' : ` ${stability[0]!.toUpperCase()}${stability.slice(1)}.`;
  const end = /[.!?]$/.test(summary) ? '' : '.';
  const doc = comment(`${summary}${end} Scope \`${access.scope}\`.${level}`, '  ');
  return resultsOf(route, used)
    .map(([result, filter]) => `${doc}${methodLine(route, result, filter, used)}`)
    .join('');
}

function methodLine(route: Route<never>, result: string, filter: string, used: Set<string>): string {
  const path = Array.from(route.path.matchAll(/\{(\w+)\}/g), ([, name]) => {
    const { schema } = operationOf(route)
      .parameters.map(resolved)
      .find(one => one.name === name)!;
    return `${name}: ${typeOf(schema, used)}`;
  });
  const values = [...path, ...valuesOf(route, filter, used)];
  const line = `  ${route.operationId}(${values.join(', ')}): ${result};\n`;
  if (line.length <= LINE_MAX) return line;
  return `  ${route.operationId}(\n${values.map(value => `    ${value},\n`).join('')}  ): ${result};\n`;
}

/** Returns what follows the path parameters. @param filter what the query must contain */
function valuesOf(route: Route<never>, filter: string, used: Set<string>): string[] {
  const mark = filter === '' ? '?' : '';
  const query = queryName(route) + filter;
  if (inputOf(route) === '?') return [`query${mark}: ${query}`, 'options?: RequestOptions'];
  const options =
    queryParameters(route).length > 0 ? `options${mark}: RequestOptions & ${query}` : 'options?: RequestOptions';
  if (route.upload) return ['file: FileSource', options];
  return route.body ? [`body${route.bodyOptional ? '?' : ''}: ${bodyType(route, used)}`, options] : [options];
}

function resolved(parameter: Parameter): Parameter {
  return parameter.$ref === undefined ? parameter : parameters[nameOf(parameter.$ref)]!;
}

function bodyType(route: Route<never>, used: Set<string>): string {
  return typeOf(operationOf(route).requestBody!.content!['application/json']!.schema, used);
}

/** Returns the types of the result of an operation, each with the parameters that it needs; the general one last. */
function resultsOf(route: Route<never>, used: Set<string>): [result: string, filter: string][] {
  const output = outputOf(route);
  if (output === 'events') return [['EventStream', '']];
  if (output === 'file') return [['Download', '']];
  if (output === 'lines') return [['Lines<Record<string, unknown>>', '']];
  const { status } = route.successes[0];
  const schema = operationOf(route).responses[status]!.content?.['application/json']?.schema;
  if (schema === undefined) return [['Call<void>', '']];
  const named = schema.$ref === undefined ? schema : schemas[nameOf(schema.$ref)]!;
  const data = output === 'page' ? named.items! : schema;
  const result = (type: string) => `${output === 'page' ? 'Pages' : 'Call'}<${type}>`;
  const variants = (data.anyOf ?? []).map(one => typeOf(one, used));
  const full = variants.find(name => name.startsWith('Full'));
  if (full === undefined) return [[result(typeOf(data, used)), '']];
  const removed = variants.find(name => name.startsWith('Removed'));
  const usual = variants.find(name => name !== full && name !== removed)!;
  return [
    ...(removed ? ([[result(variants.join(' | ')), ' & { includeRemoved: true }']] as [string, string][]) : []),
    [result(full), " & { view: 'full' }"],
    [result(usual), ''],
  ];
}

function typeOf(schema: Schema, used: Set<string>, indent = ''): string {
  const { $ref, enum: values, anyOf, type, items, properties, patternProperties } = schema;
  if ($ref !== undefined) {
    const name = nameOf($ref);
    used.add(name);
    return renamed[name] ?? name;
  }
  if (values) return values.map(literal).join(' | ');
  if ('const' in schema) return literal(schema.const);
  if (anyOf) return [...new Set(anyOf.map(one => typeOf(one, used, indent)))].join(' | ');
  if (Array.isArray(type)) return type.map(one => typeOf({ ...schema, type: one }, used, indent)).join(' | ');
  if (items) return arrayOf(typeOf(items, used, indent));
  if (properties) return membersOf(schema, used, indent);
  if (patternProperties) {
    return `Record<string, ${Object.values(patternProperties)
      .map(one => typeOf(one, used, indent))
      .join(' | ')}>`;
  }
  return simpleTypes[type as string] ?? 'unknown';
}

const simpleTypes: Readonly<Record<string, string>> = {
  boolean: 'boolean',
  integer: 'number',
  null: 'null',
  number: 'number',
  string: 'string',
  object: 'Record<string, unknown>',
};

function arrayOf(type: string): string {
  return type.includes(' | ') && !type.startsWith('{') ? `(${type})[]` : `${type}[]`;
}

function membersOf({ properties = {}, required = [] }: Schema, used: Set<string>, indent: string): string {
  const inner = `${indent}  `;
  const members = Object.entries(properties).map(([name, schema]) =>
    member(name, typeOf(schema, used, inner), required.includes(name), schema.description, indent),
  );
  return `{\n${members.join('')}${indent}}`;
}

function member(name: string, type: string, required: boolean, description: string | undefined, indent: string) {
  const key = /^[a-zA-Z_$][\w$]*$/.test(name) ? name : literal(name);
  const line = `${indent}  ${key}${required ? '' : '?'}: ${type};\n`;
  const isLong = line.length > LINE_MAX && !type.includes('{');
  const written = isLong
    ? `${indent}  ${key}${required ? '' : '?'}:${broken(type.split(' | '), `${indent}  `)};\n`
    : line;
  return comment(description, `${indent}  `) + written;
}

/** Returns the options of a union, one a line. */
function broken(options: readonly string[], indent = ''): string {
  return options.map(option => `\n${indent}  | ${option}`).join('');
}

/** Returns a comment with the first sentences of a description, as far as they fit on a line. */
function comment(description = '', indent = ''): string {
  const sentences = description.replaceAll(/\s+/g, ' ').split(/(?<=[.!?]) (?=[A-Z`])/);
  let text = sentences[0]!;
  for (const sentence of sentences.slice(1)) {
    if (`${indent}/** ${text} ${sentence} */`.length > LINE_MAX) break;
    text += ` ${sentence}`;
  }
  return text === '' ? '' : `${indent}/** ${text.replaceAll('*/', '*∕')} */\n`;
}

function literal(value: unknown): string {
  return typeof value === 'string' ? `'${value.replaceAll("'", "\\'")}'` : JSON.stringify(value);
}

function nameOf(ref: string): string {
  return ref.slice(ref.lastIndexOf('/') + 1);
}
