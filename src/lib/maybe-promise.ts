/** A value or a promise of it. `await` it, except on hot paths, which test for a promise first. */
export type MaybePromise<T> = T | Promise<T>;
