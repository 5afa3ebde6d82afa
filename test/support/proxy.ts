import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** Stands between clients and a server, and can behave like a bad network. */
export interface BadNetwork {
  readonly port: number;
  /** Is shown what clients send, before it goes on; `silence` lets nothing more through on that connection. */
  onBytes: (bytes: Buffer, silence: () => void) => void;
  /** From now on everything is taken and nothing goes on; connections of that time stay silent for ever. */
  swallow(): void;
  /** From now on whoever connects is hung up on. */
  refuse(): void;
  /** Cuts every connection there is. */
  cut(): void;
  /** Ends the bad times, for new connections. */
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
        // As behind a firewall that has forgotten the connection, the other side never learns of its end.
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
