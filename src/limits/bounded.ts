/** Waits for `work`, but no longer than `ms`; whether it succeeded in that time. What it throws is let go. */
export async function bounded(work: Promise<unknown>, ms: number): Promise<boolean> {
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
