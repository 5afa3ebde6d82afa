import type { ViewOperation, ViewRequest } from '../../lib/http/server/view.ts';
import {
  type ClassicOperation,
  type ClassicOperationId,
  type ClassicVersion,
  classicOperations,
} from './operations.ts';
import { JSON_TYPE } from './responses.ts';
import { type ClassicShape, type MemberType, shapes } from './shapes.ts';

const info = {
  title: 'Swagger Petstore, served by the Pet Store Service',
  description:
    'An interface that is compatible with the sample API of Swagger. Its documents are in a sandbox of the caller, and last a day. This service has no connection to SmartBear Software or swagger.io.',
};
const media = [JSON_TYPE, 'application/xml'];
const securitySchemes = { api_key: { type: 'apiKey', name: 'api_key', in: 'header' } };

/** Returns the operations that serve the documents of a version. @param served the operations that it has */
export function documentsOf(
  version: ClassicVersion,
  prefix: string,
  served: readonly ClassicOperationId[],
): readonly ViewOperation[] {
  const document = version === 'v2' ? swaggerOf : openApiOf;
  const serve = (path: string, contentType: string, format: (value: unknown) => string): ViewOperation => ({
    ...{ method: 'GET', path, operationId: `classic.${version}.getDocument` },
    handle: request => ({ status: 200, contentType, bytes: format(document(request, prefix, served)) }),
  });
  if (version === 'v2') return [serve('/swagger.json', JSON_TYPE, JSON.stringify)];
  return [serve('/openapi.json', JSON_TYPE, JSON.stringify), serve('/openapi.yaml', 'application/yaml', formatYaml)];
}

/** Returns the document in Swagger 2.0. */
function swaggerOf({ publicUrl }: ViewRequest, prefix: string, served: readonly ClassicOperationId[]): unknown {
  const { protocol, host, pathname } = new URL(publicUrl);
  const schemas = schemasOf('#/definitions/');
  return {
    swagger: '2.0',
    info: { ...info, version: '1.0.7' },
    ...{ host, basePath: pathname.replace(/\/$/, '') + prefix, schemes: [protocol.slice(0, -1)] },
    ...{ consumes: media, produces: media },
    securityDefinitions: securitySchemes,
    paths: pathsOf(served, operation => ({
      ...(consumed[operation.body ?? ''] && { consumes: consumed[operation.body!] }),
      parameters: [...parametersOf(operation, schema => schema), ...swaggerBodyOf(operation, schemas.of)],
      responses: { 200: { description: 'Success', schema: schemas.of(v2ResultOf(operation)) } },
    })),
    definitions: schemas.all,
  };
}

/** Returns the name of the shape of a successful response in version 2: a message for users, forms and files. */
function v2ResultOf({ method, body, returns }: ClassicOperation): string {
  const isMessage =
    returns === undefined || body === 'form' || body === 'file' || (method !== 'GET' && returns.startsWith('User'));
  return isMessage ? 'ApiResponse' : returns;
}

const consumed: Readonly<Record<string, readonly string[]>> = {
  form: ['application/x-www-form-urlencoded'],
  file: ['multipart/form-data'],
};

function swaggerBodyOf({ body }: ClassicOperation, schemaOf: SchemaOf): object[] {
  if (body === undefined) return [];
  const texts = formFields[body]?.map(name => ({ name, in: 'formData', ...text }));
  if (texts === undefined) return [{ name: 'body', in: 'body', required: true, schema: schemaOf(body) }];
  return body === 'form' ? texts : [...texts, { name: 'file', in: 'formData', type: 'file' }];
}

/** The texts of forms, which are query parameters in version 3. */
const formFields: Readonly<Record<string, readonly string[]>> = {
  form: ['name', 'status'],
  file: ['additionalMetadata'],
};

const binary = { 'application/octet-stream': { schema: { type: 'string', format: 'binary' } } };

