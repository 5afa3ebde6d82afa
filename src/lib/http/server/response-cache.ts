import type { RouteResponse } from '../route.ts';
import { contentEtag } from './conditional.ts';

/**
 * Caches responses in memory for one version of the data.
 *
 * A cached response is valid for the version that it was made from, until the time when that data changes without a
 * write. The cache is bounded in bytes: a new version, or a response that does not fit, clears it.
 */
export class ResponseCache {
  #version: number | undefined;
  #expiresAt = Number.POSITIVE_INFINITY;
  #bytes = 0;
  readonly #responses = new Map<string, RouteResponse>();

  /** Returns the cached response, or `undefined` if there is none or `version` is undefined. */
  get(version: number | undefined, now: number, key: string): RouteResponse | undefined {
    if (version === undefined || version !== this.#version || now >= this.#expiresAt) return undefined;
    return this.#responses.get(key);
  }

  /**
   * Stores a response for this version of the data. Returns it with its body as bytes and its entity tag.
   * @param expiresAt when the data changes without a write, if ever
   */
  set(version: number | undefined, expiresAt: number | undefined, key: string, response: RouteResponse): RouteResponse {
    const body = Buffer.from(JSON.stringify(response.body));
    const headers = response.headers ?? [];
    const encoded = { ...response, body, headers: [...headers, 'ETag', contentEtag(body, headers)] };
    if (version === undefined) return encoded;
    const size = body.length + OVERHEAD_BYTES + 2 * key.length;
    const end = expiresAt ?? Number.POSITIVE_INFINITY;
    if (version !== this.#version || end !== this.#expiresAt || this.#bytes + size > BYTES_MAX) {
      this.#responses.clear();
      this.#version = version;
      this.#expiresAt = end;
      this.#bytes = 0;
    }
    this.#bytes += size;
    this.#responses.set(key, encoded);
    return encoded;
  }
}

const BYTES_MAX = 8 * 1024 * 1024;
/** The approximate size of an entry without its body. */
const OVERHEAD_BYTES = 1024;
