import type { IncomingMessage } from 'node:http';

/** The path and query of a request target that is a whole URL (RFC 9112, 3.2.2); every other one as it is. */
export function originForm(target: string): string {
  if (target.charCodeAt(0) === SLASH) return target;
  const origin = /^https?:\/\/[^/?#]*/i.exec(target)?.[0];
  if (origin === undefined) return target;
  const rest = target.slice(origin.length);
  return rest.startsWith('/') ? rest : `/${rest}`;
}

const SLASH = 47;

/** What the parser lets pass and HTTP does not, so that a proxy in front might read it in another way. */
export function isWellFormed(raw: IncomingMessage): boolean {
  const encoding = raw.headers['transfer-encoding'];
  if (encoding !== undefined && (encoding.toLowerCase() !== 'chunked' || raw.httpVersionMinor === 0)) return false;
  return hasOneHost(raw) && !(raw.url!.includes('%') && /%(?![\dA-Fa-f]{2})/.test(raw.url!));
}

/** HTTP/1.1 wants exactly one Host (RFC 9112, 3.2). */
function hasOneHost(raw: IncomingMessage): boolean {
  let hosts = 0;
  const { rawHeaders } = raw;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]!;
    if (name.length === 4 && name.toLowerCase() === 'host') hosts++;
  }
  return hosts === 1 || (hosts === 0 && raw.httpVersionMinor === 0);
}

/** Whether a browser asks what another site may send (Fetch, CORS-preflight request). */
export function isPreflight(raw: IncomingMessage): boolean {
  return (
    raw.method === 'OPTIONS' &&
    raw.headers.origin !== undefined &&
    raw.headers['access-control-request-method'] !== undefined
  );
}

/** The path in the spelling that the router goes by. */
export function decodedPath(raw: IncomingMessage): string {
  const path = (raw.url ?? '').split(/[?#]/, 1)[0]!;
  try {
    return decodeURI(path);
  } catch {
    return path;
  }
}

const forms = new Map<string, RegExp>();

/** What a path with parameters in braces matches, as the router has it. */
export function pathForm(path: string): RegExp {
  let form = forms.get(path);
  if (form === undefined) {
    form = new RegExp(`^${path.replace(/\{\w+\}/g, '[^/]+')}/?$`);
    forms.set(path, form);
  }
  return form;
}
