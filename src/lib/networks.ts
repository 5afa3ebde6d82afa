import { BlockList, isIP } from 'node:net';

/** A set of IP networks. */
export type Networks = BlockList;

/**
 * Parses the entries of a list such as `10.0.0.0/8, ::1`.
 * @throws {RangeError} naming the first entry that is neither an address nor a network
 */
export function parseNetworks(entries: readonly string[]): Networks {
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

/** Reports whether an address is in one of the networks; false for text that is not an address. */
export function includesAddress(networks: Networks, address: string): boolean {
  const version = isIP(address);
  return version !== 0 && networks.check(address.replace(/%.*$/, ''), version === 4 ? 'ipv4' : 'ipv6');
}
