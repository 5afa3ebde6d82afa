import type { SharedBudget } from '../../shared-budget.ts';
import { Problem } from '../problem.ts';
import type { ErrorResponses } from './error-responses.ts';
import type { Exchange } from './exchange.ts';
import { readBody } from './read-body.ts';

/** The memory for bodies that are read whole; several servers can share it. */
export interface BodyBudgets {
  /** By account. */
  readonly bodies: SharedBudget<number>;
  /** The part for visitors without an account, by their network or account of the pages. */
  readonly forms: SharedBudget<string>;
}

/** All visitors without an account share one account of the budget of bodies. */
const VISITORS = 0;
const noBytes = Buffer.alloc(0);

/** The body of a request in memory, until it is disposed. */
export class WholeBody implements Disposable {
  readonly #budgets: BodyBudgets;
  /** The id of an account, or the name of a visitor. */
  readonly #owner: number | string;
  #reserved = 0;

  constructor(budgets: BodyBudgets, owner: number | string) {
    this.#budgets = budgets;
    this.#owner = owner;
  }

  /** @throws {Problem} when the body is larger than `bytesMax`, incomplete, or memory is short */
  async read(
    { request, response }: Pick<Exchange, 'request' | 'response'>,
    bytesMax: number,
    errors: ErrorResponses,
  ): Promise<Buffer> {
    const { 'content-length': declared, 'transfer-encoding': encoding } = request.headers;
    if (encoding === undefined && (declared === undefined || declared === '0')) return noBytes;
    const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
    readBody(
      request,
      response,
      declared,
      bytes => this.#reserve(bytes),
      read => {
        if ('bytes' in read) resolve(read.bytes);
        else if (read.error === 'body_too_large')
          reject(new Problem(read.error, 413, `The body is larger than ${bytesMax / 1024} KiB.`));
        else reject(errors.problem(read.error, read.error === 'overloaded' ? ['Retry-After', '1'] : []));
      },
      bytesMax,
    );
    return await promise;
  }

  [Symbol.dispose](): void {
    const { bodies, forms } = this.#budgets;
    if (this.#reserved === 0) return;
    if (typeof this.#owner === 'number') bodies.release(this.#owner, this.#reserved);
    else {
      forms.release(this.#owner, this.#reserved);
      bodies.release(VISITORS, this.#reserved);
    }
    this.#reserved = 0;
  }

  #reserve(bytes: number): boolean {
    const { bodies, forms } = this.#budgets;
    const owner = this.#owner;
    if (typeof owner === 'string' && !forms.reserve(owner, bytes)) return false;
    const isReserved = bodies.reserve(typeof owner === 'number' ? owner : VISITORS, bytes);
    if (isReserved) this.#reserved += bytes;
    else if (typeof owner === 'string') forms.release(owner, bytes);
    return isReserved;
  }
}
