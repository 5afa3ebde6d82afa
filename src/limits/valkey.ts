import { createHash } from 'node:crypto';
import { createClient } from '@redis/client';
import { bounded } from './bounded.ts';
import type { Script } from './shared-scripts.ts';

/** How long an answer is waited for: what a request can bear once. */
const CALL_MS = 250;
const CONNECT_MS = 1000;

/** One connection to Valkey or Redis; once lost it is never used again. */
export interface Valkey {
  /**
   * Runs a script in one round trip; calls of one turn of the event loop travel together. It is answered or rejected
   * within `callMs`. Whether a call that was rejected took place is not known.
   */
  run<Answer>(script: Script, keys: readonly string[], args: readonly (string | number)[]): Promise<Answer>;
  /** Lets go of the connection at once. */
  close(): void;
}

/**
 * Connects, within a second.
 * @param onLost called once when the connection ends or an answer does not come in time; not for `close`
 * @param callMs how long an answer is waited for
 * @throws when there is no connection to be had
 */
export async function connectValkey(url: string, onLost: (error: Error) => void, callMs = CALL_MS): Promise<Valkey> {
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
  if (!(await bounded(connected, CONNECT_MS))) {
    open = false;
    if (client.isOpen) client.destroy();
    throw failure ?? new Error('Valkey does not answer');
  }
  client.on('end', () => lose(new Error('the connection ended')));

  return {
    async run<Answer>(script: Script, keys: readonly string[], args: readonly (string | number)[]): Promise<Answer> {
      let answered = false;
      const late = () => {
        if (!answered) lose(new Error('Valkey does not answer in time'));
      };
      // Where this process was busy itself, the answer may be there and not be read yet: it is before `late`.
      const timer = setTimeout(() => setImmediate(late), callMs);
      const rest = [String(keys.length), ...keys, ...args.map(String)];
      try {
        return (await client.sendCommand(['EVALSHA', hashOf(script), ...rest]).catch(error => {
          if (!String(error).includes('NOSCRIPT')) throw error;
          return client.sendCommand(['EVAL', script.text, ...rest]);
        })) as Answer;
      } catch (error) {
        lose(error as Error);
        throw error;
      } finally {
        answered = true;
        clearTimeout(timer);
      }
    },
    close,
  };
}

const hashes = new WeakMap<Script, string>();

function hashOf(script: Script): string {
  let hash = hashes.get(script);
  if (hash === undefined) {
    hash = createHash('sha1').update(script.text).digest('hex');
    hashes.set(script, hash);
  }
  return hash;
}
