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
 * differently. HTTP/1.1 requires exactly one Host (RFC 9112, 3.2). Of several Authorization headers Node reads the first.
 */
export function isWellFormed(request: IncomingMessage): boolean {
  const { headers, httpVersionMajor, httpVersionMinor, rawHeaders, url } = request;
  if (httpVersionMajor !== 1 || httpVersionMinor > 1) return false;
  const encoding = headers['transfer-encoding'];
  if (encoding !== undefined && (encoding.toLowerCase() !== 'chunked' || httpVersionMinor === 0)) return false;
  if (url!.includes('%') && /%(?![\dA-Fa-f]{2})/.test(url!)) return false;
  const hosts = countOf(rawHeaders, 'host');
  return (hosts === 1 || (hosts === 0 && httpVersionMinor === 0)) && countOf(rawHeaders, 'authorization') <= 1;
}

/** @param wanted the name of a header in lower case */
function countOf(rawHeaders: readonly string[], wanted: string): number {
  let count = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]!;
    if (name.length === wanted.length && name.toLowerCase() === wanted) count++;
  }
  return count;
}

/** Reports whether an OPTIONS request is a CORS preflight request of a browser (Fetch). */
export function isPreflight({ headers }: IncomingMessage): boolean {
  return headers.origin !== undefined && headers['access-control-request-method'] !== undefined;
}

/**
 * Reports whether the body of a request is compressed. Other values of Content-Encoding, such as `utf-8`, are mistakes
 * without effect.
 */
export function isCompressed({ headers }: IncomingMessage): boolean {
  return /gzip|deflate|compress|\bbr\b|zstd/i.test(headers['content-encoding'] ?? '');
}

/** Reports whether a Content-Type starts with a well-formed media type (RFC 9110, 8.3.1). */
export function isMediaType(contentType: string): boolean {
  return /^\s*[\w!#$%&'*+.^`|~-]+\/[\w!#$%&'*+.^`|~-]+\s*(?:;|$)/.test(contentType);
}
