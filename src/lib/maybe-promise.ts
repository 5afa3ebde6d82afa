/** A value or a promise of it; always `await` it. */
export type MaybePromise<T> = T | Promise<T>;
