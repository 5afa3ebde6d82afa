import { readFile } from 'node:fs/promises';
import { routes } from '../src/app.ts';
import type { Example, Route } from '../src/lib/http/route.ts';

/** An example of a route, sent for real, with what came back. */
export interface SentExample {
  readonly route: Route<never>;
  readonly example: Example;
  readonly status: number;
  readonly headers: Headers;
  readonly contentType: string;
  readonly body: unknown;
}

/**
 * Sends every example of every route, those that add something first, so that a store which was empty before holds
 * just the animals of the examples, and every answer is the same each time.
 */
export async function sendExamples(baseUrl: string, key: string): Promise<SentExample[]> {
  const all = routes.flatMap(route => route.examples.map(example => ({ route: route as Route<never>, example })));
  const adding = (method: string) => (method === 'POST' ? 0 : 1);
  const ordered = all.toSorted((a, b) => adding(a.route.method) - adding(b.route.method));
  const sent: SentExample[] = [];
  for (const { route, example } of ordered) sent.push(await send(route, example, baseUrl, key));
  return sent;
}

async function send(route: Route<never>, example: Example, baseUrl: string, key: string): Promise<SentExample> {
  const path = route.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => example.path?.[name] ?? '');
  const url = `${baseUrl}${path}${example.query === undefined ? '' : `?${example.query}`}`;
  const headers = new Headers({ authorization: `Bearer ${key}`, ...example.headers });
  const { body } = example;
  if (body !== undefined && !headers.has('content-type')) headers.set('content-type', 'application/json');
  const response = await fetch(url, {
    method: route.method,
    headers,
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  return {
    route,
    example,
    status: response.status,
    headers: response.headers,
    contentType: response.headers.get('content-type') ?? '',
    body: await response.json(),
  };
}

/** Where the recorded answers stand, from which the OpenAPI document takes its examples. */
export const answersFile = new URL('../src/openapi-answers.json', import.meta.url);

/** The text of that file, as it is right after the examples were sent. */
export function answersText(sent: readonly SentExample[]): string {
  const answers: Record<string, Record<string, unknown>> = {};
  for (const { operation, examples } of routes) {
    answers[operation] = Object.fromEntries(
      examples.map(example => [
        example.name,
        sent.find(one => one.route.operation === operation && one.example === example)?.body,
      ]),
    );
  }
  return `${JSON.stringify(answers, null, 2)}\n`;
}

/** The text of that file as it is. */
export function recordedAnswers(): Promise<string> {
  return readFile(answersFile, 'utf8');
}
