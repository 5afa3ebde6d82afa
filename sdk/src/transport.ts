import { ConnectionError, errorOf, PetstoreError, RateLimitError } from './errors.ts';

/** The options of a client. Times are in seconds. */
export interface ClientOptions {
  /** Where the API is, such as `https://staging.example.org/v1`. */
  readonly baseUrl: string;
  /** The API key. Never put a secret key into a web page. */
  readonly apiKey: string;
  /** The time limit of one try; 30 by default. For exports and streams it ends with the head of the response. */
  readonly timeout?: number | undefined;
  /** How often a call is repeated; 5 by default. */
  readonly maxRetries?: number | undefined;
  /** The longest wait that the client accepts from `Retry-After`; 60 by default. */
  readonly maxWait?: number | undefined;
  /** Replaces the `fetch` of the platform. */
  readonly fetch?: typeof fetch | undefined;
  /** Replaces the clock of the platform, for tests. */
  readonly time?: Time | undefined;
}

/** The options of a call. */
export interface RequestOptions extends Pick<ClientOptions, 'timeout' | 'maxRetries' | 'maxWait'> {
  /** Ends the call, with all its tries. */
  readonly signal?: AbortSignal | undefined;
  /**
   * The `Idempotency-Key` of a POST or PATCH; by default a new one for each call. `null` sends none: then the call is not
   * repeated.
   */
  readonly idempotencyKey?: string | null | undefined;
  /** Changes the resource only if this is its `etag`; otherwise the call fails with `precondition_failed`. */
  readonly ifMatch?: string | undefined;
  /** Fails with status 304 if this is the `etag` of the resource. */
  readonly ifNoneMatch?: string | undefined;
  /** Requests the `total` of a page. */
  readonly total?: boolean | undefined;
  /** More request headers. */
  readonly headers?: Readonly<Record<string, string | undefined>> | undefined;
}

/** A clock, with times in milliseconds. */
export interface Time {
  now(): number;
  /** Resolves after a time; rejects once the signal is aborted. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Returns a number from 0 to less than 1. */
  random(): number;
}

/** What `fetch` takes as a body. */
export type FetchBody = NonNullable<RequestInit['body']>;

/** The body of a request. */
export interface RequestBody {
  readonly type: string;
  /** Returns the body, for each try. */
  open(): FetchBody | Promise<FetchBody>;
  /** Whether the body can be read only once. */
  readonly once?: boolean;
}

/** A request, without what every request has. */
export interface Outgoing {
  readonly method: string;
  /** The path below the base URL, with its query. */
  readonly path: string;
  readonly body?: RequestBody | undefined;
  /** Whether the caller reads the body of the response. */
  readonly streams?: boolean;
}

/** A successful response. */
export interface Incoming {
  readonly response: Response;
  /** The body; absent if the caller reads it. */
  readonly text?: string;
}

/** The longest random wait that is added before the first repetition; it doubles with each try. */
const JITTER_MS = 1000;
const JITTER_MS_MAX = 30_000;

/** Sends requests, with time limits and retries. A 429 holds all requests of the instance back. */
export class Transport {
  readonly time: Time;
  readonly #options: ClientOptions;
  readonly #baseUrl: string;
  /** The 429 that holds requests back, and until when. */
  #pause: { readonly until: number; readonly error: PetstoreError } | undefined;

  constructor(options: ClientOptions) {
    this.#options = options;
    this.#baseUrl = new URL(options.baseUrl).href.replace(/\/+$/, '');
    this.time = options.time ?? systemTime;
  }

