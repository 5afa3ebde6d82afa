import { BlockList, isIP, type LookupFunction, SocketAddress } from 'node:net';
import type { FindAddresses } from './dns.ts';
import { RequestError } from './outcome.ts';

// SSRF protection: requests go only to public addresses and to the networks that the operator allows. The check is part
// of the DNS lookup that the socket itself uses, so a DNS answer that changes between check and connection has no effect.

/** A set of IP networks. */
export interface AllowedNetworks {
  readonly isEmpty: boolean;
  /** Reports whether an address is in one of the networks. An IPv4-mapped IPv6 address counts as its IPv4 address. */
  has(address: string): boolean;
}

/**
 * Parses addresses and networks such as `10.0.0.0/8` and `::1`.
 * @throws {RangeError} naming the first invalid entry
 */
export function parseNetworks(entries: readonly string[]): AllowedNetworks {
  // One list per family: a BlockList with IPv6 networks would also match the IPv4 addresses that are mapped into them.
  const lists = { 4: new BlockList(), 6: new BlockList() };
  for (const entry of entries) {
    const { address, family, prefix } = parseNetwork(entry);
    lists[family].addSubnet(address, prefix, `ipv${family}`);
  }
  return {
    isEmpty: entries.length === 0,
    has(text) {
      const address = unmapIpv4(text);
      const family = familyOf(address);
      return family !== undefined && lists[family].check(address, `ipv${family}`);
    },
  };
}

/**
 * Reports whether an address is a public unicast address, by IANA's special-purpose registries.
 *
 * Returns false for IPv6 addresses that embed an IPv4 address (mapped, 6to4, Teredo, NAT64, ISATAP), even if that is
 * public, for addresses with a zone, and for text that is not an IP address.
 */
export function isPublicAddress(address: string): boolean {
  const family = familyOf(address);
  if (family === undefined || specialPurpose.check(address, `ipv${family}`)) return false;
  return family === 4 || (globalUnicast.check(address, 'ipv6') && !isIsatap(address));
}

/** The maximum number of addresses to try per host, so that a DNS response cannot cause thousands of connections. */
const ADDRESSES_MAX = 8;

/**
 * Returns a lookup for `node:net` that yields only allowed addresses, or fails with `unresolved`. It fails in the same
 * way for a host without any address, so that nobody can discover internal names.
 */
export function guardedLookup(findAddresses: FindAddresses, isAllowed: (address: string) => boolean): LookupFunction {
  return async (host, { all }, callback) => {
    const found = await findAddresses(host).catch(() => []);
    const allowed = found.filter(isAllowed).slice(0, ADDRESSES_MAX);
    const addresses = allowed.map(address => ({ address, family: isIP(address) }));
    const [first] = addresses;
    if (first === undefined) {
      callback(new RequestError('unresolved'), []);
    } else if (all === true) {
      callback(null, addresses);
    } else {
      callback(null, first.address, first.family);
    }
  };
}

/** The part of IPv6 from which IANA allocates public addresses. */
const globalUnicast = blockListOf(['2000::/3']);

/**
 * IANA's special-purpose and multicast registries, and the metadata addresses of clouds: most are link-local, that of
 * Alibaba is carrier-grade NAT, that of Oracle is a protocol assignment. IPv6: only within 2000::/3.
 */
const specialPurposeNetworks = {
  thisNetwork: ['0.0.0.0/8'],
  private: ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16'],
  carrierGradeNat: ['100.64.0.0/10'],
  loopback: ['127.0.0.0/8'],
  linkLocal: ['169.254.0.0/16'],
  azurePlatform: ['168.63.129.16/32'],
  protocolAssignments: ['192.0.0.0/24', '2001::/23'],
  documentation: ['192.0.2.0/24', '198.51.100.0/24', '203.0.113.0/24', '2001:db8::/32', '3fff::/20'],
  as112: ['192.31.196.0/24', '192.175.48.0/24', '2620:4f:8000::/48'],
  amt: ['192.52.193.0/24'],
  tunnels: ['192.88.99.0/24', '2002::/16', '3ffe::/16'],
  benchmarking: ['198.18.0.0/15'],
  multicastAndReserved: ['224.0.0.0/4', '240.0.0.0/4'],
};
const specialPurpose = blockListOf(Object.values(specialPurposeNetworks).flat());

function blockListOf(networks: readonly string[]): BlockList {
  const list = new BlockList();
  for (const { address, family, prefix } of networks.map(parseNetwork)) list.addSubnet(address, prefix, `ipv${family}`);
  return list;
}

function parseNetwork(entry: string): { address: string; family: 4 | 6; prefix: number } {
  const [text = '', suffix, ...rest] = entry.split('/');
  const family = familyOf(text);
  const bits = family === 4 ? 32 : 128;
  const prefix = suffix === undefined ? bits : /^\d{1,3}$/.test(suffix) ? Number(suffix) : Number.NaN;
  if (family === undefined || !(prefix <= bits) || rest.length > 0) {
    throw new RangeError(`"${entry}" is not an address or a network such as 10.0.0.0/8`);
  }
  const address = unmapIpv4(text);
  const mapped = address !== text && prefix >= 96;
  return mapped ? { address, family: 4, prefix: prefix - 96 } : { address: text, family, prefix };
}

/** Returns 4 or 6; `undefined` for text that is not an IP address, and for an address with a zone. */
function familyOf(address: string): 4 | 6 | undefined {
  const version = address.includes('%') ? 0 : isIP(address);
  return version === 4 || version === 6 ? version : undefined;
}

/** Returns the IPv4 address of an IPv4-mapped IPv6 address (`::ffff:0:0/96`), and any other text unchanged. */
function unmapIpv4(address: string): string {
  if (familyOf(address) !== 6) return address;
  return /^::ffff:([\d.]+)$/.exec(canonicalIpv6(address))?.[1] ?? address;
}

/**
 * Reports whether the interface identifier of an IPv6 address embeds an IPv4 address to tunnel to (ISATAP, RFC 5214).
 */
function isIsatap(address: string): boolean {
  const [before = [], after = []] = canonicalIpv6(address)
    .split('::')
    .map(part => part.split(':').filter(group => group !== ''));
  const groups = [...before, ...Array<string>(8 - before.length - after.length).fill('0'), ...after];
  return (groups[4] === '0' || groups[4] === '200') && groups[5] === '5efe';
}

/** Returns an IPv6 address in its shortest form: lower case, without leading zeros (RFC 5952). */
function canonicalIpv6(address: string): string {
  return new SocketAddress({ address, family: 'ipv6' }).address;
}
