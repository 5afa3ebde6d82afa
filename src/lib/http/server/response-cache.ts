import type { RouteResponse } from '../route.ts';
import { contentEtag } from './conditional.ts';
import { JsonText } from './json.ts';

/**
 * Caches responses in memory for one version of the data.
 *
 * A cached response is valid for the version that it was made from, until the time when its data changes without a
 * write. The cache is bounded: a new version, or a response that does not fit, clears it.
 */
export class ResponseCache<Key extends string | number> {
  #version: number | undefined;
  #size = 0;
  readonly #cached = new Map<Key, { readonly response: RouteResponse; readonly expiresAt: number }>();

  /** Returns the cached response, or `undefined` if there is none or `version` is undefined. */
  get(version: number | undefined, now: number, key: Key): RouteResponse | undefined {
    if (version === undefined || version !== this.#version) return undefined;
    const cached = this.#cached.get(key);
    return cached !== undefined && now < cached.expiresAt ? cached.response : undefined;
  }

  /**
   * Stores a response for this version of the data. Returns it with its body as text and with an entity tag; it keeps the
   * one that it has.
   * @param expiresAt when the data changes without a write, if ever
   */
  set(version: number | undefined, expiresAt: number | undefined, key: Key, response: RouteResponse): RouteResponse {
    const text = JSON.stringify(response.body);
    const headers = response.headers ?? [];
    const tag = headers.includes('ETag') ? [] : ['ETag', contentEtag(text, headers)];
    const encoded = { ...response, body: new JsonText(text), headers: headers.concat(tag) };
    if (version === undefined) return encoded;
    const size = text.length + OVERHEAD + 2 * String(key).length;
    if (version !== this.#version || this.#size + size > SIZE_MAX) {
      this.#cached.clear();
      this.#version = version;
      this.#size = 0;
    }
    this.#size += size;
    this.#cached.set(key, { response: encoded, expiresAt: expiresAt ?? Number.POSITIVE_INFINITY });
    return encoded;
  }
}

/** Texts count with their characters: each takes one byte, or two if the text has one beyond Latin-1. */
const SIZE_MAX = 8 * 1024 * 1024;
/** The approximate size of an entry without its body and key: objects and headers, of a list also its links. */
const OVERHEAD = 512;
