import { randomBytes } from 'node:crypto';

const processId = randomBytes(9).toString('base64url');
let requests = 0;

/**
 * Returns the caller's `X-Request-Id` if it is well-formed (1–128 characters that need no quoting); otherwise a new id,
 * unique across processes.
 */
export function requestIdOf(given?: string | string[]): string {
  if (typeof given === 'string' && /^[\w.~+/=:-]{1,128}$/.test(given)) return given;
  return `${processId}-${(requests++).toString(36)}`;
}