  /** Returns the first successful response. @throws {PetstoreError} */
  async send(outgoing: Outgoing, options: RequestOptions): Promise<Incoming> {
    const { signal, maxRetries = this.#options.maxRetries ?? 5, maxWait = this.#options.maxWait ?? 60 } = options;
    const headers = headersOf(outgoing, options, this.#options.apiKey);
    const triesMax = isRepeatable(outgoing, headers) ? 1 + maxRetries : 1;
    for (let tries = 1; ; tries++) {
      await this.#pauseEnd(maxWait, signal);
      const outcome = await this.#try(outgoing, headers, options);
      if (!(outcome instanceof PetstoreError)) return outcome;
      const { status, retryAfter = 0 } = outcome;
      if (status === 429) this.#holdBack(outcome, retryAfter);
      if (isTemporary(outcome) && retryAfter > maxWait) throw rateLimited(outcome, retryAfter);
      if (tries >= triesMax || !isTemporary(outcome)) throw outcome;
      await this.#sleep(retryAfter * 1000, tries, signal);
    }
  }

  /** Returns the successful response, or the error if it failed. */
  async #try(
    { method, path, body, streams }: Outgoing,
    headers: Headers,
    { signal, timeout = this.#options.timeout ?? 30 }: RequestOptions,
  ): Promise<Incoming | PetstoreError> {
    const content = await body?.open();
    const { fetch: send = fetch } = this.#options;
    const [late, done] = [new AbortController(), new AbortController()];
    this.time.sleep(timeout * 1000, done.signal).then(
      () => late.abort(new Error(`No response in ${timeout} s`)),
      () => {},
    );
    try {
      const response = await send(this.#baseUrl + path, {
        ...{ method, headers, redirect: 'manual', signal: AbortSignal.any([late.signal, signal ?? late.signal]) },
        ...(content !== undefined && { body: content, duplex: 'half' }),
      });
      if (!response.ok) return await errorOf(response);
      return streams ? { response } : { response, text: await response.text() };
    } catch (cause) {
      signal?.throwIfAborted();
      return new ConnectionError(String((cause as Error).cause ?? cause), { cause });
    } finally {
      done.abort();
    }
  }

  #holdBack(error: PetstoreError, seconds: number): void {
    const until = this.time.now() + seconds * 1000;
    if (!this.#pause || until > this.#pause.until) this.#pause = { until, error };
  }

  /** Resolves once no 429 holds requests back. */
  async #pauseEnd(maxWait: number, signal: AbortSignal | undefined): Promise<void> {
    while (this.#pause) {
      const { until, error } = this.#pause;
      const left = until - this.time.now();
      if (left <= 0) return;
      if (left > maxWait * 1000) throw rateLimited(error, Math.ceil(left / 1000));
      await this.#sleep(left, 1, signal);
    }
  }

  /** Waits at least so many milliseconds, as timers can be early, and a random time that doubles with each try. */
  async #sleep(ms: number, tries: number, signal: AbortSignal | undefined): Promise<void> {
    const { time } = this;
    const wait = ms + time.random() * Math.min(JITTER_MS_MAX, JITTER_MS * 2 ** (tries - 1));
    const until = time.now() + wait;
    for (let left = wait; left > 0; left = until - time.now()) await time.sleep(left, signal);
  }
}

const IDEMPOTENCY_KEY = 'Idempotency-Key';

function headersOf(outgoing: Outgoing, options: RequestOptions, apiKey: string): Headers {
  const { idempotencyKey = randomKey(), ifMatch, ifNoneMatch, total } = options;
  const named = {
    Authorization: `Bearer ${apiKey}`,
    'Content-Type': outgoing.body?.type,
    [IDEMPOTENCY_KEY]: takesKey(outgoing) && idempotencyKey,
    'If-Match': ifMatch,
    'If-None-Match': ifNoneMatch,
    Prefer: total && 'count=exact',
    ...options.headers,
  };
  const headers = new Headers();
  // A later name replaces an earlier one in another case.
  for (const [name, value] of Object.entries(named)) if (value) headers.set(name, value);
  return headers;
}

function rateLimited(cause: PetstoreError, retryAfter: number): RateLimitError {
  return new RateLimitError(cause.message, { ...cause, retryAfter, cause });
}

/** Reports whether a request takes an `Idempotency-Key`, without which it must not be repeated. */
function takesKey({ method }: Pick<Outgoing, 'method'>): boolean {
  return /^p(ost|atch)$/i.test(method);
}

function isRepeatable(outgoing: Outgoing, headers: Headers): boolean {
  return !outgoing.body?.once && (!takesKey(outgoing) || headers.has(IDEMPOTENCY_KEY));
}

/** Reports whether the same request can succeed later. */
function isTemporary({ status, code }: PetstoreError): boolean {
  return (
    code === 'idempotency_key_in_use' || ([undefined, 408, 429, 503].includes(status) && code !== 'api_key_banned')
  );
}

/** Returns 128 random bits. `crypto.randomUUID` is missing on pages without TLS. */
function randomKey(): string {
  return crypto.getRandomValues(new BigUint64Array(2)).join('-');
}

/** The longest time of a timer. Longer ones end at once. */
const TIMER_MS_MAX = 2 ** 31 - 1;

const systemTime: Time = {
  now: () => performance.now(),
  random: Math.random,
  sleep: (ms, signal) =>
    new Promise((resolve, reject) => {
      signal?.throwIfAborted();
      const abort = () => {
        clearTimeout(timer);
        reject(signal!.reason);
      };
      const end = () => {
        signal?.removeEventListener('abort', abort);
        resolve();
      };
      const timer = setTimeout(end, Math.min(ms, TIMER_MS_MAX));
      signal?.addEventListener('abort', abort);
    }),
};
