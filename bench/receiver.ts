import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { asked, type Product } from './product.ts';

/** Who takes deliveries at once and answers 204, in this process: on the core for loads. */
export interface Receiver extends AsyncDisposable {
  readonly url: string;
  /** How many deliveries came. */
  readonly received: number;
  /** When the head of the first delivery about each animal was here, on the scale of `performance.now()`, by its id. */
  readonly arrivals: ReadonlyMap<number, number>;
}

/** Starts one on a free port of 127.0.0.1. */
export async function startReceiver(): Promise<Receiver> {
  let received = 0;
  const arrivals = new Map<number, number>();
  const server = createServer((request, response) => {
    const cameMs = performance.now();
    const parts: Buffer[] = [];
    request.on('data', part => parts.push(part));
    request.on('end', () => {
      response.writeHead(204).end();
      const { type, data } = JSON.parse(Buffer.concat(parts).toString());
      if (type === 'webhook.test') return;
      received++;
      if (!arrivals.has(data.id)) arrivals.set(data.id, cameMs);
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

/** Makes a webhook that wants everything; it is inactive. Its id. */
export async function makeWebhook(product: Product, { url }: Pick<Receiver, 'url'>): Promise<number> {
  return (await asked(product, '/webhooks', { url })).id;
}

/** From here on everything that happens is delivered. */
export async function activate(product: Product, webhookId: number): Promise<void> {
  await asked(product, `/webhooks/${webhookId}/activation`, {});
}

/** Nothing more is delivered; what is under way comes still. */
export async function deactivate(product: Product, webhookId: number): Promise<void> {
  await asked(product, `/webhooks/${webhookId}/deactivation`, {});
}
