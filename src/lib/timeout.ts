/**
 * Waits for `work`, at most `timeoutMs`. Reports whether it ended in time; work that takes longer continues.
 * @throws the error of the work, if it fails in time
 */
export async function endsWithin(work: Promise<unknown>, timeoutMs: number): Promise<boolean> {
  const timeout = Promise.withResolvers<boolean>();
  const timer = setTimeout(timeout.resolve, timeoutMs, false);
  try {
    return await Promise.race([work.then(() => true), timeout.promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** Waits for `work`, at most `timeoutMs`. Reports whether it succeeded in time; its errors are ignored. */
export function succeedsWithin(work: Promise<unknown>, timeoutMs: number): Promise<boolean> {
  return endsWithin(work, timeoutMs).catch(() => false);
}
