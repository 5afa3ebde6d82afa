/** Waits for `work` for at most `ms`, and reports whether it succeeded in that time. Errors are ignored. */
export async function succeedsWithin(work: Promise<unknown>, ms: number): Promise<boolean> {
  const late = Promise.withResolvers<boolean>();
  const timer = setTimeout(() => late.resolve(false), ms);
  const ended = work.then(
    () => true,
    () => false,
  );
  try {
    return await Promise.race([ended, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
