import type { Answer } from './route.ts';

/**
 * Finished answers, kept while nothing changes: the same page asked for again costs a look-up.
 *
 * A kept answer is good only for the version of the data that it was made from; the first question about another
 * version drops them all. Bounded in bytes: what does not fit drops them all too.
 */
export class KeptAnswers {
  #version: number | undefined;
  #bytes = 0;
  readonly #answers = new Map<string, Answer>();

  /** The answer kept for this question about this version. `undefined` as a version is never kept. */
  get(version: number | undefined, question: string): Answer | undefined {
    if (version === undefined || version !== this.#version) return undefined;
    return this.#answers.get(question);
  }

  /** Keeps an answer, made whole from this version, and gives it back with its body as bytes. */
  keep(version: number | undefined, question: string, answer: Answer): Answer {
    const body = Buffer.from(JSON.stringify(answer.body));
    const finished = { ...answer, body };
    if (version === undefined) return finished;
    const size = body.length + OVERHEAD_BYTES + 2 * question.length;
    if (version !== this.#version || this.#bytes + size > BYTES_MAX) {
      this.#answers.clear();
      this.#version = version;
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
