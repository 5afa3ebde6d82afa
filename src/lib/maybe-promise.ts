/** A value or a promise of it. `await` it; hot paths first test whether it is a promise. */
export type MaybePromise<T> = T | Promise<T>;
