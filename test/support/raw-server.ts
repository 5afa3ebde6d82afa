import { createServer, type Server, type Socket } from 'node:net';
import { networkInterfaces } from 'node:os';
import type { TestContext } from 'node:test';
import {
  type OutgoingClient,
  type OutgoingOptions,
  type OutgoingRequest,
  openOutgoingClient,
} from '../../src/lib/http/client/client.ts';
import type { Outcome } from '../../src/lib/http/client/outcome.ts';
import type { OutgoingRules } from '../../src/lib/http/client/target.ts';

const interfaces = Object.values(networkInterfaces()).flatMap(all => all ?? []);
export const hasIpv6 = interfaces.some(({ address }) => address === '::1');
export const ownAddresses = interfaces
  .filter(({ internal, scopeid }) => !internal && !scopeid)
  .map(({ address }) => address);

/** Handles one connection. */
export type Behavior = (socket: Socket, listener: Listener) => void;

/** A TCP or TLS server that counts. */
export interface Listener {
  readonly port: number;
  /** How many connections were accepted. */
  connections: number;
  /** How many connections are open. */
  open: number;
  /** How many requests were received. */
  requests: number;
  /** The bytes that were received, as Latin-1. */
  received: string;
}

/** Listens until the test ends. */
export async function listen(
  t: TestContext,
  behavior: Behavior,
  { host = '127.0.0.1', port = 0, server = createServer() }: { host?: string; port?: number; server?: Server } = {},
): Promise<Listener> {
  const sockets = new Set<Socket>();
  const listener: { -readonly [K in keyof Listener]: Listener[K] } = {
    port: 0,
    connections: 0,
    open: 0,
    requests: 0,
    received: '',
  };
  const isTls = 'setSecureContext' in server;
  server.on('connection', socket => {
    sockets.add(socket);
    listener.connections++;
    listener.open++;
    socket.on('error', () => undefined);
    socket.on('close', () => {
      sockets.delete(socket);
      listener.open--;
    });
  });
  server.on('tlsClientError', () => undefined);
  server.on(isTls ? 'secureConnection' : 'connection', socket => {
    socket.on('error', () => undefined);
    behavior(socket, listener);
  });
  await new Promise<void>((resolve, reject) => {
    server.on('error', reject);
    server.listen(port, host, resolve);
  });
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  listener.port = (server.address() as { port: number }).port;
  return listener;
}

/** Calls back for each complete request of a connection, with its index on that connection. */
export function onRequest(socket: Socket, listener: Listener, respond: (index: number) => void): void {
  let text = '';
  let index = 0;
  socket.on('data', chunk => {
    text += chunk.toString('latin1');
    listener.received += chunk.toString('latin1');
    for (;;) {
      const end = text.indexOf('\r\n\r\n');
      const length = Number(/content-length: (\d+)/i.exec(text)?.[1] ?? 0);
      if (end < 0 || text.length < end + 4 + length) return;
      text = text.slice(end + 4 + length);
      listener.requests++;
      respond(index++);
    }
  });
}

/** Responds to every request with the same bytes. */
export function respond(...parts: readonly (string | Buffer)[]): Behavior {
  return (socket, listener) =>
    onRequest(socket, listener, () => {
      for (const part of parts) socket.write(part);
    });
}

/** Responds to every request with the same bytes, and closes the connection. */
export function respondAndClose(...parts: readonly (string | Buffer)[]): Behavior {
  return (socket, listener) =>
    onRequest(socket, listener, () => socket.end(Buffer.concat(parts.map(p => Buffer.from(p)))));
}

/** Writes a part again and again once a request is received. */
export function endless(head: string, part: string, everyMs = 0): Behavior {
  return (socket, listener) =>
    onRequest(socket, listener, () => {
      socket.write(head);
      const more = () => {
        if (socket.destroyed) return;
        const goOn = socket.write(part);
        if (everyMs > 0) setTimeout(more, everyMs).unref();
        else if (goOn) setImmediate(more);
        else socket.once('drain', more);
      };
      more();
    });
}

export const ok = respond('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
export const silent: Behavior = (socket, listener) => onRequest(socket, listener, () => undefined);

export const loopback = { networks: ['127.0.0.1/32'] };

export function open(t: TestContext, rules: OutgoingRules, options?: OutgoingOptions): OutgoingClient {
  const outgoing = openOutgoingClient(rules, options);
  t.after(() => outgoing.close());
  return outgoing;
}

export const post = (outgoing: OutgoingClient, url: string, more: Partial<OutgoingRequest> = {}): Promise<Outcome> =>
  outgoing.post({ url, headers: { 'content-type': 'application/json' }, body: '{}', ...more });

/** Returns the status or the fault. */
export const resultOf = (outcome: Outcome) => ('fault' in outcome ? outcome.fault : outcome.status);
