/** A value that is there at once or later; always `await` it. */
export type Soon<T> = T | Promise<T>;
