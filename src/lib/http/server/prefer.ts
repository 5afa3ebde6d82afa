const none: ReadonlyMap<string, string> = new Map();

/**
 * The preferences of a `Prefer` header (RFC 7240): lower-case names to values, '' where a preference has none.
 * Of a preference that is given twice the first counts; what is no preference is ignored.
 */
export function parsePrefer(header: string | undefined): ReadonlyMap<string, string> {
  if (header === undefined) return none;
  const preferences = new Map<string, string>();
  for (const part of header.split(',')) {
    // White space is taken whole or not at all: otherwise a long header of nothing else takes its length squared.
    const match = /^\s*([\w!#$%&'*+.^`|~-]+)(?:\s*=\s*(?!\s)(?:"([^"]*)"|([^\s;]*)))?\s*(?:;|$)/.exec(part);
    const name = match?.[1]?.toLowerCase();
    if (name !== undefined && !preferences.has(name)) preferences.set(name, match?.[2] ?? match?.[3] ?? '');
  }
  return preferences;
}
