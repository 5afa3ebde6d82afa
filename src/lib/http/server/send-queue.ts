import { readFile } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { endKey, parseTcpTable, tcpStates, tcpTables } from './tcp-table.ts';

/** How long the queues that were read stay valid. */
const VALID_MS = 1000;

let latest: { readonly readMs: number; readonly queues: Promise<ReadonlyMap<string, number>> } | undefined;

/**
 * Returns how many of the bytes written to a socket the other side has acknowledged, at most a second ago. The kernel
 * accepts bytes long after the other side has disappeared, so `Socket.writableLength` does not show that.
 * @returns `undefined` if the system does not report it: outside Linux, and for a closed socket
 */
export async function bytesAcknowledged(socket: Socket): Promise<number | undefined> {
  const nowMs = performance.now();
  if (latest === undefined || nowMs - latest.readMs > VALID_MS) latest = { readMs: nowMs, queues: readQueues() };
  // Bytes written after this line do not count as acknowledged.
  const passedOn = socket.bytesWritten - socket.writableLength;
  const queued = (await latest.queues).get(connectionKey(socket));
  return queued === undefined ? undefined : passedOn - queued;
}

/** Reads the send queues of all TCP connections of this machine: the bytes that are unsent or not acknowledged. */
async function readQueues(): Promise<ReadonlyMap<string, number>> {
  const queues = new Map<string, number>();
  for (const file of tcpTables) {
    const text = await readFile(file, 'latin1').catch(() => '');
    for (const { local, remote, state, sendQueue } of parseTcpTable(text)) {
      if (state === tcpStates.established) queues.set(`${local} ${remote}`, sendQueue);
    }
  }
  return queues;
}

function connectionKey({ localAddress, localPort, remoteAddress, remotePort }: Socket): string {
  return `${endKey(localAddress, localPort)} ${endKey(remoteAddress, remotePort)}`;
}
