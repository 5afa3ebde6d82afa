import type { ViewOperation, ViewRequest } from '../../lib/http/server/view.ts';
import { type ClassicOperation, type ClassicVersion, classicOperations, onlyInV2 } from './operations.ts';
import { JSON_TYPE } from './responses.ts';
import { type ClassicShape, type MemberType, shapes } from './shapes.ts';

const info = {
  title: 'Swagger Petstore, served by the Pet Store Service',
  description:
    'An interface that is compatible with the sample API of Swagger. Its documents are in a sandbox of the caller, and last a day. This service has no connection to SmartBear Software or swagger.io.',
};
const media = [JSON_TYPE, 'application/xml'];

/** Returns the operations that serve the documents of a version. @param prefix of its paths */
export function documentsOf(version: ClassicVersion, prefix: string): readonly ViewOperation[] {
  const document = version === 'v2' ? swaggerOf : openApiOf;
  const serve = (path: string, contentType: string, format: (value: unknown) => string): ViewOperation => ({
    ...{ method: 'GET', path, operationId: `classic.${version}.getDocument` },
    handle: request => ({ status: 200, contentType, bytes: format(document(request, prefix)) }),
  });
  const json = (value: unknown) => JSON.stringify(value);
  if (version === 'v2') return [serve('/swagger.json', JSON_TYPE, json)];
  return [serve('/openapi.json', JSON_TYPE, json), serve('/openapi.yaml', 'application/yaml', formatYaml)];
}

/** Returns the document in Swagger 2.0. */
function swaggerOf({ publicUrl }: ViewRequest, prefix: string): unknown {
  const { protocol, host, pathname } = new URL(publicUrl);
  const schemas = schemasOf('#/definitions/');
  return {
    swagger: '2.0',
    info: { ...info, version: '1.0.7' },
    ...{ host, basePath: pathname.replace(/\/$/, '') + prefix, schemes: [protocol.slice(0, -1)] },
    ...{ consumes: media, produces: media },
    securityDefinitions: { api_key: { type: 'apiKey', name: 'api_key', in: 'header' } },
    paths: pathsOf('v2', operation => ({
      ...(consumed[operation.body ?? ''] && { consumes: consumed[operation.body!] }),
      parameters: [...parametersOf(operation, schema => schema), ...swaggerBodyOf(operation, schemas.of)],
      responses: { 200: { description: 'Success', schema: schemas.of(v2ResultOf(operation)) } },
    })),
    definitions: schemas.all,
  };
}

/** Returns what version 2 returns: messages for users, forms and files. */
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
  if (body === 'form') return ['name', 'status'].map(name => ({ name, in: 'formData', type: 'string' }));
  if (body === 'file') {
    return [
      { name: 'additionalMetadata', in: 'formData', type: 'string' },
      { name: 'file', in: 'formData', type: 'file' },
    ];
  }
  return [{ name: 'body', in: 'body', required: true, schema: schemaOf(body) }];
}

/** Returns the document in OpenAPI 3.0. */
function openApiOf({ publicUrl }: ViewRequest, prefix: string): unknown {
  const schemas = schemasOf('#/components/schemas/');
  const contentOf = (name: string) => Object.fromEntries(media.map(type => [type, { schema: schemas.of(name) }]));
  return {
    openapi: '3.0.4',
    info: { ...info, version: '1.0.27' },
    servers: [{ url: publicUrl + prefix }],
    paths: pathsOf('v3', operation => {
      const { body, returns } = operation;
      const file = { 'application/octet-stream': { schema: { type: 'string', format: 'binary' } } };
      const more = body === 'form' ? ['name', 'status'] : body === 'file' ? ['additionalMetadata'] : [];
      const query = [...(operation.query ?? []), ...more];
      return {
        parameters: parametersOf({ ...operation, query }, schema => ({ schema })),
        ...(body !== undefined &&
          body !== 'form' && {
            requestBody: { required: true, content: body === 'file' ? file : contentOf(body) },
          }),
        responses: { 200: { description: 'Success', ...(returns && { content: contentOf(returns) }) } },
      };
    }),
    components: {
      schemas: schemas.all,
      securitySchemes: { api_key: { type: 'apiKey', name: 'api_key', in: 'header' } },
    },
  };
}

/** Returns the operations by path and method. */
function pathsOf(version: ClassicVersion, describe: (operation: ClassicOperation) => object): object {
  const paths: Record<string, Record<string, object>> = {};
  for (const [operationId, operation] of Object.entries<ClassicOperation>(classicOperations)) {
    if (version === 'v3' && (onlyInV2 as readonly string[]).includes(operationId)) continue;
    const { path, method, summary } = operation;
    paths[path] ??= {};
    paths[path][method.toLowerCase()] = { tags: [path.split('/')[1]], summary, operationId, ...describe(operation) };
  }
  return paths;
}

/** Returns the path and query parameters of an operation. @param typed where the version puts the type */
function parametersOf({ path, query = [] }: ClassicOperation, typed: (schema: object) => object): object[] {
  const inPath = path.match(/(?<=\{)\w+/g) ?? [];
  const number = { type: 'integer', format: 'int64' };
  return [
    ...inPath.map(name => ({
      name,
      in: 'path',
      required: true,
      ...typed(name === 'username' ? { type: 'string' } : number),
    })),
    ...query.map(name => ({ name, in: 'query', ...typed({ type: 'string' }) })),
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

const scalarTypes: Readonly<Record<Extract<MemberType, string>, object>> = {
  id: long,
  long,
  int: { type: 'integer', format: 'int32' },
  boolean: { type: 'boolean' },
  text: { type: 'string' },
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
