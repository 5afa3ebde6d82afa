import type { Log } from '../../lib/log.ts';
import { UserError } from '../../lib/user-error.ts';
import type { Valkey } from './valkey.ts';

/** Rejects Valkey servers that would evict counts before they expire. Logs each problem once. */
export class EvictionCheck {
  readonly #host: string;
  readonly #log: Log;
  #reported: 'unknown' | 'evicts' | undefined;

  constructor(url: string, log: Log) {
    this.#host = new URL(url).host;
    this.#log = log;
  }

  /** @throws {UserError} if the server evicts keys. Logs a warning if the policy is unknown */
  async require(valkey: Valkey): Promise<void> {
    const policy = await valkey.evictionPolicy();
    if (policy !== undefined && policy !== 'noeviction') {
      throw new UserError(
        `The Valkey server at ${this.#host} evicts keys when its memory is full (maxmemory-policy ${policy}), and request counts with them: set its maxmemory-policy to noeviction.`,
      );
    }
    if (policy === undefined && this.#reported !== 'unknown') {
      this.#log.warn(
        `The Valkey server at ${this.#host} does not show its maxmemory-policy: make sure that it is noeviction, or request counts may be lost.`,
      );
    }
    this.#reported = policy === undefined ? 'unknown' : undefined;
  }

  /** Logs the error of `require` when a node reconnects; ignores other errors. */
  report(error: unknown): void {
    if (!(error instanceof UserError) || this.#reported === 'evicts') return;
    this.#reported = 'evicts';
    this.#log.error(`${error.message} Until then this node counts alone.`);
  }
}
