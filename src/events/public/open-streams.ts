import { problem } from '../../errors.ts';
import { EventStream, type EventStreamOptions } from './event-stream.ts';

/** The open streams of a deployment on this node, by account. */
export class OpenStreams {
  /** The streams of each account with any, oldest first. */
  readonly #byAccount = new Map<number, Set<EventStream>>();

  /** Returns the number of streams that an account has open. */
  count(accountId: number): number {
    return this.#byAccount.get(accountId)?.size ?? 0;
  }

  /**
   * Opens a stream of an account. At the bound, the oldest stalled stream is closed instead of rejecting the new one: its
   * client has probably vanished.
   * @throws {Problem} `stream_limit_exceeded` if no stream is stalled
   */
  async open(accountId: number, max: number, options: Omit<EventStreamOptions, 'onClose'>): Promise<EventStream> {
    while (this.count(accountId) >= max) {
      const stalled = await this.#oldestStalled(accountId);
      if (stalled === undefined) {
        const message = `The account already has ${max} open event streams; close one of them, or share it.`;
        throw problem('stream_limit_exceeded', message);
      }
      stalled.disconnect();
      this.#remove(accountId, stalled);
    }
    const stream = new EventStream({ ...options, onClose: () => this.#remove(accountId, stream) });
    this.#byAccount.getOrInsertComputed(accountId, () => new Set()).add(stream);
    return stream;
  }

  async #oldestStalled(accountId: number): Promise<EventStream | undefined> {
    for (const stream of this.#byAccount.get(accountId) ?? []) if (await stream.isStalled()) return stream;
    return undefined;
  }

  #remove(accountId: number, stream: EventStream): void {
    const streams = this.#byAccount.get(accountId);
    streams?.delete(stream);
    if (streams?.size === 0) this.#byAccount.delete(accountId);
  }
}
