import { hash, randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { DeploymentName } from '../schema.ts';

/**
 * The secret that a caller sends: `petstore_live_<id>_<secret><checksum>`, `petstore_test_…` on staging.
 *
 * Letters, digits and underscores only, so that a double click selects it. 12 characters of public id, 33 of secret
 * (196 random bits), 6 of checksum (CRC-32 of everything before it), all base62: 66 characters.
 */
export interface Token {
  /** The whole secret; shown once, never stored. */
  readonly token: string;
  /** The public part, by which the key is listed and logged. */
  readonly id: string;
  /** What is stored in its place: see `hashToken`. */
  readonly hash: string;
}

/** A new random token for a deployment. */
export function newToken(deployment: DeploymentName): Token {
  const id = randomBase62(ID_LENGTH);
  const unchecked = `petstore_${words[deployment]}_${id}_${randomBase62(SECRET_LENGTH)}`;
  const token = unchecked + checksum(unchecked);
  return { token, id, hash: hashToken(token) };
}

/**
 * What a well-formed token says about itself, or `undefined` where the form or the checksum is wrong.
 *
 * It proves nothing: whether there is such a key is for the hash to say.
 */
export function parseToken(text: string): { readonly deployment: DeploymentName; readonly id: string } | undefined {
  if (text.length !== TOKEN_LENGTH) return undefined;
  const match = form.exec(text);
  if (match === null) return undefined;
  if (checksum(text.slice(0, -CHECKSUM_LENGTH)) !== text.slice(-CHECKSUM_LENGTH)) return undefined;
  return { deployment: match[1] === 'live' ? 'production' : 'staging', id: match[2]! };
}

/** SHA-256 of the whole token, in base64: 44 characters. A slow hash would add nothing to 196 random bits. */
export function hashToken(token: string): string {
  return hash('sha256', token, 'base64');
}

const words = { production: 'live', staging: 'test' } as const satisfies Record<DeploymentName, string>;

const ID_LENGTH = 12;
const SECRET_LENGTH = 33;
const CHECKSUM_LENGTH = 6;
const TOKEN_LENGTH = 'petstore_live_'.length + ID_LENGTH + '_'.length + SECRET_LENGTH + CHECKSUM_LENGTH;
const form = /^petstore_(live|test)_([0-9A-Za-z]{12})_[0-9A-Za-z]{39}$/;

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

/** Bytes of 248 and more are thrown away: 248 is 4 × 62, so each digit is as likely as any other. */
function randomBase62(length: number): string {
  let text = '';
  while (text.length < length) {
    for (const byte of randomBytes(length)) {
      if (byte < 248 && text.length < length) text += digits[byte % 62];
    }
  }
  return text;
}
