import { Agent as PlainAgent } from 'node:http';
import { Agent as TlsAgent } from 'node:https';
import type { Duplex } from 'node:stream';

/** Connections that are kept open for the next request to the same place, and never keep the process alive while idle. */
export interface KeptConnections {
  readonly plain: PlainAgent;
  readonly tls: TlsAgent;
  /** Closes those that are idle to a host and port. */
  forget(host: string, port: number): void;
  close(): void;
}

/** What bounds connections. */
export interface ConnectionBounds {
  /** How many are kept idle for each host and port. */
  readonly idleOfEach: number;
  /** How many there are in all: for a new one, that which was idle for longest is closed. */
  readonly inAll: number;
  /** After how long an idle one is closed; earlier where the other side says that it will. */
  readonly idleMs: number;
  /** Certificates to trust in place of those that Node trusts. */
  readonly ca?: string | undefined;
}

/** How long a connection to one address of a host may take while there are others to try. */
const ADDRESS_MS = 1000;

/** Opens none yet. Certificates are verified, whatever the environment says, and no proxy of the environment is used. */
export function keptConnections({ idleOfEach, inAll, idleMs, ca }: ConnectionBounds): KeptConnections {
  const open = new Set<Duplex>();
  /** Those that nobody uses, the longest idle first, and where they lead. */
  const idle = new Map<Duplex, string>();
  const leadTo = new WeakMap<Duplex, string>();
  const options = {
    keepAlive: true,
    maxFreeSockets: idleOfEach,
    timeout: idleMs,
    noDelay: true,
    autoSelectFamilyAttemptTimeout: ADDRESS_MS,
  };
  const plain = watched(new PlainAgent(options));
  const tls = watched(new TlsAgent({ ...options, rejectUnauthorized: true, ...(ca !== undefined && { ca }) }));

  function watched<A extends PlainAgent>(agent: A): A {
    const { createConnection, keepSocketAlive, reuseSocket } = agent;
    agent.createConnection = (options, callback) => {
      if (open.size >= inAll) closeLongestIdle();
      const socket = createConnection.call(agent, options, callback);
      if (socket) {
        open.add(socket);
        leadTo.set(socket, place(options.host!, Number(options.port)));
        socket.once('close', () => {
          open.delete(socket);
          idle.delete(socket);
        });
      }
      return socket;
    };
    agent.keepSocketAlive = socket => {
      const kept = keepSocketAlive.call(agent, socket);
      idle.set(socket, leadTo.get(socket)!);
      return kept;
    };
    agent.reuseSocket = (socket, request) => {
      idle.delete(socket);
      reuseSocket.call(agent, socket, request);
    };
    return agent;
  }

  function closeLongestIdle(): void {
    for (const socket of idle.keys()) {
      drop(socket);
      return;
    }
  }

  function drop(socket: Duplex): void {
    idle.delete(socket);
    socket.destroy();
  }

  return {
    plain,
    tls,
    forget(host, port) {
      for (const [socket, where] of [...idle]) if (where === place(host, port)) drop(socket);
    },
    close() {
      plain.destroy();
      tls.destroy();
    },
  };
}

function place(host: string, port: number): string {
  return `${host} ${port}`;
}
