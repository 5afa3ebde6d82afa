import { readFile } from 'node:fs/promises';
import type { Socket } from 'node:net';

/** The state of an established connection in `/proc/net/tcp`. */
const ESTABLISHED = '01';
/** How long what was read is used again. */
const VALID_MS = 1000;

let latest: { readonly readMs: number; readonly queues: Promise<ReadonlyMap<string, number>> } | undefined;

/**
 * Returns how many bytes of what was written to a socket the other side has acknowledged, at most a second ago. The kernel
 * accepts bytes long after the other side has vanished, so `Socket.writableLength` does not show that.
 * @returns `undefined` where the system does not say: outside Linux, and for a closed socket
 */
export async function bytesAcknowledged(socket: Socket): Promise<number | undefined> {
  const nowMs = performance.now();
  if (latest === undefined || nowMs - latest.readMs > VALID_MS) latest = { readMs: nowMs, queues: readQueues() };
  // Bytes written after this line do not count as acknowledged.
  const passedOn = socket.bytesWritten - socket.writableLength;
  const queued = (await latest.queues).get(connectionKey(socket));
  return queued === undefined ? undefined : passedOn - queued;
}

/** Reads the send queues of all TCP connections of this machine: what is sent but not acknowledged, or not sent yet. */
async function readQueues(): Promise<ReadonlyMap<string, number>> {
  const queues = new Map<string, number>();
  for (const file of ['/proc/net/tcp', '/proc/net/tcp6']) {
    const text = await readFile(file, 'latin1').catch(() => '');
    for (const line of text.split('\n').slice(1)) {
      const [, local, remote, state, lengths] = line.trim().split(/\s+/, 5);
      if (state === ESTABLISHED) queues.set(`${local} ${remote}`, Number.parseInt(lengths!.split(':')[0]!, 16));
    }
  }
  return queues;
}

function connectionKey({ localAddress, localPort, remoteAddress, remotePort }: Socket): string {
  return `${endKey(localAddress, localPort)} ${endKey(remoteAddress, remotePort)}`;
}

/** Returns an address and port as the kernel writes them: 32-bit words in hexadecimal, in the byte order of the machine. */
function endKey(address: string | undefined, port: number | undefined): string {
  const bytes = address?.includes(':') ? ipv6Bytes(address) : (address ?? '').split('.').map(Number);
  let text = '';
  for (let word = 0; word < bytes.length; word += 4) {
    text += Buffer.from(bytes.slice(word, word + 4))
      .reverse()
      .toString('hex');
  }
  return `${text}:${(port ?? 0).toString(16).padStart(4, '0')}`.toUpperCase();
}

function ipv6Bytes(address: string): number[] {
  // A URL writes an embedded IPv4 address in hexadecimal, and leaves out only one run of zeros.
  const [before = '', after] = new URL(`http://[${address.split('%')[0]}]`).hostname.slice(1, -1).split('::');
  const groups = (text = '') => (text === '' ? [] : text.split(':').map(group => Number.parseInt(group, 16)));
  const [start, end] = [groups(before), groups(after)];
  const all = [...start, ...Array<number>(8 - start.length - end.length).fill(0), ...end];
  return all.flatMap(group => [group >> 8, group & 255]);
}
