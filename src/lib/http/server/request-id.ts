import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

const process = randomBytes(9).toString('base64url');
let requests = 0;

/** Returns an id that is unique among all processes. */
export function newRequestId(): string {
  return `${process}-${(requests++).toString(36)}`;
}

/** Returns the caller's `X-Request-Id` if it is well-formed (1–128 characters that need no quoting), otherwise a new id. */
export function requestIdOf(request: IncomingMessage): string {
  const given = request.headers['x-request-id'];
  return typeof given === 'string' && /^[\w.~+/=:-]{1,128}$/.test(given) ? given : newRequestId();
}
