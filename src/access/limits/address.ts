import { isIPv4, isIPv6 } from 'node:net';

/**
 * Returns the address that a request counts against: an IPv4 address unchanged, an IPv6 address as its /64
 * (`2001:db8:0:7::/64`).
 *
 * Each has one spelling: an IPv4-mapped IPv6 address (`::ffff:192.0.2.1`) counts as the IPv4 address, because
 * dual-stack sockets report it so; the zone of a link-local address (`%eth0`) is dropped.
 * @returns `undefined` for text that is not an address
 */
export function canonicalAddress(text: string): string | undefined {
  if (isIPv4(text)) return text;
  const zone = text.indexOf('%');
  const address = zone < 0 ? text : text.slice(0, zone);
  if (!isIPv6(address)) return undefined;
  const groups = groupsOf(address);
  const [a, b, c, d, e, f, g, h] = groups as [number, number, number, number, number, number, number, number];
  if (a === 0 && b === 0 && c === 0 && d === 0 && e === 0 && f === 0xffff) {
    return `${g >> 8}.${g & 255}.${h >> 8}.${h & 255}`;
  }
  return `${a.toString(16)}:${b.toString(16)}:${c.toString(16)}:${d.toString(16)}::/64`;
}

/**
 * Returns the name by which requests and attempts from an address are counted: the canonical address, or `unknown` for all
 * other text, such as the address of a closed socket.
 */
export function countedAddress(text: string): string {
  return canonicalAddress(text) ?? 'unknown';
}

/** Returns the eight groups of a well-formed IPv6 address. */
function groupsOf(address: string): number[] {
  const [head = '', tail] = address.split('::');
  const first = numbersOf(head);
  if (tail === undefined) return first;
  const last = numbersOf(tail);
  return [...first, ...new Array<number>(8 - first.length - last.length).fill(0), ...last];
}

function numbersOf(part: string): number[] {
  if (part === '') return [];
  return part.split(':').flatMap(group => {
    if (!group.includes('.')) return [Number.parseInt(group, 16)];
    const [a, b, c, d] = group.split('.').map(Number) as [number, number, number, number];
    return [(a << 8) | b, (c << 8) | d];
  });
}
