import { invalidParameter, Problem } from '../../lib/http/problem.ts';
import { type Caller, IDEMPOTENCY_KEY_LENGTH_MAX, takesIdempotencyKey } from '../../lib/http/route.ts';
import type { AdmittedViewRequest, OperationCall } from '../../lib/http/server/view.ts';
import { suggestion } from '../../lib/suggestion.ts';
import { type ErrorCode, errors } from '../../model/errors.ts';
import { type LocalRoute, nextCursorIn, operationNamed } from '../local-call.ts';
import { annotations, definitions, PAGE_ITEMS, REPEATED, type ToolDefinition } from './definitions.ts';
import { countFitting, errorResult, fitted, resultOf, type ToolResult } from './results.ts';

/** An object of JSON. */
export type Members = Readonly<Record<string, unknown>>;

/** A tool that can be called. */
export interface Tool {
  readonly name: string;
  /** The scope that a key needs to see it. */
  readonly scope: string | undefined;
  /** What clients see. */
  readonly listed: object;
  run(given: Members, request: AdmittedViewRequest): Promise<object>;
}

const textSchema: Members = { type: 'string' };

const idempotencyKey = {
  type: 'string',
  maxLength: IDEMPOTENCY_KEY_LENGTH_MAX,
  description: 'A unique text, such as a UUID. A retry with the same key and arguments acts once.',
};

/** The keywords of schemas that help an agent. The API checks all. */
const shownKeywords = ['type', 'enum', 'minItems', 'maxItems', 'maxLength', 'default'];

/** Every tool by its name, in the order of the list. */
const tools = new Map(Object.entries(definitions).map(([name, definition]) => [name, toolOf(name, definition)]));

export function toolNamed(name: string): Tool | undefined {
  return tools.get(name);
}

/** Returns the tools that a key may use, in a fixed order. */
export function toolsFor({ scopes }: Caller): object[] {
  return [...tools.values()].filter(({ scope }) => scope === undefined || scopes.has(scope)).map(tool => tool.listed);
}

/**
 * Runs a tool. An error that the agent can act on is a result.
 * @throws {Problem} when the key may not use the tool, or the server is at fault
 */
export async function callTool(tool: Tool, given: Members, request: AdmittedViewRequest): Promise<ToolResult> {
  try {
    return resultOf(await tool.run(given, request));
  } catch (error) {
    const isOurs = !(error instanceof Problem) || error.status >= 500 || error.code === 'insufficient_scope';
    if (isOurs) throw error;
    return errorResult(error);
  }
}

