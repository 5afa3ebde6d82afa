import { type Example, impliedHeadersOf, type Route } from '../route.ts';
import { type Components, examplesOf, nameOf, type Schema } from './components.ts';
import { requestHeaderSchemas } from './headers.ts';
import type { ApiDescription } from './types.ts';

/** Returns the `parameters` of an operation. */
export function parametersOf(
  route: Route<never>,
  components: Components,
  headerSchemas: ApiDescription['headerSchemas'] = {},
): object {
  const path = Object.entries(route.parameters ?? {}).map(([name, parameter]) => {
    const [example] = successful(route).flatMap(({ path }) => path?.[name] ?? []);
    return components.parameter(name, {
      name,
      in: 'path',
      required: true,
      description: parameter.description,
      schema: components.schema(parameter.schema),
      ...(example !== undefined && { example: typed(example, parameter.schema) }),
    });
  });
  const required = new Set(route.query?.required as readonly string[] | undefined);
  const query = Object.entries(route.query?.properties ?? {}).map(([name, property]) => {
    const { description, default: byDefault, ...rest } = property as Schema;
    // A named schema has its description in the component.
    const schema = nameOf(property) === undefined ? rest : (property as Schema);
    const shown = byDefault !== undefined || schema.examples !== undefined;
    const example = shown ? undefined : queryExample(route, name, schema);
    return components.parameter(name, {
      name,
      in: 'query',
      required: required.has(name),
      description,
      ...(schema.type === 'array' && { style: 'form', explode: true }),
      schema: {
        ...components.schema(schema),
        ...(byDefault !== undefined && { default: byDefault }),
        // This is not the example of the parameter, because Swagger UI would fill its form with that.
        ...(example !== undefined && { examples: [example] }),
      },
    });
  });
  const own = Object.entries(route.headers ?? {}).map(([name, says]) =>
    headerParameter(name, says, headerSchemas[name]),
  );
  const implied = Object.entries(impliedHeadersOf(route))
    .filter(([name]) => route.headers?.[name] === undefined)
    .map(([name, says]) => components.parameter(name, headerParameter(name, says)));
  const parameters = [...path, ...query, ...own, ...implied];
  return parameters.length > 0 ? { parameters } : {};
}

function headerParameter(name: string, description: string, own?: object): object {
  const schema = { type: 'string', ...requestHeaderSchemas[name], ...own };
  return { name, in: 'header', required: false, description, schema };
}

export function bodyOf(route: Route<never>, components: Components): object {
  if (route.upload) {
    const { contentTypes, description } = route.upload;
    const file = { schema: { type: 'string', format: 'binary' } };
    const content = Object.fromEntries(contentTypes.map(type => [type, file]));
    return { requestBody: { description, required: true, content } };
  }
  if (!route.body) return {};
  const examples = successful(route).filter(({ body }) => body !== undefined);
  const content = {
    schema: components.schema(route.body),
    ...examplesOf(examples.map(({ name, summary, body }) => [name, { summary, value: body }])),
  };
  return {
    requestBody: {
      required: route.bodyOptional !== true,
      content: {
        'application/json': content,
        ...(route.method === 'PATCH' && { 'application/merge-patch+json': content }),
      },
    },
  };
}

/** Returns the examples with a successful response. */
export function successful(route: Route<never>): Example[] {
  return route.examples.filter(example => example.code === undefined);
}

/** Returns the value of a query parameter in the first example that has it. */
function queryExample(route: Route<never>, name: string, schema: Schema): unknown {
  const texts = successful(route).map(({ query }) => new URLSearchParams(query).getAll(name));
  const given = texts.find(({ length }) => length > 0);
  const items = schema.items as Schema | undefined;
  return items ? given?.map(text => typed(text, items)) : given && typed(given[0]!, schema);
}

/** Converts the text of a parameter to the type of its schema. */
function typed(text: string, schema: object): unknown {
  const { type } = schema as { type?: unknown };
  if (type === 'boolean') return text === 'true';
  return type === 'integer' || type === 'number' ? Number(text) : text;
}
