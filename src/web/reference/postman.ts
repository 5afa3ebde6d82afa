import { descriptionWithLimits, type Route } from '../../lib/http/route.ts';
import type { Bases } from './bases.ts';
import { type DocumentedOperation, mainExample, type Parameter } from './operations.ts';
import { byTag } from './parts.ts';

/**
 * Returns all operations as a Postman collection, version 2.1, which Bruno and Insomnia import too. Each request has
 * the values of its first example; other parameters are disabled.
 * @param bases the values of its variables `baseUrl` and `messagesUrl`
 */
export function postmanCollection(operations: readonly DocumentedOperation[], bases: Bases): object {
  const { deployments, messages, chosen, baseUrl } = bases;
  const others = deployments.filter(([name]) => name !== chosen);
  const of = new Map(operations.map(operation => [operation.route, operation]));
  return {
    info: {
      name: 'Pet Store',
      description: `Set the variable \`bearerToken\` to an API key for ${chosen}.${others.map(([name, url]) => ` For ${name}, set \`baseUrl\` to ${url}.`).join('')}`,
      schema: 'https://schema.getpostman.com/json/collection/v2.1.0/collection.json',
    },
    auth: { type: 'bearer', bearer: [{ key: 'token', value: '{{bearerToken}}', type: 'string' }] },
    variable: [
      { key: 'baseUrl', value: baseUrl },
      { key: 'messagesUrl', value: messages ?? baseUrl },
      { key: 'bearerToken', value: '' },
    ],
    item: byTag(operations.map(({ route }) => route)).map(([name, group]) => ({
      name,
      item: group.map(route => ({ name: route.summary, request: requestOf(of.get(route)!) })),
    })),
  };
}

function requestOf({ route, parameters }: DocumentedOperation): object {
  const example = mainExample(route);
  const { body, file, path = {}, query = '', headers = {} } = example ?? {};
  const sent = new URLSearchParams(query);
  const segments = route.path
    .slice(1)
    .replaceAll(/\{(\w+)\}/g, ':$1')
    .split('/');
  const used = [...sent].map(([key, value]) => ({ key, value }));
  const base = route.address === undefined ? '{{baseUrl}}' : '{{messagesUrl}}';
  const unused = optional(parameters, 'query', [...sent.keys()]);
  return {
    method: route.method,
    description: descriptionWithLimits(route),
    header: [
      ...(body === undefined ? [] : [{ key: 'Content-Type', value: 'application/json' }]),
      ...(file === undefined ? [] : [{ key: 'Content-Type', value: file.contentType }]),
      ...Object.entries(headers).map(([key, value]) => ({ key, value })),
      ...optional(parameters, 'header', Object.keys(headers)),
    ],
    url: {
      raw: `${base}/${segments.join('/')}${query === '' ? '' : `?${query}`}`,
      host: [base],
      path: segments,
      query: [...used, ...unused],
      variable: pathVariables(route, path),
    },
    ...(body !== undefined && {
      body: {
        mode: 'raw',
        raw: typeof body === 'string' ? body : JSON.stringify(body, null, 2),
        options: { raw: { language: 'json' } },
      },
    }),
    ...(file !== undefined && { body: { mode: 'file', file: { src: file.name } } }),
  };
}

/** Returns the parameters that the example does not send, disabled. */
function optional(parameters: readonly Parameter[], place: Parameter['in'], sent: readonly string[]): object[] {
  return parameters
    .filter(({ in: at, name }) => at === place && !sent.includes(name))
    .map(({ name, description }) => ({ key: name, value: '', description, disabled: true }));
}

function pathVariables({ parameters = {} }: Route<never>, values: Readonly<Record<string, string>>): object[] {
  return Object.entries(parameters).map(([key, { description }]) => ({ key, value: values[key] ?? '', description }));
}
