/** Returns the entity tag of a version of a resource: unique even if the id is reused, because versions continue. */
export function etagOf({ id, version }: { readonly id: number; readonly version: number }): string {
  return `"${id}.${version}"`;
}
