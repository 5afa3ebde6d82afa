/** The states of a socket in the kernel's table that are used here (`include/net/tcp_states.h`). */
export const tcpStates = { established: '01', handshake: '03', listening: '0A' } as const;

/** The files with the TCP sockets of this machine (Linux). */
export const tcpTables = ['/proc/net/tcp', '/proc/net/tcp6'] as const;

/** A TCP socket of this machine. */
export interface TcpRow {
  /** The local and the remote end, as {@link endKey} writes them. */
  readonly local: string;
  readonly remote: string;
  readonly state: string;
  /** The bytes that are unsent or not acknowledged. */
  readonly sendQueue: number;
  /** The bytes that were received but not read; for a listener, the connections that wait to be accepted. */
  readonly receiveQueue: number;
}

/** Yields the rows of a file of {@link tcpTables}. */
export function* parseTcpTable(text: string): Generator<TcpRow> {
  for (const line of text.split('\n').slice(1)) {
    const [, local, remote, state, lengths] = line.trim().split(/\s+/, 5);
    if (lengths === undefined) continue;
    const [sendQueue, receiveQueue] = lengths.split(':').map(hex => Number.parseInt(hex, 16)) as [number, number];
    yield { local: local!, remote: remote!, state: state!, sendQueue, receiveQueue };
  }
}

/**
 * Returns an address and port as the kernel writes them: 32-bit words in hexadecimal, in the byte order of the machine.
 */
export function endKey(address: string | undefined, port: number | undefined): string {
  const bytes = address?.includes(':') ? ipv6Bytes(address) : (address ?? '').split('.').map(Number);
  let text = '';
  for (let word = 0; word < bytes.length; word += 4) {
    text += Buffer.from(bytes.slice(word, word + 4))
      .reverse()
      .toString('hex');
  }
  return text.toUpperCase() + portKey(port);
}

/** Returns the suffix of {@link endKey} that all keys of one port share. */
export function portKey(port: number | undefined): string {
  return `:${(port ?? 0).toString(16).padStart(4, '0').toUpperCase()}`;
}

function ipv6Bytes(address: string): number[] {
  // A URL writes an embedded IPv4 address in hexadecimal, and omits only one run of zeros.
  const [before = '', after] = new URL(`http://[${address.split('%')[0]}]`).hostname.slice(1, -1).split('::');
  const groups = (text = '') => (text === '' ? [] : text.split(':').map(group => Number.parseInt(group, 16)));
  const [start, end] = [groups(before), groups(after)];
  const all = [...start, ...Array<number>(8 - start.length - end.length).fill(0), ...end];
  return all.flatMap(group => [group >> 8, group & 255]);
}
