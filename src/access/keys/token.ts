import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { DeploymentName } from '../../model/schema.ts';

/**
 * The bearer token of an API key: `petstore_live_<id>_<secret><checksum>`, `petstore_test_…` on staging.
 *
 * It has letters, digits and underscores only, so that a double click selects it: a public id of 12 characters, a
 * secret of 33 (196 random bits) and a checksum of 6 (CRC-32 of everything before it), all base62; 66 characters in
 * all.
 */
export interface Token {
  /** The whole token; shown once and never stored. */
  readonly token: string;
  /** The public id, used in lists and logs. */
  readonly id: string;
  /** The hash that is stored instead; see `hashToken`. */
  readonly hash: string;
}

export function newToken(deployment: DeploymentName): Token {
  const id = randomBase62(ID_LENGTH);
  const unchecked = `petstore_${prefixes[deployment]}_${id}_${randomBase62(SECRET_LENGTH)}`;
  const token = unchecked + checksum(unchecked);
  return { token, id, hash: hashToken(token) };
}

/**
 * Returns the deployment and id of a token, or `undefined` if its format or checksum is wrong. This does not prove that
 * the key is valid; only its hash does.
 */
export function parseToken(text: string): { readonly deployment: DeploymentName; readonly id: string } | undefined {
  const match = form.exec(text);
  if (match === null) return undefined;
  if (checksum(text.slice(0, -CHECKSUM_LENGTH)) !== text.slice(-CHECKSUM_LENGTH)) return undefined;
  return { deployment: match[1] === 'live' ? 'production' : 'staging', id: match[2]! };
}

/** Returns the first well-formed token within a text, or `undefined`. */
export function findToken(text: string): string | undefined {
  const found = inText.exec(text)?.[0];
  return found !== undefined && parseToken(found) !== undefined ? found : undefined;
}

/** Returns the SHA-256 of the whole token in base64: 44 characters. A secret of 196 random bits needs no slow hash. */
export function hashToken(token: string): string {
  return hash('sha256', token, 'base64');
}

/** Reports in constant time whether a token has this hash, given as the bytes of its text; see `hashToken`. */
export function matchesHash(token: string, expected: Buffer): boolean {
  // Twice as fast as a digest in a new buffer, whose memory is outside of Node's pool.
  const actual = Buffer.from(hashToken(token), 'latin1');
  return actual.length === expected.length && timingSafeEqual(actual, expected);
}

const prefixes = { production: 'live', staging: 'test' } as const satisfies Record<DeploymentName, string>;

const SECRET_LENGTH = 33;
const CHECKSUM_LENGTH = 6;
const inText = /petstore_(live|test)_([0-9A-Za-z]{12})_[0-9A-Za-z]{39}/;
const form = new RegExp(`^${inText.source}$`);
/** The number of characters of a token, and of the public id in it. */
export const TOKEN_LENGTH = 66;
export const ID_LENGTH = 12;

const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

function checksum(text: string): string {
  let rest = crc32(text);
  let encoded = '';
  for (let place = 0; place < CHECKSUM_LENGTH; place++) {
    encoded = digits[rest % 62]! + encoded;
    rest = Math.floor(rest / 62);
  }
  return encoded;
}

/** Returns random base62 digits. Bytes of 248 (4 × 62) and more are discarded, so every digit is equally likely. */
function randomBase62(length: number): string {
  let text = '';
  while (text.length < length) {
    for (const byte of randomBytes(length)) {
      if (byte < 248 && text.length < length) text += digits[byte % 62];
    }
  }
  return text;
}
