import { once } from 'node:events';
import { createServer } from 'node:net';

/** Below the ports that systems give to outgoing connections and to servers that listen on port 0: 32,768 on Linux. */
const FIRST = 10_000;
const LAST = 32_767;

/**
 * Returns a port of this machine that nothing listens on. Nothing takes it by itself before the test listens on it, nor
 * while a server of the test restarts.
 */
export async function freePort(): Promise<number> {
  while (true) {
    const port = FIRST + Math.floor(Math.random() * (LAST - FIRST + 1));
    const server = createServer();
    const isFree = await new Promise<boolean>(resolve => {
      server.once('error', () => resolve(false));
      server.listen(port, '127.0.0.1', () => resolve(true));
    });
    if (!isFree) continue;
    server.close();
    await once(server, 'close');
    return port;
  }
}
