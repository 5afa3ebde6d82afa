import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Metrics } from '../../metrics.ts';
import { bind, close } from './listen.ts';

/** Serves `GET /metrics` on a port of its own, which only operators should be able to reach. */
export class MetricsServer {
  readonly #server: Server;

  constructor(metrics: Metrics) {
    this.#server = createServer((request, response) => {
      const found = request.url === '/metrics' && (request.method === 'GET' || request.method === 'HEAD');
      response.writeHead(found ? 200 : 404, {
        'Content-Type': 'text/plain; version=0.0.4; charset=utf-8',
        'X-Content-Type-Options': 'nosniff',
        'Cache-Control': 'no-store',
      });
      response.end(found ? metrics.text() : 'Only GET /metrics is served here.\n');
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
