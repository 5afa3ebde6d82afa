import type { RouteResponse } from '../route.ts';
import { contentEtag } from './conditional.ts';

/**
 * Caches responses in memory for one version of the data.
 *
 * A cached response is valid for the version that it was made from, until the time when that data changes without a
 * write. The cache is bounded in bytes: a new version, or a response that does not fit, clears it.
 */
export class ResponseCache<Key extends string | number> {
  #version: number | undefined;
  #expiresAt = Number.POSITIVE_INFINITY;
  #bytes = 0;
  readonly #responses = new Map<Key, RouteResponse>();

  /** Returns the cached response, or `undefined` if there is none or `version` is undefined. */
  get(version: number | undefined, now: number, key: Key): RouteResponse | undefined {
    if (version === undefined || version !== this.#version || now >= this.#expiresAt) return undefined;
    return this.#responses.get(key);
  }

  /**
   * Stores a response for this version of the data. Returns it with its body as bytes and with an entity tag; it keeps the
   * one that it has.
   * @param expiresAt when the data changes without a write, if ever
   */
  set(version: number | undefined, expiresAt: number | undefined, key: Key, response: RouteResponse): RouteResponse {
    const body = Buffer.from(JSON.stringify(response.body));
    const headers = response.headers ?? [];
    const tag = headers.includes('ETag') ? [] : ['ETag', contentEtag(body, headers)];
    const encoded = { ...response, body, headers: [...headers, ...tag] };
    if (version === undefined) return encoded;
    const size = body.length + OVERHEAD_BYTES + 2 * String(key).length;
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
/** The approximate size of an entry without its body and key: objects and headers, of a list also its links. */
const OVERHEAD_BYTES = 512;
