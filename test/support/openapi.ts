/** Returns a JSON document with its references resolved. */
export function resolved(value: unknown, root: unknown = value): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(one => resolved(one, root));
  const { $ref, ...own } = value as { $ref?: string };
  const members = Object.fromEntries(Object.entries(own).map(([name, one]) => [name, resolved(one, root)]));
  if ($ref === undefined) return members;
  const steps = $ref.slice(2).split('/');
  const target = steps.reduce((inner: unknown, step) => (inner as Record<string, unknown>)[step], root);
  // A schema may have keywords beside its reference (JSON Schema 2020-12).
  return { ...(resolved(target, root) as object), ...members };
}
