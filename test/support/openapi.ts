/** Returns a JSON document with its references resolved. */
export function resolved(value: unknown, root: unknown = value): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(one => resolved(one, root));
  const { $ref } = value as { $ref?: string };
  if ($ref === undefined) {
    return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, resolved(one, root)]));
  }
  const steps = $ref.slice(2).split('/');
  return resolved(
    steps.reduce((inner: unknown, step) => (inner as Record<string, unknown>)[step], root),
    root,
  );
}
