import { createSemaphore } from '../../semaphore.ts';
import { type Fault, RequestError } from './outcome.ts';

/** @param limits.timeoutMs limits the wait for a slot */
export function createRequestSlots(limits: {
  readonly perOrigin: number;
  readonly total: number;
  readonly timeoutMs: number;
}) {
  const semaphore = createSemaphore({ perKey: limits.perOrigin, total: limits.total });
  /** One per request that waits for a connection or runs; it aborts the request. */
  const pendingRequests = new Set<AbortController>();
  let closed = false;

  return {
    /**
     * Runs a request with a connection slot.
     * @param run gets a signal that is aborted with the caller's, and when the slots are closed
     * @throws {RequestError} `busy` or `aborted`; also any error of `run`
     */
    async run<T>(
      origin: string,
      signal: AbortSignal | undefined,
      run: (aborted: AbortSignal) => Promise<T>,
    ): Promise<T> {
      if (closed || signal?.aborted === true) throw new RequestError('aborted');
      const pending = new AbortController();
      const abort = () => pending.abort(new RequestError('aborted'));
      signal?.addEventListener('abort', abort);
      pendingRequests.add(pending);
      const slot = semaphore.acquire(origin);
      try {
        const waited = slot.ready && (await waitFor(slot.ready, pending.signal, limits.timeoutMs));
        const fault = pending.signal.aborted ? 'aborted' : waited;
        if (fault !== undefined) throw new RequestError(fault);
        return await run(pending.signal);
      } finally {
        slot.release();
        pendingRequests.delete(pending);
        signal?.removeEventListener('abort', abort);
      }
    },

    /** Aborts all requests. */
    close(): void {
      closed = true;
      for (const pending of [...pendingRequests]) pending.abort(new RequestError('aborted'));
    },
  };
}

/** Waits until a slot is acquired; returns why it was not. */
async function waitFor(ready: Promise<void>, signal: AbortSignal, timeoutMs: number): Promise<Fault | undefined> {
  const stopped = Promise.withResolvers<Fault>();
  signal.addEventListener('abort', () => stopped.resolve('aborted'));
  const timer = setTimeout(stopped.resolve, timeoutMs, 'busy');
  const fault = await Promise.race([ready.then(() => undefined), stopped.promise]);
  clearTimeout(timer);
  return fault;
}
