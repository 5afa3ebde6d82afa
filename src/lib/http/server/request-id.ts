import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

const process = randomBytes(9).toString('base64url');
let requests = 0;

/** An id that no other request has, of this process or another. */
export function newRequestId(): string {
  return `${process}-${(requests++).toString(36)}`;
}

/** The id that the caller gave in `X-Request-Id` where it is well-formed (1–128 characters that need no quoting). */
export function requestIdOf(request: IncomingMessage): string {
  const given = request.headers['x-request-id'];
  return typeof given === 'string' && /^[\w.~+/=:-]{1,128}$/.test(given) ? given : newRequestId();
}
