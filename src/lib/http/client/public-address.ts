import { isIP } from 'node:net';

/** A set of IP addresses, as networks say it. */
export interface Networks {
  /** Whether an address lies in one of them. One that is IPv4 in IPv6 clothes (`::ffff:0:0/96`) is judged as that IPv4 alone. */
  has(address: string): boolean;
}

/**
 * The networks of a list such as `10.0.0.0/8, ::1`.
 * @throws {RangeError} naming the entry that is no address or network
 */
export function networksOf(entries: readonly string[]): Networks {
  const networks = entries.map(networkOf);
  return {
    has(address) {
      const bits = bitsOf(address);
      return bits !== undefined && networks.some(network => contains(network, bits));
    },
  };
}

/**
 * Whether an address is one of the public internet, for any host and not only this one or its network: global unicast
 * that IANA's special-purpose registries do not set apart.
 *
 * IPv6 addresses that carry an IPv4 address and lead to it are not public, whatever they carry. A text that is no address
 * is not public, nor is an address with a zone.
 */
export function isPublicAddress(address: string): boolean {
  const bits = bitsAsWritten(address);
  if (bits === undefined || setApart.some(network => contains(network, bits))) return false;
  return bits.version === 4 || (contains(globalUnicast, bits) && !isIsatap(bits.value));
}

/** An address as a number. */
interface Bits {
  readonly version: 4 | 6;
  readonly value: bigint;
}

interface Network extends Bits {
  readonly prefix: number;
}

const WIDTH = { 4: 32, 6: 128 } as const;

/** The one part of IPv6 from which public addresses are given; all else is special or not given to anybody. */
const globalUnicast = networkOf('2000::/3');

/** https://www.iana.org/assignments/iana-ipv4-special-registry, iana-ipv6-special-registry, multicast, and what is said beside. */
const setApart = [
  '0.0.0.0/8', // this network
  '10.0.0.0/8', // private
  '100.64.0.0/10', // shared by the customers of a carrier; Alibaba's metadata
  '127.0.0.0/8', // loopback
  '168.63.129.16/32', // Azure's platform, from within each of its machines
  '169.254.0.0/16', // link-local; the metadata of most clouds
  '172.16.0.0/12', // private
  '192.0.0.0/24', // protocol assignments; Oracle's metadata
  '192.0.2.0/24', // documentation
  '192.31.196.0/24', // AS112
  '192.52.193.0/24', // AMT
  '192.88.99.0/24', // relays of 6to4
  '192.168.0.0/16', // private
  '192.175.48.0/24', // AS112
  '198.18.0.0/15', // benchmarking
  '198.51.100.0/24', // documentation
  '203.0.113.0/24', // documentation
  '224.0.0.0/4', // multicast
  '240.0.0.0/4', // reserved, and broadcast
  '2001::/23', // protocol assignments: Teredo, benchmarking, ORCHID and others
  '2001:db8::/32', // documentation
  '2002::/16', // 6to4
  '2620:4f:8000::/48', // AS112
  '3ffe::/16', // the 6bone that was
  '3fff::/20', // documentation
].map(networkOf);

function networkOf(entry: string): Network {
  const [address = '', suffix, ...rest] = entry.split('/');
  const bits = bitsAsWritten(address);
  const width = bits && WIDTH[bits.version];
  const prefix = suffix === undefined ? width : /^\d{1,3}$/.test(suffix) ? Number(suffix) : undefined;
  if (bits === undefined || width === undefined || prefix === undefined || prefix > width || rest.length > 0) {
    throw new RangeError(`"${entry}" is not an address or a network such as 10.0.0.0/8`);
  }
  const plain = undressed(bits);
  return plain.version !== bits.version && prefix >= 96 ? { ...plain, prefix: prefix - 96 } : { ...bits, prefix };
}

function contains({ version, value, prefix }: Network, bits: Bits): boolean {
  if (version !== bits.version) return false;
  const rest = BigInt(WIDTH[version] - prefix);
  return value >> rest === bits.value >> rest;
}

/** An address as a number, one that is IPv4 in IPv6 clothes as that IPv4; `undefined` for what is none, or has a zone. */
function bitsOf(address: string): Bits | undefined {
  const bits = bitsAsWritten(address);
  return bits && undressed(bits);
}

function bitsAsWritten(address: string): Bits | undefined {
  const version = address.includes('%') ? 0 : isIP(address);
  if (version === 4) return { version, value: ipv4(address) };
  return version === 6 ? { version, value: ipv6(address) } : undefined;
}

/** The IPv4 address that is in IPv6 clothes; any other address as it is. */
function undressed(bits: Bits): Bits {
  const { version, value } = bits;
  return version === 6 && value >> 32n === 0xffffn ? { version: 4, value: value & 0xffff_ffffn } : bits;
}

/** Whether the second half of an IPv6 address says that an IPv4 address follows to which packets are tunnelled (RFC 5214). */
function isIsatap(value: bigint): boolean {
  return ((value >> 32n) & 0xfdff_ffffn) === 0x5efen;
}

function ipv4(address: string): bigint {
  return address.split('.').reduce((value, part) => (value << 8n) | BigInt(part), 0n);
}

function ipv6(address: string): bigint {
  const [before, after] = address.split('::').map(groups) as [bigint[], bigint[]?];
  const all = after === undefined ? before : [...before, ...zeros(8 - before.length - after.length), ...after];
  return all.reduce((value, group) => (value << 16n) | group, 0n);
}

/** The groups of a part of an IPv6 address, of which the last two may be written as IPv4. */
function groups(part: string): bigint[] {
  if (part === '') return [];
  return part.split(':').flatMap(group => {
    if (!group.includes('.')) return [BigInt(`0x${group}`)];
    const value = ipv4(group);
    return [value >> 16n, value & 0xffffn];
  });
}

function zeros(count: number): bigint[] {
  return Array<bigint>(count).fill(0n);
}
