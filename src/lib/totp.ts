import { createHmac, randomBytes } from 'node:crypto';
import { equalsInConstantTime } from './constant-time.ts';

/** The time for which a code is shown. */
export const TOTP_STEP_MS = 30_000;
const DIGITS = 6;
const SECRET_BYTES = 20;
const BASE32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

/** Returns a new secret for an authenticator app: 160 random bits, as RFC 4226 recommends. */
export function newTotpSecret(): Buffer {
  return randomBytes(SECRET_BYTES);
}

/**
 * Returns the time step whose code was sent: the current one, the one before or the one after, so that a clock may be
 * 30 s wrong; `undefined` if the code belongs to none of them. A code must be accepted only once: store the step, and
 * reject a step that is not greater than the stored one.
 * @param code as it was typed; white space is ignored
 * @param now milliseconds since the Unix epoch
 */
export function totpStepOf(secret: Buffer, code: string, now: number): number | undefined {
  const typed = code.length > CODE_LENGTH_MAX ? '' : code.replaceAll(/\s/g, '');
  const current = Math.floor(now / TOTP_STEP_MS);
  let matched: number | undefined;
  // All three are compared, so that the time tells nothing. If two have the same code, the later one counts: with the
  // earlier one stored, the code would work again.
  for (const step of [current - 1, current, current + 1]) {
    if (equalsInConstantTime(typed, totpCodeAt(secret, step))) matched = step;
  }
  return matched;
}

/** The maximum length of a code with its white space. */
const CODE_LENGTH_MAX = 20;

/** Returns the code of a time step: six digits, by RFC 6238 with SHA-1, the variant that every authenticator app has. */
export function totpCodeAt(secret: Buffer, step: number): string {
  const counter = Buffer.alloc(8);
  counter.writeBigInt64BE(BigInt(step));
  const digest = createHmac('sha1', secret).update(counter).digest();
  const offset = digest.at(-1)! & 0xf;
  const number = digest.readUInt32BE(offset) & 0x7fff_ffff;
  return String(number % 10 ** DIGITS).padStart(DIGITS, '0');
}

/**
 * Returns the URI that authenticator apps read from a QR code, in Google's "Key URI Format".
 * @param issuer names the service. A colon becomes a space, because apps split the label there.
 * @param account names the account of the user, such as an e-mail address
 */
export function totpUriOf({
  secret,
  issuer,
  account,
}: {
  readonly secret: Buffer;
  readonly issuer: string;
  readonly account: string;
}): string {
  // Not `URLSearchParams`, which writes a space as a plus sign: apps would show it.
  const [service, user] = [issuer, account].map(text => encodeURIComponent(text.replaceAll(':', ' ').toWellFormed()));
  const parameters = `secret=${base32Of(secret)}&issuer=${service}&algorithm=SHA1&digits=${DIGITS}&period=${TOTP_STEP_MS / 1000}`;
  return `otpauth://totp/${service}:${user}?${parameters}`;
}

/** Returns bytes in base32 (RFC 4648) without padding, which authenticator apps do not accept everywhere. */
export function base32Of(bytes: Buffer): string {
  let text = '';
  for (let bit = 0; bit < 8 * bytes.length; bit += 5) {
    const pair = (bytes[bit >> 3]! << 8) | (bytes[(bit >> 3) + 1] ?? 0);
    text += BASE32[(pair >> (11 - (bit & 7))) & 31];
  }
  return text;
}
