import type { LoggedRoute } from '../../lib/http/route.ts';

/** The parts of a request that determine its shown path. */
interface SentPath {
  readonly route: Pick<LoggedRoute, 'path' | 'query'>;
  /** The prefix of the path of the route: `/v1`, or ''. */
  readonly prefix: string;
  /** The decoded path parameters. */
  readonly parameters: Readonly<Record<string, string>>;
  /** The query string as it was sent, with its question mark; '' when there is none. */
  readonly search: string;
}

/**
 * Returns the path and query of a request as its account may see them: without query parameters that the operation does
 * not have, which may contain anything, and without API keys in the wrong place.
 */
export function shownPath({ route, prefix, parameters, search }: SentPath): string {
  const path = route.path.replace(/\{(\w+)\}/g, (template, name: string) =>
    isPlain.test(parameters[name] ?? '') ? parameters[name]! : template,
  );
  const known = Object.keys(route.query?.properties ?? {});
  const query = new URLSearchParams();
  if (known.length > 0 && search.length > 1) {
    for (const [name, value] of new URLSearchParams(search)) {
      if (known.includes(name)) query.append(name, shownValue(value));
    }
  }
  const text = query.size === 0 ? `${prefix}${path}` : `${prefix}${path}?${query}`;
  return text.length <= PATH_MAX ? text : `${text.slice(0, PATH_MAX - 1)}…`;
}

/**
 * The form of ids. Any other value of a path parameter, such as an API key, is replaced by the name of the parameter.
 */
const isPlain = /^[\w.~-]{1,32}$/;

function shownValue(value: string): string {
  if (secret.test(value)) return '[redacted]';
  const text = value.length <= VALUE_MAX ? value : `${value.slice(0, VALUE_MAX - 1)}…`;
  // PostgreSQL cannot store NUL or lone surrogates.
  return text.replaceAll('\0', '').toWellFormed();
}

/** The id of an API key with the beginning of its secret. */
const secret = /[0-9A-Za-z]{12}_[0-9A-Za-z]{4}/;

const VALUE_MAX = 200;
const PATH_MAX = 1000;
