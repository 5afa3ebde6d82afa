import { lookup } from 'node:dns/promises';
import type { Server } from 'node:http';
import { type AddressInfo, createServer, type ListenOptions, type Server as TcpServer } from 'node:net';
import { BACKLOG, close, closeOnceEmpty } from './close-listener.ts';

export interface Listener {
  readonly port: number;
  /** Accepts the connections that wait in the kernel, and stops listening without resetting any. */
  stop(): Promise<void>;
  /** Stops listening immediately; resolves when every connection has ended. */
  close(): Promise<void>;
}

/**
 * Listens on `host`. For `localhost`, which is 127.0.0.1 and ::1 on most machines, listens on each address that is
 * available.
 * @throws {Error} when the first address is in use or does not belong to this machine
 */
export async function listen(server: Server, host: string, port: number): Promise<Listener> {
  await bind(server, { host, port, backlog: BACKLOG });
  const bound = server.address() as AddressInfo;
  const servers: TcpServer[] = [server];
  for (const { address } of host === 'localhost' ? await lookup(host, { all: true }) : []) {
    if (address === bound.address) continue;
    const other = createServer({ allowHalfOpen: true, noDelay: true }, socket => server.emit('connection', socket));
    const binding = bind(other, { host: address, port: bound.port, backlog: BACKLOG });
    await binding.then(
      () => servers.push(other),
      () => {},
    );
  }
  const closeAll = async () => void (await Promise.all(servers.map(close)));
  return {
    port: bound.port,
    stop: async () => void (await Promise.all(servers.map(closeOnceEmpty))),
    close: closeAll,
  };
}

export function bind(server: TcpServer, options: ListenOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(options, () => {
      server.off('error', reject);
      resolve();
    });
  });
}
