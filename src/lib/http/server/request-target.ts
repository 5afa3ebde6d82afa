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
 * differently. HTTP/1.1 requires exactly one Host (RFC 9112, 3.2). If there are several Authorization headers, Node
 * reads the first.
 */
export function isWellFormed(request: IncomingMessage): boolean {
  const { headers, httpVersionMajor, httpVersionMinor, rawHeaders, url } = request;
  if (httpVersionMajor !== 1 || httpVersionMinor > 1) return false;
  const encoding = headers['transfer-encoding'];
  if (encoding !== undefined && (encoding.toLowerCase() !== 'chunked' || httpVersionMinor === 0)) return false;
  if (url!.includes('%') && /%(?![\dA-Fa-f]{2})/.test(url!)) return false;
  let hosts = 0;
  let authorizations = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]!.toLowerCase();
    if (name === 'host') hosts++;
    else if (name === 'authorization') authorizations++;
  }
  return (hosts === 1 || (hosts === 0 && httpVersionMinor === 0)) && authorizations <= 1;
}

/** Reports whether an OPTIONS request is a CORS preflight request of a browser (Fetch). */
export function isPreflight({ headers }: IncomingMessage): boolean {
  return headers.origin !== undefined && headers['access-control-request-method'] !== undefined;
}
