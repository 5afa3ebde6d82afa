/** A value that is there at once or later; always `await` it. */
export type MaybePromise<T> = T | Promise<T>;
