import type { Example, Route } from '../../src/lib/http/route.ts';

/** Returns the query of an example as a client takes it: numbers, booleans, and lists for parameters with several values. */
export function queryOf(route: Route<never>, { query = '' }: Example): Record<string, unknown> {
  const given = new URLSearchParams(query);
  return Object.fromEntries(
    [...new Set(given.keys())].map(name => {
      const schema = route.query?.properties[name] as { type?: string; items?: { type?: string } } | undefined;
      const values = given.getAll(name).map(text => parsed(text, schema?.items?.type ?? schema?.type));
      return [name, schema?.type === 'array' ? values : values[0]];
    }),
  );
}

function parsed(text: string, type: string | undefined): unknown {
  if (type === 'integer') return Number(text);
  return type === 'boolean' ? text === 'true' : text;
}
