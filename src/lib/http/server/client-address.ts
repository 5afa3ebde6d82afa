import { BlockList, isIP } from 'node:net';

/** The networks of proxies whose `X-Forwarded-For` and `X-Forwarded-Proto` are trusted. */
export type TrustedProxies = BlockList;

/**
 * Parses the entries of a list such as `10.0.0.0/8, ::1`.
 * @throws {RangeError} naming the entry that is neither an address nor a network
 */
export function trustedProxies(entries: readonly string[]): TrustedProxies {
  const list = new BlockList();
  for (const entry of entries) {
    const [address = '', bits, ...rest] = entry.split('/');
    const version = isIP(address);
    const width = version === 4 ? 32 : 128;
    if (
      version === 0 ||
      rest.length > 0 ||
      (bits !== undefined && !(/^\d{1,3}$/.test(bits) && Number(bits) <= width))
    ) {
      throw new RangeError(`"${entry}" is not an address or a network such as 10.0.0.0/8`);
    }
    list.addSubnet(address, bits === undefined ? width : Number(bits), version === 4 ? 'ipv4' : 'ipv6');
  }
  return list;
}

/**
 * Returns the client's address: the peer's own or, behind trusted proxies, the last address in `X-Forwarded-For` that is
 * not one of theirs. The header of an untrusted peer is ignored.
 */
export function clientAddress(
  peer: string | undefined,
  forwardedFor: string | undefined,
  proxies: TrustedProxies,
): string {
  let address = normalize(peer ?? '');
  if (forwardedFor === undefined) return address;
  const hops = forwardedFor.split(',');
  while (hops.length > 0 && isTrusted(address, proxies)) {
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
  if (forwardedProto === undefined || !isTrusted(normalize(peer ?? ''), proxies)) return false;
  return String(forwardedProto).split(',').at(-1)!.trim().toLowerCase() === 'https';
}

function isTrusted(address: string, proxies: TrustedProxies): boolean {
  const version = isIP(address);
  return version !== 0 && proxies.check(address, version === 4 ? 'ipv4' : 'ipv6');
}

/** Strips a port, brackets and an IPv4-mapped prefix. */
function normalize(text: string): string {
  const bracketed = /^\[([^\]]*)\](?::\d+)?$/.exec(text)?.[1];
  const address = bracketed ?? (/^[\d.]+:\d+$/.test(text) ? text.slice(0, text.indexOf(':')) : text);
  return address.toLowerCase().startsWith('::ffff:') && isIP(address.slice(7)) === 4 ? address.slice(7) : address;
}
