import { createHash } from 'node:crypto';
import { createClient, ErrorReply } from '@redis/client';
import type { Histogram } from '../../lib/histogram.ts';
import { succeedsWithin } from '../../lib/timeout.ts';

/** How long to wait for a reply: the acceptable delay of a single request. */
const CALL_MS = 250;
const CONNECT_MS = 1000;

/** A connection to Valkey or Redis. It cannot be used again once it is lost. */
export interface Valkey {
  /**
   * Runs a script in one round trip; calls in the same turn of the event loop are pipelined. The promise settles within
   * `callMs`. A rejected call may have run.
   */
  run<Result>(script: string, keys: readonly string[], args: readonly (string | number)[]): Promise<Result>;
  /**
   * Returns the `maxmemory-policy` of the server; `noeviction` also if its memory is unbounded. `undefined` if this
   * user may not read it.
   */
  evictionPolicy(): Promise<string | undefined>;
  /** Closes the connection immediately. */
  close(): void;
}

/**
 * Connects within a second.
 * @param onLost called once when the connection ends or a reply is late; not for `close`
 * @param options.callMs how long to wait for a reply
 * @param options.durations gets the duration of each call, in seconds
 * @throws when the connection fails
 */
export async function connectValkey(
  url: string,
  onLost: (error: Error) => void,
  { callMs = CALL_MS, durations }: { readonly callMs?: number; readonly durations?: Histogram } = {},
): Promise<Valkey> {
  const client = createClient({
    url: url.replace(/^valkey(s?):/, 'redis$1:'),
    socket: { connectTimeout: CONNECT_MS, reconnectStrategy: false, keepAlive: true, noDelay: true },
    disableOfflineQueue: true,
    maintNotifications: 'disabled',
    disableClientInfo: true,
    RESP: 2,
  });
  let failure: Error | undefined;
  let open = true;

  function lose(error: Error) {
    failure ??= error;
    if (!open) return;
    close();
    onLost(error);
  }
  function close() {
    open = false;
    if (client.isOpen) client.destroy();
  }

  client.on('error', lose);
  const connected = client.connect();
  if (!(await succeedsWithin(connected, CONNECT_MS))) {
    close();
    throw failure ?? new Error('Valkey does not respond');
  }
  client.on('end', () => lose(new Error('the connection was closed')));

  /** Waits for a reply for at most `callMs`; then the connection counts as lost. */
  async function inTime<Result>(call: () => Promise<unknown>): Promise<Result> {
    let answered = false;
    const startedMs = performance.now();
    const late = () => {
      if (!answered) lose(new Error('Valkey does not respond in time'));
    };
    // If this process was busy, the reply may have arrived unread: it is handled before `late`.
    const timer = setTimeout(() => setImmediate(late), callMs);
    try {
      return (await call()) as Result;
    } catch (error) {
      lose(error as Error);
      throw error;
    } finally {
      answered = true;
      clearTimeout(timer);
      durations?.observe((performance.now() - startedMs) / 1000);
    }
  }

  return {
    run<Result>(script: string, keys: readonly string[], args: readonly (string | number)[]): Promise<Result> {
      const rest = [String(keys.length), ...keys, ...args.map(String)];
      return inTime(() =>
        client.sendCommand(['EVALSHA', hashOf(script), ...rest]).catch(error => {
          if (!String(error).includes('NOSCRIPT')) throw error;
          return client.sendCommand(['EVAL', script, ...rest]);
        }),
      );
    },
    async evictionPolicy() {
      const info = await inTime<string | undefined>(() =>
        client.sendCommand(['INFO', 'memory']).catch(error => {
          if (!(error instanceof ErrorReply)) throw error;
          return undefined;
        }),
      );
      // A managed service may omit this line.
      const bytes = /^maxmemory:(\d+)/m.exec(info ?? '')?.[1];
      return bytes === '0' ? 'noeviction' : /^maxmemory_policy:(\S+)/m.exec(info ?? '')?.[1];
    },
    close,
  };
}

const hashes = new Map<string, string>();

function hashOf(script: string): string {
  const hash = hashes.get(script) ?? createHash('sha1').update(script).digest('hex');
  hashes.set(script, hash);
  return hash;
}
