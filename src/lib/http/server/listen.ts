import { lookup } from 'node:dns/promises';
import type { Server } from 'node:http';
import { type AddressInfo, createServer, type ListenOptions, type Server as TcpServer } from 'node:net';

export interface Listener {
  readonly port: number;
  /** Stops listening; resolves when every connection has ended. */
  close(): Promise<void>;
}

const BACKLOG = 4096;

/**
 * Listens on `host`; for `localhost`, which is 127.0.0.1 and ::1 on most machines, on each of its addresses that can be
 * listened on.
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
  return { port: bound.port, close: async () => void (await Promise.all(servers.map(close))) };
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

export function close(server: TcpServer): Promise<void> {
  return new Promise(resolve => server.close(() => resolve()));
}
