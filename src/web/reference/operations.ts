import type { Example, Route } from '../../lib/http/route.ts';
import type { ErrorCode } from '../../model/errors.ts';
import { descriptionOf, type JsonSchema, nameOf, typeText } from './schema-text.ts';

/** An operation in the documentation: the route with its part of the OpenAPI document. */
export interface DocumentedOperation {
  readonly route: Route<never>;
  readonly parameters: readonly Parameter[];
  readonly body?: { readonly schema: JsonSchema; readonly required: boolean };
  readonly successes: readonly DocumentedSuccess[];
  /** Every error code that the operation can return. */
  readonly codes: readonly ErrorCode[];
}

export interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly schema: JsonSchema;
  readonly required: boolean;
  readonly description: string;
}

export interface DocumentedSuccess {
  readonly status: number;
  readonly description: string;
  readonly schema?: JsonSchema;
  /** The headers besides those of every response, with their descriptions. */
  readonly headers: Readonly<Record<string, string>>;
}

/** The schemas of the document by their names. */
export type Schemas = Readonly<Record<string, JsonSchema>>;

/** The parts of an OpenAPI document that this file reads. */
interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, DocumentOperation>>>>;
  readonly components: {
    readonly schemas: Schemas;
    readonly parameters: Readonly<Record<string, DocumentParameter>>;
  };
}
type DocumentParameter = Omit<Parameter, 'description'> & { readonly description?: string; readonly $ref?: string };
interface DocumentOperation {
  readonly parameters?: readonly DocumentParameter[];
  readonly requestBody?: {
    readonly required: boolean;
    readonly content: Readonly<Record<string, { readonly schema: JsonSchema }>>;
  };
  readonly responses: Readonly<
    Record<string, { readonly content?: Readonly<Record<string, { readonly schema: JsonSchema }>> }>
  >;
}

/** Returns every operation of an OpenAPI document, and its schemas. @param codesOf the error codes of a route */
export function documentedOperations(
  document: object,
  routes: readonly Route<never>[],
  codesOf: (route: Route<never>) => readonly ErrorCode[],
): { readonly operations: readonly DocumentedOperation[]; readonly schemas: Schemas } {
  const { paths, components } = document as Document;
  const operations = routes.map((route): DocumentedOperation => {
    const { parameters = [], requestBody, responses } = paths[route.path]![route.method.toLowerCase()]!;
    return {
      route,
      parameters: parameters
        .map(one => (one.$ref === undefined ? one : components.parameters[nameOf(one.$ref)]!))
        .map(one => ({ ...one, description: one.description ?? referredDescription(one.schema, components.schemas) })),
      ...(requestBody?.content['application/json'] && {
        body: { schema: requestBody.content['application/json'].schema, required: requestBody.required },
      }),
      successes: route.successes.map(({ status, description, headers = {} }) => {
        const [content] = Object.values(responses[status]!.content ?? {});
        return { status, description, headers, ...(content && { schema: content.schema }) };
      }),
      codes: codesOf(route),
    };
  });
  return { operations, schemas: components.schemas };
}

/** Returns the description of a referenced schema. */
function referredDescription({ $ref }: JsonSchema, schemas: Schemas): string {
  return $ref === undefined ? '' : descriptionOf(schemas[nameOf($ref)]!);
}

/** A member of a body; its nested members have their own entries. */
export interface SchemaMember {
  readonly name: string;
  /** The names from the body to the member, joined by dots. */
  readonly path: string;
  /** Markdown. */
  readonly type: string;
  readonly required: boolean;
  readonly description: string;
  readonly shapes: readonly Shape[];
}

/** An object type of a body or a member. */
export interface Shape {
  /** The name of its schema, if it has one. */
  readonly name: string | undefined;
  readonly description: string;
  readonly members: readonly SchemaMember[];
}

/** The depth to which members are shown. */
const DEPTH_MAX = 5;

/** Returns the object types that a schema allows, also as items of a list; an empty list for other types. */
export function shapesOf(schema: JsonSchema, schemas: Schemas, path = '', depth = 0): Shape[] {
  if (depth > DEPTH_MAX) return [];
  const { $ref, anyOf, items } = schema;
  if ($ref !== undefined) {
    const name = nameOf($ref);
    return shapesOf(schemas[name]!, schemas, path, depth).map(shape => ({ ...shape, name: shape.name ?? name }));
  }
  if (anyOf !== undefined) return anyOf.flatMap(one => shapesOf(one, schemas, path, depth));
  if (items !== undefined) return shapesOf(items, schemas, path, depth);
  const members = propertiesOf(schema, schemas).map(([name, member, required]): SchemaMember => {
    const at = path === '' ? name : `${path}.${name}`;
    return {
      ...{ name, path: at, required, type: typeIn(member, schemas), shapes: shapesOf(member, schemas, at, depth + 1) },
      description: descriptionOf(member) || referredDescription(member, schemas),
    };
  });
  return members.length === 0 ? [] : [{ name: undefined, description: schema.description ?? '', members }];
}

/** Returns the type of a schema as Markdown. Named schemas other than objects include their choices and bounds. */
export function typeIn(schema: JsonSchema, schemas: Schemas): string {
  return typeText(schema, name => {
    const named = schemas[name]!;
    return shapesOf(named, schemas).length > 0 ? `\`${name}\`` : typeIn(named, schemas);
  });
}

/** Returns the properties of an object, including those of all its parts. */
function propertiesOf(
  { $ref, allOf = [], properties = {}, required = [] }: JsonSchema,
  schemas: Schemas,
): [name: string, schema: JsonSchema, required: boolean][] {
  if ($ref !== undefined) return propertiesOf(schemas[nameOf($ref)]!, schemas);
  const own = Object.entries(properties).map(([name, schema]): [string, JsonSchema, boolean] => [
    name,
    schema,
    required.includes(name),
  ]);
  return [...allOf.flatMap(part => propertiesOf(part, schemas)), ...own];
}

/** Returns the first successful example of a route that any account can send; documentation begins with it. */
export function mainExample({ examples }: Route<never>): Example | undefined {
  return examples.find(({ code }) => code === undefined);
}
