import { setTimeout as sleep } from 'node:timers/promises';
import type { Style } from '../../src/cli/command.ts';
import { escapeLine } from '../../src/cli/terminal.ts';
import { UserError } from '../../src/lib/user-error.ts';
import { ConnectionError, PetStore, PetstoreError, RateLimitError, type Time } from '../src/index.ts';
import type { PetstoreEvent } from '../src/types.ts';
import { hiddenTypes } from './hidden-types.ts';
import { apiKey, type ListenIo, type ListenSettings, readSettings, signingSecret } from './input.ts';
import { type Attempt, openReceiver, type Receiver } from './receiver.ts';
import { RETRY_AFTER_MAX, RETRY_JITTER, RETRY_SECONDS } from './retries.ts';

/** What the command did. */
export interface ListenSummary {
  /** The number of events that the receiver accepted. */
  delivered: number;
  /** The number of events that it did not accept. */
  failed: number;
  /** The last of these events; absent if there were none. */
  lastEventId?: string;
}

/**
 * Posts the events of a store to a receiver, one after the other, until the signal is aborted.
 * @param options the options of the command, as typed
 * @throws {UsageError | UserError}
 */
export async function listen(options: Readonly<Record<string, string>>, io: ListenIo): Promise<ListenSummary> {
  const settings = readSettings(options);
  const { url, forwardTo, types, since } = settings;
  const secret = signingSecret(io.environment);
  const receiver = await openReceiver(forwardTo, settings.allowRemote, secret.bytes);
  const key = await apiKey(io);
  const { signal, time = systemTime } = io;
  const summary: ListenSummary = { delivered: 0, failed: 0 };
  try {
    const store = new PetStore({ baseUrl: url, apiKey: key, time, fetch: watchedFetch(settings, io) });
    const hidden = await hiddenTypes(store, types, signal);
    if (hidden !== '') io.print(`The key lacks the scope for these events: ${hidden}.`);
    if (secret.isNew) {
      io.print('The signing secret of this start. Set it for your receiver; also set it here to use it again:');
      io.print(`  export PETSTORE_WEBHOOK_SECRET=${secret.text}`);
    }
    for await (const event of store.streamEvents({ types, after: since }, { signal })) {
      const isDelivered = await deliver(event, receiver, settings.retry, time, io);
      summary[isDelivered ? 'delivered' : 'failed']++;
      summary.lastEventId = event.id;
    }
  } catch (error) {
    if (!signal.aborted) throw failureOf(error, url);
  }
  return summary;
}

/** Posts an event, and with `retry` again until the receiver accepts it. Reports whether it did. */
async function deliver(
  event: PetstoreEvent,
  receiver: Receiver,
  retry: boolean,
  time: Time,
  { print, style, signal }: ListenIo,
): Promise<boolean> {
  for (const seconds of [...(retry ? RETRY_SECONDS : []), undefined]) {
    const attempt = await receiver.post(event, signal);
    signal.throwIfAborted();
    const isLast = attempt.isAccepted || attempt.status === 410 || seconds === undefined;
    const wait = isLast
      ? undefined
      : Math.max(
          seconds * (1 + RETRY_JITTER * time.random()),
          Math.min(attempt.retryAfterSeconds ?? 0, RETRY_AFTER_MAX),
        );
    print(lineOf(event, attempt, wait, style));
    if (wait === undefined) return attempt.isAccepted;
    await time.sleep(wait * 1000, signal);
  }
  return false;
}

/** Returns the line of an attempt: time, type, status, duration, event, and the wait for the next attempt. */
function lineOf({ type, id }: PetstoreEvent, attempt: Attempt, wait: number | undefined, style: Style): string {
  const { status, isAccepted, durationMs } = attempt;
  const outcome = String(status).padEnd(STATUS_WIDTH);
  const words = [
    style.dim(new Date().toTimeString().slice(0, 8)),
    escapeLine(type).padEnd(TYPE_WIDTH),
    isAccepted ? outcome : style.bold(outcome),
    `${Math.round(durationMs)} ms`.padStart(DURATION_WIDTH),
    style.dim(escapeLine(id)),
    ...(wait === undefined ? [] : [`again in ${Math.ceil(wait)} s`]),
  ];
  return words.join('  ');
}

const TYPE_WIDTH = 20;
const STATUS_WIDTH = 7;
const DURATION_WIDTH = 8;

/** Returns a `fetch` that reports when the stream begins, and when the service cannot be reached. */
function watchedFetch({ url, forwardTo }: ListenSettings, { print, printError, signal }: ListenIo): typeof fetch {
  let isOpened = false;
  let isLost = false;
  const report = (reason: string) => {
    if (!isLost && !signal.aborted) printError(escapeLine(`${url}: ${reason}. Trying again …`));
    isLost = true;
  };
  return async (input, init) => {
    const isStream = String(input).startsWith(`${url}/events/stream`);
    if (isStream && isOpened) report('The connection ended');
    let response: Response;
    try {
      response = await fetch(input, init);
      await rejectProxyError(response);
    } catch (error) {
      report(reasonOf(error));
      throw error;
    }
    const wait = response.headers.get('Retry-After');
    if (!response.ok && wait) printError(escapeLine(`${url}: ${response.status}, Retry-After: ${wait} s.`));
    if (isStream && response.ok) {
      print(isOpened ? 'Connected again.' : `Posting events of ${url} to ${forwardTo}. Stop with Ctrl-C.`);
      isOpened = true;
    }
    isLost &&= !response.ok;
    return response;
  };
}

/** Throws for the responses of proxies while the service restarts, so that the client repeats the request. */
async function rejectProxyError({ status, body }: Response): Promise<void> {
  if (![500, 502, 504].includes(status)) return;
  await body?.cancel();
  throw new Error(`The status is ${status}`);
}

/** Returns the reason why a request failed: of several addresses, that of the first. */
function reasonOf(error: unknown): string {
  const { cause, errors, message } = error as Error & { cause?: unknown; errors?: readonly unknown[] };
  const inner = cause ?? errors?.[0];
  return inner === undefined ? message : reasonOf(inner);
}

/** Returns the error of a call as a sentence for the user. */
function failureOf(error: unknown, url: string): unknown {
  if (error instanceof ConnectionError) return new UserError(`${url} cannot be reached: ${reasonOf(error)}.`);
  if (error instanceof RateLimitError) return new UserError(`${error.message} Try again in ${error.retryAfter} s.`);
  if (error instanceof PetstoreError && error.code !== undefined) return new UserError(error.message);
  if (!(error instanceof PetstoreError || error instanceof SyntaxError)) return error;
  return new UserError(`${url} is not the base URL of a store; that ends with /v1.`);
}

const systemTime: Time = {
  now: () => performance.now(),
  random: Math.random,
  // The timers of Node.js remove their listeners from the signal.
  sleep: (ms, signal) => sleep(ms, undefined, signal && { signal }),
};
