import { Agent as HttpsAgent } from 'node:https';
import type { Duplex } from 'node:stream';
import { Agent as HttpAgent } from '../node-http.ts';

/** A pool of keep-alive connections. Idle connections do not keep the process alive. */
export interface ConnectionPool {
  readonly http: HttpAgent;
  readonly https: HttpsAgent;
  /** Closes the idle connections to a host and port. */
  closeIdle(host: string, port: number): void;
  close(): void;
}

interface PoolLimits {
  readonly idlePerHost: number;
  /** The maximum number of open connections. A new one closes the connection that has been idle the longest. */
  readonly total: number;
  /** How long an idle connection stays open, in milliseconds; shorter if the server announces a shorter timeout. */
  readonly idleMs: number;
  /** CA certificates (PEM) that replace Node's. */
  readonly ca?: string | undefined;
}

/** How long a connection attempt may take while the host has other addresses to try. */
const ADDRESS_TIMEOUT_MS = 1000;

/** Creates an empty pool. It verifies certificates and uses no proxy, regardless of environment variables. */
export function createConnectionPool({ idlePerHost, total, idleMs, ca }: PoolLimits): ConnectionPool {
  const open = new Set<Duplex>();
  /** Idle connections with their host and port, the longest idle first. */
  const idle = new Map<Duplex, string>();
  const hostOf = new WeakMap<Duplex, string>();
  const options = {
    keepAlive: true,
    maxFreeSockets: idlePerHost,
    timeout: idleMs,
    noDelay: true,
    autoSelectFamilyAttemptTimeout: ADDRESS_TIMEOUT_MS,
  };
  const http = tracked(new HttpAgent(options));
  const https = tracked(new HttpsAgent({ ...options, rejectUnauthorized: true, ...(ca !== undefined && { ca }) }));

  function tracked<A extends HttpAgent>(agent: A): A {
    const { createConnection, keepSocketAlive, reuseSocket } = agent;
    agent.createConnection = (options, callback) => {
      const [longestIdle] = idle.keys();
      if (open.size >= total && longestIdle !== undefined) close(longestIdle);
      const socket = createConnection.call(agent, options, callback);
      if (socket) {
        open.add(socket);
        hostOf.set(socket, `${options.host} ${options.port}`);
        socket.once('close', () => {
          open.delete(socket);
          idle.delete(socket);
        });
      }
      return socket;
    };
    agent.keepSocketAlive = socket => {
      const keep = keepSocketAlive.call(agent, socket);
      idle.set(socket, hostOf.get(socket)!);
      return keep;
    };
    agent.reuseSocket = (socket, request) => {
      idle.delete(socket);
      reuseSocket.call(agent, socket, request);
    };
    return agent;
  }

  function close(socket: Duplex): void {
    idle.delete(socket);
    socket.destroy();
  }

  return {
    http,
    https,
    closeIdle(host, port) {
      for (const [socket, key] of [...idle]) if (key === `${host} ${port}`) close(socket);
    },
    close() {
      http.destroy();
      https.destroy();
    },
  };
}
