import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** Stands between a client and a server, and can behave like a bad network. */
export interface Proxy {
  readonly port: number;
  /** `pass` forwards; `swallow` takes bytes and gives none on, in both directions; `refuse` hangs up on newcomers. */
  mode: 'pass' | 'swallow' | 'refuse';
  /** Cuts every connection there is. */
  cut(): void;
  close(): Promise<void>;
}

/** Starts a proxy on a free port of the loopback address. */
export async function startProxy(target: { host: string; port: number }): Promise<Proxy> {
  const sockets = new Set<Socket>();
  const keep = (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => sockets.delete(socket));
    return socket;
  };
  const server = createServer(near => {
    keep(near);
    if (proxy.mode === 'refuse') return near.destroy();
    const far = keep(connect(target));
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      from.on('data', bytes => {
        if (proxy.mode === 'pass') to.write(bytes);
      });
      // What was swallowed is lost: such a connection stays silent, as behind a firewall that has forgotten it.
      from.on('end', () => proxy.mode === 'pass' && to.end());
      from.on('close', () => proxy.mode === 'pass' && to.destroy());
    }
    return undefined;
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const proxy: Proxy = {
    port: (server.address() as AddressInfo).port,
    mode: 'pass',
    cut() {
      for (const socket of sockets) socket.destroy();
    },
    async close() {
      proxy.cut();
      server.close();
      await once(server, 'close');
    },
  };
  return proxy;
}
