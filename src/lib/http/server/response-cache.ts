import type { RouteResponse } from '../route.ts';
import { etagOf } from './conditional.ts';

/**
 * Finished answers, kept while nothing changes: the same page asked for again costs a look-up.
 *
 * A kept answer is good only for the version of the data that it was made from, and only until the moment at which the
 * data changes by itself; the first question about another version, or after that moment, drops them all. Bounded in
 * bytes: what does not fit drops them all too.
 */
export class ResponseCache {
  #version: number | undefined;
  #until = Number.POSITIVE_INFINITY;
  #bytes = 0;
  readonly #answers = new Map<string, RouteResponse>();

  /** The answer kept for this question about this version. `undefined` as a version is never kept. */
  get(version: number | undefined, now: number, question: string): RouteResponse | undefined {
    if (version === undefined || version !== this.#version || now >= this.#until) return undefined;
    return this.#answers.get(question);
  }

  /**
   * Keeps an answer, made whole from this version, and gives it back with its body as bytes and its entity tag.
   * @param until when the data of this version changes by itself; `undefined` where it does not
   */
  keep(version: number | undefined, until: number | undefined, question: string, answer: RouteResponse): RouteResponse {
    const body = Buffer.from(JSON.stringify(answer.body));
    const headers = answer.headers ?? [];
    const finished = { ...answer, body, headers: [...headers, 'ETag', etagOf(body, headers)] };
    if (version === undefined) return finished;
    const size = body.length + OVERHEAD_BYTES + 2 * question.length;
    const end = until ?? Number.POSITIVE_INFINITY;
    if (version !== this.#version || end !== this.#until || this.#bytes + size > BYTES_MAX) {
      this.#answers.clear();
      this.#version = version;
      this.#until = end;
      this.#bytes = 0;
    }
    this.#bytes += size;
    this.#answers.set(question, finished);
    return finished;
  }
}

const BYTES_MAX = 8 * 1024 * 1024;
/** Roughly what an entry and its headers take beside its bytes. */
const OVERHEAD_BYTES = 1024;
