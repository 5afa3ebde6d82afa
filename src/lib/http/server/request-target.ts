import type { IncomingMessage } from 'node:http';

/** Returns the path and query of a request target in absolute form (RFC 9112, 3.2.2); every other target unchanged. */
export function originForm(target: string): string {
  const origin = /^https?:\/\/[^/?#]*/i.exec(target)?.[0];
  if (origin === undefined) return target;
  const rest = target.slice(origin.length);
  return rest.startsWith('/') ? rest : `/${rest}`;
}

/**
 * Reports whether a request is unambiguous where Node's parser is lenient: a proxy in front might read others
 * differently. HTTP/1.1 requires exactly one Host (RFC 9112, 3.2).
 */
export function isWellFormed({ headers, httpVersionMinor, rawHeaders, url }: IncomingMessage): boolean {
  const encoding = headers['transfer-encoding'];
  if (encoding !== undefined && (encoding.toLowerCase() !== 'chunked' || httpVersionMinor === 0)) return false;
  if (url!.includes('%') && /%(?![\dA-Fa-f]{2})/.test(url!)) return false;
  let hosts = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]!;
    if (name.length === 4 && name.toLowerCase() === 'host') hosts++;
  }
  return hosts === 1 || (hosts === 0 && httpVersionMinor === 0);
}

/** Reports whether an OPTIONS request is a CORS preflight request of a browser (Fetch). */
export function isPreflight({ method, headers }: IncomingMessage): boolean {
  return method === 'OPTIONS' && headers.origin !== undefined && headers['access-control-request-method'] !== undefined;
}

/** Reports whether a Content-Type starts with a well-formed media type (RFC 9110, 8.3.1). */
export function isMediaType(contentType: string): boolean {
  return /^\s*[\w!#$%&'*+.^`|~-]+\/[\w!#$%&'*+.^`|~-]+\s*(?:;|$)/.test(contentType);
}
