import type { ResponseStream, ResponseWriter } from '../../lib/http/route.ts';
import type { MaybePromise } from '../../lib/maybe-promise.ts';
import { problem } from '../../model/errors.ts';
import type { Actor } from '../../model/log/event.ts';
import type { Batch, EventBus, Subscriber } from '../../model/log/event-bus.ts';
import type { OwnedEvent } from '../../model/log/owners.ts';
import { eventIdAt } from '../../model/public-event.ts';
import { typeFilter } from './list-events.ts';
import { canSee, publicEvent, type Sight, sightOf } from './visibility.ts';

export interface EventStreamOptions {
  readonly eventBus: Pick<EventBus, 'position' | 'subscribe' | 'readAfter'>;
  readonly actor: Actor;
  readonly types: readonly string[] | undefined;
  /** The position after which the stream starts. */
  readonly position: number;
  /** Reports whether the caller's key is still valid for the stream. */
  isStillAuthorized(): MaybePromise<boolean>;
  /** Called once when the stream has ended. */
  onClose(): void;
}

/**
 * Streams events as server-sent events: those after a position, then new ones as they are recorded. It sends each event
 * that the actor can see and `types` selects, once and in order.
 *
 * It queues no events: while a client does not read, the stream pauses, and then catches up from the log. It
 * disconnects a client that does not read for 30 seconds, and ends when the caller is no longer authorized.
 */
export class EventStream implements ResponseStream, Subscriber {
  readonly #options: EventStreamOptions;
  readonly #isSelected: (event: OwnedEvent) => boolean;
  #position: number;
  #writer: ResponseWriter | undefined;
  #unsubscribe = () => {};
  #ended = false;
  #catchingUp = false;
  #checkingAuthorization = false;
  /** When the client stopped reading; `undefined` while it reads. */
  #blockedSinceMs: number | undefined;
  #lastWriteMs = 0;
  /** The number of bytes written before each of the last two heartbeat intervals. */
  #marks: readonly [before: number | undefined, after: number] = [undefined, 0];
  #markedMs = 0;

  constructor(options: EventStreamOptions) {
    this.#options = options;
    this.#isSelected = typeFilter(options.types);
    this.#position = options.position;
  }

  begin(writer: ResponseWriter): void {
    this.#writer = writer;
    this.#markedMs = performance.now();
    this.#marks = [undefined, writer.bytesWritten];
    // An id without data dispatches no event, but clients send it when they reconnect.
    this.#write(`retry: ${RETRY_MS}\nid: ${eventIdAt(this.#position)}\n\n`);
    this.#unsubscribe = this.#options.eventBus.subscribe(this);
    this.#catchUp();
  }

  drained(): void {
    this.#blockedSinceMs = undefined;
    this.#catchUp();
  }

  closed(): void {
    this.#ended = true;
    this.#unsubscribe();
    this.#options.onClose();
  }

