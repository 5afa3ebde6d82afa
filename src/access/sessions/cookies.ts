import { createHmac, hash, randomBytes, timingSafeEqual } from 'node:crypto';
import { isSecret, SESSION_MS } from './session.ts';

/**
 * The cookies of an address. Browsers share cookies between ports, so the names contain a hash of the public URL:
 * addresses on one host do not share or overwrite them.
 */
export interface CookieNames {
  /** The cookie with the secret of a session. */
  readonly session: string;
  /** The cookie with the secret of a sign-in that waits for a second factor. */
  readonly signIn: string;
  /** The cookie with a random secret. The form tokens of visitors without a session derive from it. */
  readonly visitor: string;
  /** The cookie that proves an earlier sign-in of a person from this browser; see `known-browser.ts`. */
  readonly known: string;
}

/** @param publicUrl the public URL of the address, without a trailing slash */
export function cookieNames(publicUrl: string): CookieNames {
  const suffix = hash('sha256', publicUrl, 'hex').slice(0, 8);
  return {
    session: `__Host-petstore-session-${suffix}`,
    signIn: `__Host-petstore-sign-in-${suffix}`,
    visitor: `__Host-petstore-visitor-${suffix}`,
    known: `__Host-petstore-known-${suffix}`,
  };
}

/** Returns the value of a cookie in a `Cookie` header; `undefined` if it is absent or malformed. */
export function cookieOf(header: string | undefined, name: string): string | undefined {
  const found = header?.split(';').find(pair => pair.trim().startsWith(`${name}=`));
  const value = found?.slice(found.indexOf('=') + 1).trim();
  return value !== undefined && isSecret(value) ? value : undefined;
}

/**
 * Returns the `Set-Cookie` header that stores a secret, by default for the maximum life of a session. `__Host-` requires
 * the attributes.
 */
export function setCookie(name: string, secret: string, forMs: number = SESSION_MS): string {
  return `${name}=${secret}; Path=/; Max-Age=${forMs / 1000}; ${attributes}`;
}

export function clearCookie(name: string): string {
  return `${name}=; Path=/; Max-Age=0; ${attributes}`;
}

const attributes = 'Secure; HttpOnly; SameSite=Lax';

/**
 * Returns the token that forms of a visitor contain with a mask. It derives from the secret of a cookie, and does not
 * reveal it.
 */
export function formTokenOf(secret: string): string {
  return createHmac('sha256', secret).update('form').digest('base64url');
}

/**
 * Returns the token with a random mask, so that it differs in each response. Otherwise a compressed page that repeats
 * parts of a request could reveal it (BREACH).
 */
export function maskedTokenOf(secret: string): string {
  const mask = randomBytes(TOKEN_BYTES);
  return Buffer.concat([mask, xor(mask, Buffer.from(formTokenOf(secret), 'base64url'))]).toString('base64url');
}

/** Reports in constant time whether a form has the token of a secret, with or without a mask. */
export function isFormToken(token: string | null, secret: string | undefined): boolean {
  if (token === null || secret === undefined) return false;
  const sent = Buffer.from(token, 'base64url');
  const isMasked = sent.length === 2 * TOKEN_BYTES;
  const actual = isMasked ? xor(sent.subarray(0, TOKEN_BYTES), sent.subarray(TOKEN_BYTES)) : sent;
  return actual.length === TOKEN_BYTES && timingSafeEqual(actual, Buffer.from(formTokenOf(secret), 'base64url'));
}

const TOKEN_BYTES = 32;

function xor(one: Buffer, other: Buffer): Buffer {
  return one.map((byte, index) => byte ^ other[index]!) as Buffer;
}
