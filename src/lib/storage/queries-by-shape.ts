/**
 * Returns a function that builds one query per shape and keeps the `max` most recently used. A shape determines the SQL
 * of a query: which filters are present, the direction. Ids, texts and lists of them belong in the parameters of the
 * query.
 * @param members the members of the shape that `build` reads; others are ignored
 */
export function queriesByShape<Shape extends { readonly [Member in keyof Shape]: string | number | boolean }, Query>(
  members: readonly (keyof Shape)[],
  build: (shape: Shape) => Query,
  max = QUERIES_MAX,
): (shape: Shape) => Query {
  const queries = new Map<string, Query>();
  caches.push(queries);
  return shape => {
    const key = members.map(member => shape[member]).join();
    const kept = queries.get(key);
    const query = kept ?? build(shape);
    // The keys of a Map stay in the order of insertion: the first is the least recently used.
    if (kept !== undefined) queries.delete(key);
    else if (queries.size >= max) queries.delete(queries.keys().next().value!);
    queries.set(key, query);
    return query;
  };
}

export function keptQueryCount(): number {
  return caches.reduce((count, queries) => count + queries.size, 0);
}

const caches: ReadonlyMap<string, unknown>[] = [];

/** More than the number of shapes in frequent use. A compiled query takes about 27 KB with its prepared statements. */
const QUERIES_MAX = 64;
