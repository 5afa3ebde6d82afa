import { timingSafeEqual } from 'node:crypto';
import { ID_LENGTH, TOKEN_LENGTH } from './token.ts';

/** The most headers of one generation. */
const HEADERS_MAX = 5000;
const SCHEME = 'Bearer ';
const HEADER_LENGTH = SCHEME.length + TOKEN_LENGTH;
/** The position of the public id, after the prefix of a token. */
const ID_START = SCHEME.length + 'petstore_live_'.length;
const ID_END = ID_START + ID_LENGTH;

interface AcceptedHeader<Key> {
  readonly bytes: Buffer;
  readonly key: Key;
}

/**
 * The `Authorization` headers that were accepted a moment ago, so that they need not be parsed and hashed again.
 *
 * A header is found by the public id in it, and compared as a whole in constant time: no secret is a key of a table. A
 * header without a use during a whole generation is forgotten.
 */
export class AcceptedHeaders<Key extends { readonly keyId: string }> {
  #young = new Map<string, AcceptedHeader<Key>>();
  #old = new Map<string, AcceptedHeader<Key>>();
  readonly #received = Buffer.alloc(HEADER_LENGTH);

  /** Returns the key for which this header was accepted. The key may have changed since. */
  find(header: string): Key | undefined {
    if (header.length !== HEADER_LENGTH) return undefined;
    const id = header.slice(ID_START, ID_END);
    const young = this.#young.get(id);
    const accepted = young ?? this.#old.get(id);
    if (accepted === undefined) return undefined;
    this.#received.write(header, 'latin1');
    const isEqual = timingSafeEqual(this.#received, accepted.bytes);
    this.#received.fill(0);
    if (!isEqual) return undefined;
    // Only the right secret keeps it in memory.
    if (young === undefined) this.#keep(id, accepted);
    return accepted.key;
  }

  /** Records that a header was accepted. Headers in another form than the usual one are not kept. */
  note(header: string, key: Key): void {
    if (header.length !== HEADER_LENGTH || header.slice(ID_START, ID_END) !== key.keyId) return;
    const bytes = Buffer.alloc(HEADER_LENGTH);
    bytes.write(header, 'latin1');
    this.#keep(key.keyId, { bytes, key });
  }

  /** Begins a generation: forgets what was not used in the last one. */
  beginGeneration(): void {
    for (const [id, accepted] of this.#old) if (this.#young.get(id) !== accepted) accepted.bytes.fill(0);
    this.#old = this.#young;
    this.#young = new Map();
  }

  /** Forgets all headers. */
  clear(): void {
    this.beginGeneration();
    this.beginGeneration();
  }

  #keep(id: string, accepted: AcceptedHeader<Key>): void {
    this.#young.set(id, accepted);
    if (this.#young.size >= HEADERS_MAX) this.beginGeneration();
  }
}
