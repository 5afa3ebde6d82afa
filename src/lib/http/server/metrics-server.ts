import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createServer } from '../node-http.ts';
import { close } from './close-listener.ts';
import { bind } from './listen.ts';

/**
 * Serves `GET /metrics` on a separate port, which only operators should be able to reach. Also serves `GET /livez`,
 * which API connections cannot delay there.
 */
export class MetricsServer {
  readonly #server: Server;

  /** @param text returns the metrics in the text format; it does not reject */
  constructor(text: () => Promise<string>) {
    const documents: Readonly<Record<string, () => Promise<string> | string>> = {
      '/metrics': text,
      '/livez': () => 'ok\n',
    };
    this.#server = createServer(async ({ method, url = '' }, response) => {
      const isRead = method === 'GET' || method === 'HEAD';
      const document = isRead && Object.hasOwn(documents, url) ? documents[url] : undefined;
      const body = (await document?.()) ?? 'Only GET /metrics and GET /livez are served here.\n';
      response.writeHead(document === undefined ? 404 : 200, {
        'Content-Type': 'text/plain; version=0.0.4; charset=utf-8',
        'X-Content-Type-Options': 'nosniff',
        'Cache-Control': 'no-store',
      });
      response.end(body);
    });
  }

  /** Starts listening and returns the port. */
  async listen(host: string, port: number): Promise<number> {
    await bind(this.#server, { host, port });
    return (this.#server.address() as AddressInfo).port;
  }

  close(): Promise<void> {
    this.#server.closeAllConnections();
    return close(this.#server);
  }
}
