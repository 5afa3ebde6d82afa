/**
 * Returns an object with the members of `target`, some of them replaced. Methods of `target` run on `target` itself.
 */
export function override<T extends object>(target: T, replaced: Partial<T>): T {
  const members = new Map<string | symbol, unknown>(Object.entries(replaced));
  return new Proxy(target, {
    get(_, name) {
      const member = members.get(name);
      if (member !== undefined) return member;
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== 'function') return value;
      const bound = value.bind(target);
      members.set(name, bound);
      return bound;
    },
  });
}
