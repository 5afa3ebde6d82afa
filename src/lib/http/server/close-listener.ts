import { readFileSync } from 'node:fs';
import { type AddressInfo, connect, isIPv6, Server, type Socket } from 'node:net';
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises';
import { endKey, parseTcpTable, portKey, tcpStates, tcpTables } from './tcp-table.ts';

/**
 * How many connections wait in the kernel to be accepted. The event loop accepts one per turn. After accepting a
 * connection, the process cannot find out how long it waited, and serves it even if the client has given up; with a
 * long queue, an overloaded process would serve no client in time. The kernel drops further connections at no cost to
 * the process, and clients retry.
 */
export const BACKLOG = 128;

/** How long a flood of connections can delay closing a listener, in milliseconds. */
const FLOOD_MAX_MS = 2000;
/**
 * The backlog of a listener that is about to close: small, because filling it takes time. With a smaller backlog, the
 * kernel would use SYN cookies for simultaneous handshakes, which its table does not show.
 */
const LAST_BACKLOG = 4;

/**
 * How long to wait for a handshake whose last packet was dropped, in milliseconds: its client repeats the packet after
 * 200 ms.
 */
const HANDSHAKE_MS = 300;

const isLinux = process.platform === 'linux';

/**
 * Accepts all connections that wait in the kernel, and stops listening without resetting any. Closing the socket makes
 * the kernel reset established connections and handshakes that were not accepted, and a proxy does not repeat a `POST`
 * that it has sent on one.
 *
 * Node accepts one connection in each turn of the event loop, and others arrive in the meantime. So when no connection
 * waits, the server fills its backlog with connections to itself: the kernel then drops further handshakes, which
 * clients repeat a second later. If the backlog has no connection of another process and no handshake is in progress,
 * the socket is closed. Otherwise the server accepts them and tries again.
 *
 * Closes the socket in any case after {@link FLOOD_MAX_MS}. Outside Linux, closes it once a turn accepts no connection.
 */
export async function closeOnceEmpty(server: Server): Promise<void> {
  let accepted = false;
  const note = () => {
    accepted = true;
  };
  server.on('connection', note);
  const endMs = performance.now() + FLOOD_MAX_MS;
  // The event loop may already have checked for connections in this turn.
  await nextTurn();
  do {
    accepted = false;
    await nextTurn();
  } while ((accepted || (isLinux && !(await closeIfEmpty(server)))) && performance.now() < endMs);
  server.off('connection', note);
  close(server);
}

/**
 * Stops listening; resolves when every connection has ended. The `close` of an HTTP server also destroys connections
 * that are still sending the end of a response.
 */
export function close(server: Server): Promise<void> {
  return new Promise(resolve => Server.prototype.close.call(server, () => resolve()));
}

/** Closes the socket unless a connection waits or a handshake is in progress. Reports whether it closed the socket. */
async function closeIfEmpty(server: Server): Promise<boolean> {
  const listener = server.address() as AddressInfo;
  const { address, port } = listener;
  resizeBacklog(server, LAST_BACKLOG);
  const fillers: HandledSocket[] = [];
  // The kernel lets one connection more than the backlog wait.
  while (fillers.length <= LAST_BACKLOG) fillers.push(connect(port, hostOf(address)).on('error', () => {}));
  // They are connected by then, in the same turn of the event loop, so no slot of the backlog becomes free.
  await new Promise<void>(resolve => process.nextTick(resolve));
  const isFull = fillers.every(isConnected);
  const isEmpty =
    isFull && !hasOthers(readTable(isIPv6(address) ? tcpTables[1] : tcpTables[0]), listener, fillers.length);
  if (isEmpty) close(server);
  else resizeBacklog(server, BACKLOG);
  for (const filler of fillers) filler.destroy();
  // The next connections to itself could cause the packets of a handshake to be dropped again.
  if (isFull && !isEmpty) await pause(HANDSHAKE_MS);
  return isEmpty;
}

function resizeBacklog(server: ListeningServer, backlog: number): void {
  server._handle?.listen(backlog);
}

/** Reports whether the kernel has connected a socket. `Socket.connecting` changes a turn of the event loop later. */
function isConnected({ _handle }: HandledSocket): boolean {
  return _handle?.getpeername({}) === 0;
}

/**
 * Reports whether a table of the kernel shows that more connections wait for a listener, or that a handshake is in
 * progress.
 * @param own how many connections of this process wait. The backlog can exceed its limit by one.
 */
export function hasOthers(table: string, { address, port }: AddressInfo, own: number): boolean {
  const listener = endKey(address, port);
  const { handshake, listening } = tcpStates;
  return parseTcpTable(table).some(
    ({ local, state, receiveQueue }) =>
      (state === handshake && local.endsWith(portKey(port))) ||
      (state === listening && local === listener && receiveQueue > own),
  );
}

/** Returns an address to connect to: a local one if `address` stands for all addresses of the machine. */
function hostOf(address: string): string {
  if (address === '::') return '::1';
  return address === '0.0.0.0' ? '127.0.0.1' : address;
}

function readTable(file: string): string {
  try {
    return readFileSync(file, 'latin1');
  } catch {
    return '';
  }
}

/** The handles are undocumented in Node. */
interface ListeningServer extends Server {
  /** `listen` changes the backlog of a listening socket. */
  readonly _handle?: { listen(backlog: number): number } | null;
}

interface HandledSocket extends Socket {
  /** `getpeername` returns 0 once the socket is connected, otherwise an error number. */
  readonly _handle?: { getpeername(peer: object): number } | null;
}
