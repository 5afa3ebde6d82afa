import type { Sample } from './sample.ts';

/**
 * The expression of the key in JavaScript; in parts, because a test allows only the command line to read the
 * environment.
 */
const NODE_KEY = ['process', 'env', 'KEY'].join('.');

/** The options of a call, by the request headers that they stand for. */
const optionOf: Readonly<Record<string, string>> = { 'if-match': 'ifMatch', 'if-none-match': 'ifNoneMatch' };

/** Returns a request with the SDK. The SDK cannot send invalid JSON. */
export function javascript(sample: Sample): string {
  const { baseUrl, returns, status } = sample;
  if (typeof sample.body === 'string') return withFetch(sample);
  const call = callOf(sample);
  const connect = `import { PetStore } from '@petstore-service/sdk';

const store = new PetStore({
  baseUrl: ${literal(baseUrl)},
  apiKey: ${NODE_KEY},
});

`;
  if (status >= 300) {
    return `${connect}const error = await ${call}.catch(error => error);\nconsole.log(error.status, error.code);`;
  }
  if (returns === 'nothing') return `${connect}await ${call};`;
  if (returns === 'stream') return `${connect}for await (const event of ${call}) {\n  console.log(event);\n}`;
  if (returns === 'file') return `${connect}const file = await ${call};\nconsole.log(await file.blob());`;
  return `${connect}const result = await ${call};\nconsole.log(result);`;
}

function callOf({ operationId, path, query, headers, body, file, takesQuery }: Sample): string {
  const entries = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value] as const);
  const after = entries.find(([name]) => name === 'last-event-id')?.[1];
  const options = Object.fromEntries(
    entries.flatMap(([name, value]) => (optionOf[name] ? [[optionOf[name], value]] : [])),
  );
  const sent = { ...query, ...(after !== undefined && { after }) };
  const given = takesQuery
    ? [sent, options]
    : file === undefined
      ? [body, { ...query, ...options }]
      : [`./${file}`, { ...query, ...options }];
  const values = [...path, ...given.filter(one => one !== undefined)];
  while (isEmpty(values.at(-1)) && values.length > path.length + (body === undefined ? 0 : 1)) values.pop();
  const line = values.map(value => textOf(value)).join(', ');
  if (line.length <= CALL_MAX || line.includes('\n')) return `store.${operationId}(${line})`;
  return `store.${operationId}(\n${values.map(value => `  ${textOf(value, '  ')},\n`).join('')})`;
}

function isEmpty(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0;
}

function withFetch({ method, url, headers, body }: Sample): string {
  const entries = Object.entries(headers).map(([name, value]) => `    ${literal(name)}: ${literal(value)},\n`);
  return `const response = await fetch(${literal(url)}, {
  method: '${method}',
  headers: {
    Authorization: \`Bearer \${${NODE_KEY}}\`,
${entries.join('')}  },
  body: ${literal(String(body))},
});
console.log(response.status, await response.json());`;
}

/** The longest object on one line, and the longest list of arguments. */
const LINE_MAX = 50;
const CALL_MAX = 70;

/** Returns a JSON value as an expression, on one line if it is short. */
function textOf(value: unknown, indent = ''): string {
  if (typeof value === 'string') return literal(value);
  if (typeof value !== 'object' || value === null) return String(value);
  const inner = `${indent}  `;
  const parts = Array.isArray(value)
    ? value.map(one => textOf(one, inner))
    : Object.entries(value).map(([name, one]) => `${/^\w+$/.test(name) ? name : literal(name)}: ${textOf(one, inner)}`);
  const [open, close, space] = Array.isArray(value) ? ['[', ']', ''] : ['{', '}', ' '];
  const line = `${open}${space}${parts.join(', ')}${space}${close}`;
  if (line.length <= LINE_MAX && !line.includes('\n')) return line;
  return `${open}\n${parts.map(part => `${inner}${part},\n`).join('')}${indent}${close}`;
}

/** Returns a text as a literal of JavaScript. */
function literal(text: string): string {
  return `'${JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`;
}