/** Returns the document in OpenAPI 3.0. */
function openApiOf({ publicUrl }: ViewRequest, prefix: string, served: readonly ClassicOperationId[]): unknown {
  const schemas = schemasOf('#/components/schemas/');
  const contentOf = (name: string) => Object.fromEntries(media.map(type => [type, { schema: schemas.of(name) }]));
  return {
    openapi: '3.0.4',
    info: { ...info, version: '1.0.27' },
    servers: [{ url: publicUrl + prefix }],
    paths: pathsOf(served, operation => {
      const { body = '', returns, query = formFields[body] ?? [] } = operation;
      const content = body === 'file' ? binary : contentOf(body);
      return {
        parameters: parametersOf({ ...operation, query }, schema => ({ schema })),
        ...(body !== '' && body !== 'form' && { requestBody: { required: true, content } }),
        responses: { 200: { description: 'Success', ...(returns && { content: contentOf(returns) }) } },
      };
    }),
    components: { schemas: schemas.all, securitySchemes },
  };
}

/** Returns the operations by path and method. */
function pathsOf(served: readonly ClassicOperationId[], describe: (operation: ClassicOperation) => object): object {
  const paths: Record<string, Record<string, object>> = {};
  for (const operationId of served) {
    const operation = classicOperations[operationId];
    const { path, method, summary } = operation;
    paths[path] ??= {};
    paths[path][method.toLowerCase()] = { tags: [path.split('/')[1]], summary, operationId, ...describe(operation) };
  }
  return paths;
}

/** Returns the path and query parameters of an operation. @param typed puts a type where the version has it */
function parametersOf({ path, query = [] }: ClassicOperation, typed: (schema: object) => object): object[] {
  const inPath = path.match(/(?<=\{)\w+/g) ?? [];
  return [
    ...inPath.map(name => ({ name, in: 'path', required: true, ...typed(name === 'username' ? text : long) })),
    ...query.map(name => ({ name, in: 'query', ...typed(text) })),
  ];
}

type SchemaOf = (name: string) => object;

/** Returns the schemas of the shapes, and a function that returns the schema of a body or a response. */
function schemasOf(prefix: string): { readonly all: object; readonly of: SchemaOf } {
  const reference = (name: string) => ({ $ref: prefix + name });
  const typeOf = (type: MemberType): object => {
    if (typeof type === 'string') return scalarTypes[type];
    if ('members' in type) return reference(type.name);
    const items = type.items === 'text' ? { type: 'string', xml: { name: type.item } } : reference(type.items.name);
    return { type: 'array', xml: { wrapped: true }, items };
  };
  const objectOf = ({ name, members }: ClassicShape) => ({
    type: 'object',
    ...(name === 'Pet' && { required: ['name', 'photoUrls'] }),
    properties: Object.fromEntries(Object.entries(members).map(([member, type]) => [member, typeOf(type)])),
    xml: { name },
  });
  return {
    all: Object.fromEntries(shapes.map(shape => [shape.name, objectOf(shape)])),
    of(name) {
      if (name === 'Inventory') return { type: 'object', additionalProperties: { type: 'integer', format: 'int32' } };
      return name.endsWith('s') ? { type: 'array', items: reference(name.slice(0, -1)) } : reference(name);
    },
  };
}

const long = { type: 'integer', format: 'int64' };
const text = { type: 'string' };

const scalarTypes: Readonly<Record<Extract<MemberType, string>, object>> = {
  id: long,
  long,
  int: { type: 'integer', format: 'int32' },
  boolean: { type: 'boolean' },
  text,
  date: { type: 'string', format: 'date-time' },
};

/** Returns a JSON value as YAML. Texts stay in quotes, as in JSON. */
function formatYaml(value: unknown, indent = ''): string {
  if (typeof value !== 'object' || value === null || Object.keys(value).length === 0)
    return `${JSON.stringify(value)}\n`;
  const isList = Array.isArray(value);
  const lines = Object.entries(value).map(([name, member]) => {
    const head = isList ? '-' : `${/^[a-z]\w*$/i.test(name) ? name : JSON.stringify(name)}:`;
    const isNested = typeof member === 'object' && member !== null && Object.keys(member).length > 0;
    return `${indent}${head}${isNested ? '\n' : ' '}${formatYaml(member, `${indent}  `)}`;
  });
  return lines.join('');
}
