/** The preferences of a request without the header. */
export const noPreferences: ReadonlyMap<string, string> = new Map();

/**
 * Parses a `Prefer` header (RFC 7240): lower-case names to values, '' for preferences without one. Of repeated
 * preferences the first counts; malformed ones are ignored.
 */
export function parsePrefer(header = ''): ReadonlyMap<string, string> {
  const preferences = new Map<string, string>();
  for (const part of header.split(',')) {
    // The lookahead prevents backtracking over white space, which would take quadratic time.
    const match = /^\s*([\w!#$%&'*+.^`|~-]+)(?:\s*=\s*(?!\s)(?:"([^"]*)"|([^\s;]*)))?\s*(?:;|$)/.exec(part);
    const name = match?.[1]?.toLowerCase();
    if (name !== undefined && !preferences.has(name)) preferences.set(name, match?.[2] ?? match?.[3] ?? '');
  }
  return preferences;
}