export function isObject(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function toolOf(name: string, definition: ToolDefinition): Tool {
  const { operationId, description, input, fixed = {}, summary, effect } = definition;
  const route = operationId === undefined ? undefined : operationNamed(operationId);
  const isRepeatable = route !== undefined && takesIdempotencyKey(route);
  const sources = route === undefined ? {} : sourcesOf(route);
  const properties = Object.fromEntries(
    Object.entries(input).map(([argument, text]) => [
      argument,
      shortSchema(sources[argument]?.schema ?? textSchema, text),
    ]),
  );
  if (isRepeatable) Object.assign(properties, { idempotencyKey });
  const required = Object.keys(input).filter(argument => sources[argument]?.isRequired ?? route === undefined);
  const inputSchema = {
    type: 'object',
    properties,
    ...(required.length > 0 && { required }),
    additionalProperties: false,
  };
  return {
    name,
    scope: route?.access.scope,
    listed: {
      name,
      description: isRepeatable ? `${description} ${REPEATED}` : description,
      inputSchema,
      annotations: annotations[effect],
    },
    async run(given, request) {
      requireArguments(given, Object.keys(properties), required);
      if (route === undefined) return explained(String(given['code']));
      const call = callOf(given, sources, fixed);
      if ('cursor' in input) return pageOf(route.operationId, call, summary, request);
      return fitted(JSON.parse(String((await request.call(route.operationId, call)).bytes)) as Members);
    },
  };
}

/** Where an argument belongs in a request to the API. */
interface Source {
  readonly place: 'path' | 'query' | 'body';
  readonly schema: Members;
  readonly isRequired: boolean;
}

function sourcesOf({ parameters = {}, query, body }: LocalRoute): Readonly<Record<string, Source>> {
  const sources: Record<string, Source> = {};
  const { properties = {}, required = [] } = (body ?? {}) as { properties?: Members; required?: readonly string[] };
  for (const [name, schema] of Object.entries(properties)) {
    sources[name] = { place: 'body', schema: schema as Members, isRequired: required.includes(name) };
  }
  for (const [name, schema] of Object.entries(query?.properties ?? {})) {
    sources[name] = { place: 'query', schema: schema as Members, isRequired: false };
  }
  for (const [name, { schema }] of Object.entries(parameters)) {
    sources[name] = { place: 'path', schema: schema as Members, isRequired: true };
  }
  return sources;
}

/** Returns a schema with few keywords, because agents read the list of tools in each conversation. */
function shortSchema(schema: Members, description?: string): object {
  const shown = Object.fromEntries(shownKeywords.filter(name => name in schema).map(name => [name, schema[name]]));
  const { items } = schema;
  return { ...shown, ...(isObject(items) && { items: shortSchema(items) }), ...(description && { description }) };
}

/**
 * Checks what the API does not see. Values are texts, numbers and booleans, or lists of them, so no value is nested.
 * @throws {Problem} `invalid_parameter`
 */
function requireArguments(given: Members, known: readonly string[], required: readonly string[]): void {
  for (const [name, value] of Object.entries(given)) {
    if (!known.includes(name)) throw invalidParameter('arguments', unknownText(name, known));
    if (!isScalar(value) && !(Array.isArray(value) && value.length > 0 && value.every(isScalar))) {
      throw invalidParameter(name, 'Must be a text, a number, true or false, or a list of them.');
    }
  }
  const missing = required.find(name => given[name] === undefined);
  if (missing !== undefined) throw invalidParameter(missing, 'Is required.');
  const { idempotencyKey: key } = given;
  if (key !== undefined && typeof key !== 'string') throw invalidParameter('idempotencyKey', 'Must be a text.');
}

function unknownText(name: string, known: readonly string[]): string {
  const shown = name.slice(0, 40);
  return `There is no argument ${JSON.stringify(shown)}${suggestion(shown, known)}`;
}

function isScalar(value: unknown): boolean {
  return ['string', 'number', 'boolean'].includes(typeof value);
}

/** Returns the request to the API. */
function callOf(
  { idempotencyKey: key, ...given }: Members,
  sources: Readonly<Record<string, Source>>,
  fixed: Readonly<Record<string, string>>,
): OperationCall {
  const query = new URLSearchParams(fixed);
  const path: Record<string, string> = {};
  const body: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(given)) {
    const { place } = sources[name]!;
    if (place === 'body') body[name] = value;
    else if (place === 'path') path[name] = String(value);
    else for (const one of Array.isArray(value) ? value : [value]) query.append(name, String(one));
  }
  const isSent = Object.values(sources).some(({ place }) => place === 'body');
  return {
    path,
    query,
    headers: typeof key === 'string' ? { 'idempotency-key': key } : {},
    ...(isSent && { body }),
  };
}

/** Returns a page of a list, with fewer items if more do not fit. */
async function pageOf(
  operationId: string,
  call: OperationCall,
  summary: readonly string[] | undefined,
  request: AdmittedViewRequest,
): Promise<object> {
  for (let limit = PAGE_ITEMS; ; ) {
    const query = new URLSearchParams(call.query);
    query.set('limit', String(limit));
    const { bytes, headers } = await request.call(operationId, { ...call, query });
    const all = JSON.parse(String(bytes)) as Members[];
    const items = summary === undefined ? all : all.map(item => picked(item, summary));
    const count = countFitting(items);
    if (count < items.length && limit > 1) limit = Math.max(1, count);
    else {
      const leftOut = limit < PAGE_ITEMS && { leftOut: 'More items would be too large for a result.' };
      return { items: items.map(fitted), nextCursor: nextCursorIn(headers), ...leftOut };
    }
  }
}

function picked(item: Members, names: readonly string[]): Members {
  return Object.fromEntries(names.filter(name => name in item).map(name => [name, item[name]]));
}

/** @throws {Problem} `invalid_parameter` for an unknown code */
function explained(code: string): object {
  if (!Object.hasOwn(errors, code)) {
    const shown = code.slice(0, 40);
    throw invalidParameter(
      'code',
      `There is no error code ${JSON.stringify(shown)}${suggestion(shown, Object.keys(errors))}`,
    );
  }
  const { status, message, meaning, remedy } = errors[code as ErrorCode];
  return { code, status, message, meaning, nextStep: remedy };
}
