import type { Claimed, JobTrace, JobType } from '../../lib/jobs/job-loop.ts';
import { endAfter, type Tracer } from '../../lib/tracing/tracer.ts';

/**
 * Returns a job type that records each claim that finds rows, and each job. A job is in the trace of the request that
 * caused it, if that is known.
 */
export function traceJob<Job, Name extends string>(
  tracer: Tracer,
  deployment: string,
  type: JobType<Job, Name>,
): JobType<Job, Name> {
  const attributes = { 'petstore.deployment': deployment, 'petstore.job': type.name };
  const { init } = type;
  return {
    ...type,
    ...(init && { init: () => tracer.within(undefined, init) }),

    async claim(limit) {
      const span = tracer.start({ name: `${type.name} claim`, kind: 'internal', attributes });
      const claim = () => tracer.within(span, () => type.claim(limit));
      if (span === undefined) return claim();
      return endAfter<Claimed<Job>>(span, async () => {
        const claimed = await claim();
        span.set({ 'petstore.job.rows': claimed.rows });
        if (claimed.rows === 0) span.discard();
        return claimed;
      });
    },

    async run(job, stopping) {
      const trace = await tracer.within(undefined, () => traceOf(type, job));
      const own = { ...attributes, ...trace?.attributes };
      const span = tracer.start({ name: `${type.name} run`, kind: 'internal', attributes: own }, trace?.traceparent);
      const run = () => tracer.within(span, () => type.run(job, stopping));
      return span === undefined ? run() : endAfter(span, run);
    },
  };
}

/** Returns the trace of a job; `undefined` if it cannot be read, because that must not make the job fail. */
async function traceOf<Job>(type: JobType<Job>, job: Job): Promise<JobTrace | undefined> {
  try {
    return await type.traceOf?.(job);
  } catch {
    return undefined;
  }
}
