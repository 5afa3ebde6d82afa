import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import { includesAddress, type Networks, parseNetworks } from '../../networks.ts';

/** The networks of proxies whose `X-Forwarded-For` and `X-Forwarded-Proto` are trusted. */
export type TrustedProxies = Networks;

export const trustedProxies = parseNetworks;

/**
 * Returns the client's address: the peer's own or, behind trusted proxies, the last address in `X-Forwarded-For` that
 * is not a trusted proxy. Ignores the header of an untrusted peer.
 */
export function clientAddress(
  {
    socket,
    headers,
  }: Pick<IncomingMessage, 'headers'> & { readonly socket: { readonly remoteAddress?: string | undefined } },
  proxies: TrustedProxies,
): string {
  let address = socket.remoteAddress ?? '';
  if (address.startsWith(MAPPED)) address = normalize(address);
  const forwardedFor = headers['x-forwarded-for'] as string | undefined;
  if (forwardedFor === undefined) return address;
  const hops = forwardedFor.split(',');
  while (hops.length > 0 && includesAddress(proxies, address)) {
    const hop = normalize(hops.pop()!.trim());
    if (isIP(hop) === 0) break;
    address = hop;
  }
  return address;
}

/** Reports whether a trusted proxy received the request over TLS. With several proxies the last one decides. */
export function isForwardedTls(
  peer: string | undefined,
  forwardedProto: string | string[] | undefined,
  proxies: TrustedProxies,
): boolean {
  if (forwardedProto === undefined || !includesAddress(proxies, normalize(peer ?? ''))) return false;
  return String(forwardedProto).split(',').at(-1)!.trim().toLowerCase() === 'https';
}

/** The prefix of an IPv4 address in IPv6. */
const MAPPED = '::ffff:';

/** Strips a port, brackets and an IPv4-mapped prefix. */
function normalize(text: string): string {
  const bracketed = /^\[([^\]]*)\](?::\d+)?$/.exec(text)?.[1];
  const address = bracketed ?? (/^[\d.]+:\d+$/.test(text) ? text.slice(0, text.indexOf(':')) : text);
  return address.toLowerCase().startsWith(MAPPED) && isIP(address.slice(7)) === 4 ? address.slice(7) : address;
}