  receive(batch: Batch): void {
    if (this.#ended || this.#catchingUp || this.#isBlocked || batch.upTo < this.#position) return;
    const authorized = this.#position < batch.after ? undefined : this.#isAuthorizedNow();
    if (authorized === true) this.#send(batch);
    else if (authorized === false) this.#end();
    else this.#catchUp();
  }

  tick(): void {
    if (this.#ended) return;
    const nowMs = performance.now();
    if (this.#blockedSinceMs !== undefined && nowMs - this.#blockedSinceMs > BLOCKED_MAX_MS) {
      this.#writer?.destroy();
      return;
    }
    if (this.#isAuthorizedNow() === false) {
      this.#end();
      return;
    }
    if (nowMs - this.#markedMs >= HEARTBEAT_MS) {
      this.#markedMs = nowMs;
      this.#marks = [this.#marks[1], this.#writer!.bytesWritten];
    }
    if (this.#isBlocked) return;
    if (nowMs - this.#lastWriteMs >= HEARTBEAT_MS) this.#write(`: still here\nid: ${eventIdAt(this.#position)}\n\n`);
    if (this.#position < this.#options.eventBus.position) this.#catchUp();
  }

  /** Reports whether the client has acknowledged no byte written in the last two heartbeat intervals. */
  async isStalled(): Promise<boolean> {
    const [before, after] = this.#marks;
    if (this.#ended || before === undefined || after === before) return false;
    const acknowledged = await this.#writer!.bytesAcknowledged();
    return acknowledged !== undefined && acknowledged <= before;
  }

  /** Closes the connection. */
  disconnect(): void {
    this.#ended = true;
    this.#unsubscribe();
    this.#writer?.destroy();
  }

  get #isBlocked(): boolean {
    return this.#blockedSinceMs !== undefined;
  }

  /** Reports whether the caller is authorized; `undefined` while the check runs or storage is unavailable. */
  #isAuthorizedNow(): boolean | undefined {
    try {
      const authorized = this.#options.isStillAuthorized();
      if (!(authorized instanceof Promise)) return authorized;
      this.#endUnless(authorized);
    } catch {
      // Storage is unavailable: the stream pauses.
    }
    return undefined;
  }

  async #endUnless(authorized: Promise<boolean>): Promise<void> {
    const isFirst = !this.#checkingAuthorization;
    this.#checkingAuthorization = true;
    try {
      if (!(await authorized) && isFirst) this.#end();
    } catch {
      // Storage is unavailable: the next tick checks again.
    } finally {
      if (isFirst) this.#checkingAuthorization = false;
    }
  }

  async #catchUp(): Promise<void> {
    if (this.#ended || this.#catchingUp || this.#isBlocked) return;
    const { eventBus, isStillAuthorized } = this.#options;
    this.#catchingUp = true;
    try {
      while (!this.#ended && !this.#isBlocked) {
        const batch = await eventBus.readAfter(this.#position);
        if (batch.upTo > this.#position) {
          if (await isStillAuthorized()) this.#send(batch);
          else this.#end();
        } else if (this.#position >= eventBus.position) break;
      }
    } catch {
      // Storage is unavailable: the next tick tries again.
    } finally {
      this.#catchingUp = false;
    }
  }

  /** Sends the events of a batch after the position, until the client stops reading. */
  #send({ upTo, events }: Batch): void {
    let messages: Buffer[] = [];
    let bytes = 0;
    for (const event of events) {
      if (this.#ended) return;
      if (!this.#isWanted(event)) continue;
      const message = messageOf(event, sightOf(this.#options.actor, event));
      messages.push(message);
      bytes += message.length;
      if (bytes < WRITE_BYTES) continue;
      this.#position = event.position;
      if (!this.#write(Buffer.concat(messages))) return;
      messages = [];
      bytes = 0;
    }
    this.#position = Math.max(this.#position, upTo);
    if (messages.length > 0) this.#write(messages.length === 1 ? messages[0]! : Buffer.concat(messages));
  }

  #isWanted(event: OwnedEvent): boolean {
    return event.position > this.#position && this.#isSelected(event) && canSee(this.#options.actor, event);
  }

  /** Returns false if the client has stopped reading. */
  #write(bytes: string | Buffer): boolean {
    this.#lastWriteMs = performance.now();
    if (this.#ended || this.#writer!.write(bytes)) return true;
    this.#blockedSinceMs ??= this.#lastWriteMs;
    return false;
  }

  #end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#unsubscribe();
    this.#writer?.end();
  }
}

export const HEARTBEAT_MS = 15_000;
/** How long a client may stop reading. */
export const BLOCKED_MAX_MS = 30_000;
/** The reconnection delay of clients. */
const RETRY_MS = 2000;
const WRITE_BYTES = 16 * 1024;

const cachedMessages = new WeakMap<OwnedEvent, { [S in Sight]?: Buffer }>();

/** Returns the message of an event, encoded once for all streams with the same view of it. */
function messageOf(event: OwnedEvent, sight: Sight): Buffer {
  const cached = cachedMessages.get(event) ?? {};
  cachedMessages.set(event, cached);
  if (cached[sight] === undefined) {
    const shown = publicEvent(event, sight);
    cached[sight] = Buffer.from(`id: ${shown.id}\nevent: ${shown.type}\ndata: ${JSON.stringify(shown)}\n\n`);
  }
  return cached[sight];
}

/** The open streams of a deployment on this node, by account. */
export class OpenStreams {
  /** The open streams of each account, oldest first. */
  readonly #byAccount = new Map<number, Set<EventStream>>();

  /** Returns the number of streams that an account has open. */
  count(accountId: number): number {
    return this.#byAccount.get(accountId)?.size ?? 0;
  }

  /**
   * Opens a stream of an account. At the bound, the oldest stalled stream is closed instead of rejecting the new one:
   * its client has probably disconnected.
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
