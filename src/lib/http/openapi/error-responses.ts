import { STATUS_CODES } from '../node-http.ts';
import type { Route } from '../route.ts';
import type { Components } from './components.ts';
import { errorSchema, problemSchema } from './errors.ts';
import { conflictHeader, errorHeaders } from './headers.ts';
import type { ApiDescription } from './types.ts';

/** The error responses of all operations. Operations with the same codes refer to the same response. */
export class DocumentedErrors {
  readonly #description: ApiDescription;
  readonly #components: Components;
  /** The codes of each named response, by its name. */
  readonly #named = new Map<string, string>();
  /** The codes that all operations with a status share, by status. */
  readonly #common = new Map<number, ReadonlySet<string>>();

  constructor(description: ApiDescription, components: Components) {
    this.#description = description;
    this.#components = components;
    for (const route of description.routes) {
      for (const [status, codes] of this.#codesByStatus(route)) {
        const known = this.#common.get(status);
        this.#common.set(status, new Set(codes.filter(code => known?.has(code) ?? true)));
      }
    }
  }

  /** Returns the error responses of an operation by status. */
  of(route: Route<never>): Record<string, object> {
    const responses = Array.from(this.#codesByStatus(route), ([status, codes]) => {
      const name = this.#nameOf(status, codes);
      return [status, this.#components.response(name, this.#response(status, codes))];
    });
    return Object.fromEntries(responses);
  }

  #codesByStatus(route: Route<never>): Map<number, string[]> {
    const { codesOf, errors } = this.#description;
    return Map.groupBy(new Set(codesOf(route)), code => {
      const entry = errors[code];
      if (!entry) throw new Error(`${route.operationId} names an error code that is not in the catalogue: ${code}`);
      return entry.status;
    });
  }

  /**
   * Returns the name of the response with these codes: its only code, or its status with the last uncommon code. If
   * another response has that name, the name contains all uncommon codes.
   */
  #nameOf(status: number, codes: readonly string[]): string {
    if (codes.length === 1) return pascalCase(codes[0]!);
    const uncommon = codes.filter(code => !this.#common.get(status)!.has(code)).map(pascalCase);
    const prefix = (STATUS_CODES[status] ?? String(status)).replaceAll(/[^A-Za-z]/g, '');
    const name = prefix + (uncommon.at(-1) ?? '');
    const key = codes.join();
    return this.#named.getOrInsert(name, key) === key ? name : prefix + uncommon.join('');
  }

  #response(status: number, codes: readonly string[]): object {
    const { headers, pagesUrl } = this.#description;
    return {
      description: `${codes.map(code => `\`${code}\``).join(', ')}.`,
      headers: {
        ...this.#components.headers(headers),
        ...this.#components.headers(errorHeaders[status] ?? {}),
        ...(status === 409 && { 'Retry-After': this.#components.header('ConflictRetryAfter', conflictHeader) }),
      },
      content: {
        'application/json': {
          schema: this.#components.schema(errorSchema),
          examples: Object.fromEntries(codes.map(code => [code, this.#example(code)])),
        },
        'application/problem+json': { schema: this.#components.schema(problemSchema(pagesUrl)) },
      },
    };
  }

  /** Returns the example of an error code: the first recorded response that has it, or its general message. */
  #example(code: string): object {
    const { routes, errors, responseTo } = this.#description;
    const { message, meaning, status } = errors[code]!;
    const recorded = routes
      .flatMap(route => route.examples.map(example => example.code === code && responseTo?.(route, example)))
      .find(response => response);
    const value = recorded ?? { code, message, status };
    return this.#components.example(code, { summary: message, description: meaning, value });
  }
}

function pascalCase(code: string): string {
  return code.replaceAll(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
