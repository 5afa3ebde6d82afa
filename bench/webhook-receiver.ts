import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Product, sendJson } from './product.ts';

/** A webhook receiver in this process, on the core of the load generator. It responds 204 to every delivery at once. */
export interface Receiver extends AsyncDisposable {
  readonly url: string;
  /** Deliveries received. */
  readonly received: number;
  /** By pet id, when the head of the pet's first delivery arrived, on the scale of `performance.now()`. */
  readonly arrivals: ReadonlyMap<number, number>;
}

/** Starts a receiver on a free port of 127.0.0.1. */
export async function startReceiver(): Promise<Receiver> {
  let received = 0;
  const arrivals = new Map<number, number>();
  const server = createServer((request, response) => {
    const receivedMs = performance.now();
    const parts: Buffer[] = [];
    request.on('data', part => parts.push(part));
    request.on('end', () => {
      response.writeHead(204).end();
      const { type, data } = JSON.parse(Buffer.concat(parts).toString());
      if (type === 'webhook.test') return;
      received++;
      if (!arrivals.has(data.id)) arrivals.set(data.id, receivedMs);
    });
  });
  server.keepAliveTimeout = 60_000;
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    get received() {
      return received;
    },
    arrivals,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

/** Creates an inactive webhook for every event type; returns its id. */
export async function createWebhook(product: Product, { url }: Pick<Receiver, 'url'>): Promise<number> {
  return (await sendJson(product, '/webhooks', { url })).id;
}

/** Activates a webhook: later events are delivered to it. */
export async function activate(product: Product, webhookId: number): Promise<void> {
  await sendJson(product, `/webhooks/${webhookId}/activation`, {});
}

/** Deactivates a webhook. Requests that were already sent still arrive. */
export async function deactivate(product: Product, webhookId: number): Promise<void> {
  await sendJson(product, `/webhooks/${webhookId}/deactivation`, {});
}
