/** Returns a function that creates one value per key, at its first use, and keeps it as long as the key exists. */
export function onePer<Key extends object, Value>(create: () => Value): (key: Key) => Value {
  const values = new WeakMap<Key, Value>();
  return key => values.getOrInsertComputed(key, create);
}
