import type { ResponseStream, ResponseWriter } from '../../lib/http/route.ts';
import type { MaybePromise } from '../../lib/maybe-promise.ts';
import type { Actor } from '../event.ts';
import type { Batch, EventBus, Follower } from '../event-bus.ts';
import type { OwnedEvent } from '../owners.ts';
import { wantedOf } from './list-events.ts';
import { idAt } from './public-event.ts';
import { knows, publicEvent, sees } from './visibility.ts';

/**
 * The events behind a place as server-sent events, and then those that come: each that the actor may see and the types
 * let through, once and in order.
 *
 * It keeps no event: who does not read is written nothing more, and reads the log by himself once he has room again; after
 * 30 seconds without he is cut off. It ends when the caller would not get in any more.
 * @param options.place behind which it begins
 * @param options.released called once, when it is over
 */
export function eventStream(options: {
  readonly hub: EventBus;
  readonly actor: Actor;
  readonly types: readonly string[] | undefined;
  readonly place: number;
  stillAdmitted(): MaybePromise<boolean>;
  released(): void;
}): ResponseStream {
  const { hub, actor, stillAdmitted } = options;
  const wanted = wantedOf(options.types);
  let { place } = options;
  let outlet: ResponseWriter | undefined;
  let leave = () => {};
  let over = false;
  /** Whether it reads by itself, because it is behind. */
  let reading = false;
  let asking = false;
  /** Since when what was written piles up. */
  let fullSinceMs: number | undefined;
  let writtenMs = 0;

  const follower: Follower = {
    take(batch) {
      if (over || reading || fullSinceMs !== undefined || batch.upTo < place) return;
      const allowed = place < batch.after ? undefined : admitted();
      if (allowed === true) deliver(batch);
      else if (allowed === false) finish();
      else catchUp();
    },
    tick() {
      if (over) return;
      const nowMs = performance.now();
      if (fullSinceMs !== undefined && nowMs - fullSinceMs > PATIENCE_MS) {
        outlet?.destroy();
        return;
      }
      const allowed = admitted();
      if (allowed === false) {
        finish();
        return;
      }
      if (fullSinceMs !== undefined) return;
      if (nowMs - writtenMs >= HEARTBEAT_MS) write(`: still here\nid: ${idAt(place)}\n\n`);
      if (place < hub.place) catchUp();
    },
  };

  return {
    begin(to) {
      outlet = to;
      // An id without data tells nothing, and yet is what a client sends when it comes again.
      write(`retry: ${RETRY_MS}\nid: ${idAt(place)}\n\n`);
      leave = hub.follow(follower);
      catchUp();
    },
    drained() {
      fullSinceMs = undefined;
      catchUp();
    },
    closed() {
      over = true;
      leave();
      options.released();
    },
  };

  /** Whether the caller would still get in; `undefined` where that takes time, and is looked after. */
  function admitted(): boolean | undefined {
    try {
      const allowed = stillAdmitted();
      if (!(allowed instanceof Promise)) return allowed;
      if (asking) {
        allowed.catch(() => {});
        return undefined;
      }
      asking = true;
      allowed
        .then(
          is => {
            if (!is) finish();
          },
          () => {},
        )
        .finally(() => {
          asking = false;
        });
      return undefined;
    } catch {
      // Storage cannot say: nothing is told meanwhile.
      return undefined;
    }
  }

  async function catchUp(): Promise<void> {
    if (over || reading || fullSinceMs !== undefined) return;
    reading = true;
    try {
      while (!over && fullSinceMs === undefined) {
        const batch = await hub.behind(place);
        if (batch.upTo <= place) {
          if (place >= hub.place) break;
          continue;
        }
        if (await stillAdmitted()) deliver(batch);
        else finish();
      }
    } catch {
      // Storage refuses for now; the next tick tries again.
    } finally {
      reading = false;
    }
  }

  /** Writes what of a batch stands behind the place, as far as there is room. */
  function deliver({ upTo, events }: Batch): void {
    let parts: Buffer[] = [];
    let bytes = 0;
    for (const event of events) {
      if (over) return;
      if (event.place <= place || !wanted(event) || !sees(actor, event)) continue;
      const message = messageOf(event, knows(actor, event));
      parts.push(message);
      bytes += message.length;
      if (bytes < WRITTEN_AT_ONCE) continue;
      place = event.place;
      if (!write(Buffer.concat(parts))) return;
      parts = [];
      bytes = 0;
    }
    place = Math.max(place, upTo);
    if (parts.length === 1) write(parts[0]!);
    else if (parts.length > 1) write(Buffer.concat(parts));
  }

  function write(bytes: string | Buffer): boolean {
    writtenMs = performance.now();
    if (over || outlet!.write(bytes)) return true;
    fullSinceMs ??= writtenMs;
    return false;
  }

  function finish(): void {
    if (over) return;
    over = true;
    leave();
    outlet?.end();
  }
}

const HEARTBEAT_MS = 15_000;
/** How long what was written may wait for the caller. */
const PATIENCE_MS = 30_000;
/** When a client is to come again after the end. */
const RETRY_MS = 2000;
const WRITTEN_AT_ONCE = 16 * 1024;

const messages = new WeakMap<OwnedEvent, { known?: Buffer; unknown?: Buffer }>();

/** An event as a message; made once for all who are told the same. */
function messageOf(event: OwnedEvent, known: boolean): Buffer {
  const made = messages.get(event) ?? {};
  messages.set(event, made);
  const member = known ? 'known' : 'unknown';
  made[member] ??= Buffer.from(textOf(event, known));
  return made[member];
}

function textOf(event: OwnedEvent, known: boolean): string {
  const told = publicEvent(event, known);
  return `id: ${told.id}\nevent: ${told.type}\ndata: ${JSON.stringify(told)}\n\n`;
}
