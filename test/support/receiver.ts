import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A delivery as received. */
export interface Received {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** A webhook receiver on this machine. */
export interface Receiver {
  readonly url: string;
  readonly received: readonly Received[];
  /** Handles the next deliveries; responds with 204 by default. */
  respond: (delivery: Received, response: ServerResponse) => void;
  close(): Promise<void>;
}

/** Starts a receiver that collects deliveries. */
export async function startReceiver(): Promise<Receiver> {
  const received: Received[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of request) chunks.push(chunk);
    } catch {
      // The sender closed the connection, so there is no delivery.
      return;
    }
    const delivery = { headers: request.headers, body: Buffer.concat(chunks).toString() };
    received.push(delivery);
    receiver.respond(delivery, response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const receiver: Receiver = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    received,
    respond: (_, response) => response.writeHead(204).end(),
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
  return receiver;
}
