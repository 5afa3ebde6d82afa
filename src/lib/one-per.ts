import type { MaybePromise } from './maybe-promise.ts';

/** Returns a function that reads a value once, at its first call. After a failure, the next call reads again. */
export function memoize<Value>(read: () => Promise<Value>): () => Promise<Value> {
  let value: Promise<Value> | undefined;
  return () => {
    value ??= read();
    value.catch(() => {
      value = undefined;
    });
    return value;
  };
}

/**
 * Returns a function that creates one value per key at its first use, and keeps the value as long as the key exists.
 */
export function onePer<Key extends object, Value>(create: (key: Key) => Value): (key: Key) => Value {
  const values = new WeakMap<Key, Value>();
  return key => values.getOrInsertComputed(key, create);
}

/**
 * Returns a function that reads one value per key, and keeps it while the version of the key stays the same. It keeps
 * no value whose read failed or whose version is undefined.
 */
export function onePerVersion<Key extends object, Value>(
  versionOf: (key: Key) => MaybePromise<number | string | undefined>,
  read: (key: Key) => Promise<Value>,
): (key: Key) => Promise<Value> {
  const keptOf = onePer<Key, { version?: number | string | undefined; value?: Promise<Value> | undefined }>(() => ({}));
  return async key => {
    const kept = keptOf(key);
    const version = await versionOf(key);
    if (kept.value === undefined || version === undefined || kept.version !== version) {
      const value = read(key);
      Object.assign(kept, { version, value });
      value.catch(() => {
        if (kept.value === value) kept.value = undefined;
      });
    }
    return kept.value!;
  };
}
