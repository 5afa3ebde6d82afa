import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A proxy between clients and a server that can simulate a bad network. */
export interface BadNetwork {
  readonly port: number;
  /** Called with the data of clients before it is forwarded. `silence` drops all later data of the connection. */
  onBytes: (bytes: Buffer, silence: () => void) => void;
  /** Accepts and drops all data from now on. Connections of that time stay silent forever. */
  swallow(): void;
  /** Closes new connections immediately from now on. */
  refuse(): void;
  /** Cuts all connections. */
  cut(): void;
  /** Works normally again, for new connections. */
  heal(): void;
  close(): Promise<void>;
}

/** Starts a proxy to `target` on a free port of the loopback address. */
export async function startProxy(target: { host: string; port: number }): Promise<BadNetwork> {
  let mode: 'pass' | 'swallow' | 'refuse' = 'pass';
  const sockets = new Set<Socket>();
  const silent = new WeakSet<Socket>();
  const server = createServer(near => {
    if (mode === 'refuse') return near.destroy();
    const far = connect(target);
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from);
      if (mode === 'swallow') silent.add(from);
      from.on('data', (bytes: Buffer) => {
        if (from === near) proxy.onBytes(bytes, () => silent.add(near).add(far));
        if (!silent.has(from)) to.write(bytes);
      });
      from.on('error', () => {});
      from.on('close', () => {
        sockets.delete(from);
        // As behind a firewall that has dropped the connection, the other side is not notified of the end.
        if (!silent.has(from)) to.destroy();
      });
    }
    return near;
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const proxy: BadNetwork = {
    port: (server.address() as AddressInfo).port,
    onBytes: () => {},
    swallow() {
      mode = 'swallow';
      for (const socket of sockets) silent.add(socket);
    },
    refuse() {
      mode = 'refuse';
    },
    cut() {
      for (const socket of sockets) socket.destroy();
    },
    heal() {
      mode = 'pass';
    },
    async close() {
      proxy.cut();
      server.close();
      await once(server, 'close');
    },
  };
  return proxy;
}
