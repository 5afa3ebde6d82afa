import process from 'node:process';
import type { Command } from './command.ts';
import { list } from './terminal.ts';

/** `petstore serve` */
export const command: Command = {
  name: 'serve',
  sentence: 'Serves production, staging and the message address until SIGTERM or Ctrl-C.',
  details:
    'Finishes what is in flight before it ends. With --json it prints one line once everything listens, with the real addresses.',
  settings: true,
  examples: [
    { line: 'petstore serve', sentence: 'with the embedded engine, its files in ./data' },
    {
      line: 'PETSTORE_PORT=80 PETSTORE_HOST=0.0.0.0 petstore serve',
      sentence: 'for everyone who can reach the machine',
    },
  ],
  async run({ config, clock, json, terminal }) {
    const [{ createApp }, { openLog }] = await Promise.all([import('../app.ts'), import('../lib/log.ts')]);
    const log = openLog();
    const stopped = stopSignal();
    const app = await createApp({ config, clock, log });
    const urls = await app.listen();
    terminal.print(json ? JSON.stringify(urls) : list(Object.entries(urls)));
    await stopped;
    await app.close();
    return undefined;
  },
};

/** Fulfilled by the first SIGTERM or SIGINT; later ones are not a second wish. */
function stopSignal(): Promise<void> {
  return new Promise(resolve => {
    process.on('SIGTERM', () => resolve());
    process.on('SIGINT', () => resolve());
  });
}
