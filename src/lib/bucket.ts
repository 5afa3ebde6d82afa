import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { AwsV4Signer } from 'aws4fetch';
import { StorageError } from './storage/database.ts';

/** A bucket of S3-compatible storage, and the access key for it. */
export interface BucketSettings {
  /** The URL of the bucket, without a trailing slash: the keys of objects are added to it. */
  readonly url: string;
  readonly region: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

export interface BucketOptions {
  /** The time limit of each request, and of each part of a file that is read. */
  readonly deadlineMs?: number;
  /** The maximum number of requests in progress; further ones are rejected. */
  readonly requestsMax?: number;
}

/** An object in a list. */
export interface ListedObject {
  readonly key: string;
  /** When it was written, in milliseconds since the Unix epoch. */
  readonly modifiedAt: number;
}

interface RequestOptions {
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: Buffer;
  readonly headers?: Readonly<Record<string, string>>;
  /** The error statuses that the caller handles. */
  readonly accepted?: readonly number[];
}

const DEADLINE_MS = 10_000;
const REQUESTS_MAX = 256;
/** The pause before a request that failed is sent once more. */
const RETRY_MS = 200;

/**
 * The objects of a bucket. Keys have only letters, digits, `/`, `.` and `-`.
 *
 * Every method throws a StorageError if the storage cannot be reached, does not respond in time or rejects the request.
 */
export class Bucket {
  readonly url: string;
  readonly #settings: BucketSettings;
  readonly #deadlineMs: number;
  readonly #requestsMax: number;
  #requests = 0;

  constructor(settings: BucketSettings, { deadlineMs = DEADLINE_MS, requestsMax = REQUESTS_MAX }: BucketOptions = {}) {
    this.url = settings.url;
    this.#settings = settings;
    this.#deadlineMs = deadlineMs;
    this.#requestsMax = requestsMax;
  }

  /** Writes an object. @param onlyNew whether to keep an existing object; some storages ignore it */
  async put(key: string, body: Buffer, { onlyNew = false } = {}): Promise<void> {
    const headers = onlyNew ? { 'if-none-match': '*' } : {};
    await this.#exchange('PUT', key, { body, headers, accepted: onlyNew ? [409, 412] : [] });
  }

  /** Returns the size of an object, in bytes; `undefined` if it does not exist. */
  async sizeOf(key: string): Promise<number | undefined> {
    const response = await this.#exchange('HEAD', key, { accepted: [404] });
    if (response.status === 404) return undefined;
    const length = response.headers.get('content-length');
    if (length === null) throw unavailable(`${this.url} does not respond with the size of ${key}.`);
    return Number(length);
  }

  /** Yields an object as it arrives. @throws {StorageError} also if it does not exist */
  async *read(key: string): AsyncGenerator<Buffer> {
    this.#start();
    const late = new AbortController();
    const newTimer = () => setTimeout(() => late.abort(), this.#deadlineMs);
    let timer = newTimer();
    try {
      const response = await this.#send('GET', key, {}, late.signal);
      for await (const chunk of response.body!) {
        // The time limit ends here: the reader may be slow.
        clearTimeout(timer);
        yield Buffer.from(chunk);
        timer = newTimer();
      }
    } catch (error) {
      throw error instanceof StorageError ? error : this.#unreachable(error);
    } finally {
      clearTimeout(timer);
      this.#requests--;
    }
  }

  /** Deletes an object, if it exists. */
  async delete(key: string): Promise<void> {
    await this.#exchange('DELETE', key, { accepted: [404] });
  }

  /** Yields the objects whose keys have a prefix, in pages of at most 1000. */
  async *list(prefix: string): AsyncGenerator<readonly ListedObject[]> {
    let marker: string | undefined = '';
    while (marker !== undefined) {
      const { text } = await this.#exchange('GET', '', { query: { prefix, marker } });
      const page = Array.from(text.matchAll(/<Contents>(.*?)<\/Contents>/gs), ([, entry]) => ({
        key: valueIn(entry!, 'Key')!,
        modifiedAt: Date.parse(valueIn(entry!, 'LastModified')!),
      }));
      yield page;
      marker = valueIn(text, 'IsTruncated') === 'true' ? page.at(-1)?.key : undefined;
    }
  }

  #start(): void {
    if (this.#requests >= this.#requestsMax) {
      throw unavailable(`More than ${this.#requestsMax} requests to ${this.url} are in progress.`);
    }
    this.#requests++;
  }

  /** Sends a request, and reads the whole response. */
  async #exchange(method: string, key: string, options: RequestOptions) {
    this.#start();
    try {
      const response = await this.#send(method, key, options, AbortSignal.timeout(this.#deadlineMs));
      return { status: response.status, headers: response.headers, text: await response.text() };
    } catch (error) {
      throw error instanceof StorageError ? error : this.#unreachable(error);
    } finally {
      this.#requests--;
    }
  }

  /** Sends a request, and repeats it once if the storage fails. Returns the response, whose body the caller reads. */
  async #send(method: string, key: string, options: RequestOptions, signal: AbortSignal): Promise<Response> {
    const attempt = async () => fetch(await this.#sign(method, key, options), { signal, redirect: 'manual' });
    let response = await attempt().catch(error => {
      if (signal.aborted) throw error;
    });
    if (response === undefined || response.status >= 500) {
      await response?.body?.cancel();
      await sleep(RETRY_MS, undefined, { signal });
      response = await attempt();
    }
    if (response.ok || options.accepted?.includes(response.status)) return response;
    const code = valueIn(await response.text(), 'Code');
    const reason = code === undefined ? response.status : `${response.status} ${code}`;
    throw unavailable(`${this.url} responds ${reason} to ${method}${key === '' ? '' : ` ${key}`}.`);
  }

  async #sign(method: string, key: string, { query = {}, body, headers }: RequestOptions): Promise<Request> {
    const url = new URL(key === '' ? this.url : `${this.url}/${key}`);
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
    const digest = createHash('sha256')
      .update(body ?? '')
      .digest('hex');
    const signer = new AwsV4Signer({
      ...{ ...this.#settings, url: url.href, method, service: 's3' },
      headers: { ...headers, 'x-amz-content-sha256': digest },
    });
    const signed = await signer.sign();
    return new Request(signed.url, { method, headers: signed.headers, ...(body && { body: new Uint8Array(body) }) });
  }

  #unreachable(cause: unknown): StorageError {
    const { name, code } = ((cause as Error).cause ?? cause) as NodeJS.ErrnoException;
    const isLate = ['TimeoutError', 'AbortError'].includes((cause as Error).name);
    const reason = isLate ? 'does not respond in time' : `cannot be reached (${code ?? name})`;
    return unavailable(`${this.url} ${reason}.`, cause);
  }
}

function unavailable(message: string, cause?: unknown): StorageError {
  const publicMessage = 'The object storage cannot be used at the moment.';
  return new StorageError('unavailable', message, { publicMessage, cause });
}

/** Returns the text of the first element with this name. Such elements contain no markup. */
function valueIn(xml: string, element: string): string | undefined {
  return new RegExp(`<${element}>([^<]*)</${element}>`).exec(xml)?.[1];
}
