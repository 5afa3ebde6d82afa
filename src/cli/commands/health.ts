import { setTimeout as sleep } from 'node:timers/promises';
import { parseDuration } from '../../lib/time.ts';
import { UserError } from '../../lib/user-error.ts';
import type { Config } from '../../model/config.ts';
import { urlOf } from '../../views/urls.ts';
import { type Command, UsageError } from '../command.ts';

/** The time limit of a request to the server. */
const REQUEST_MS = 5000;
/** The pause between two requests while the command waits. */
const POLL_MS = 200;

export const health: Command = {
  name: 'health',
  summary: 'Check that the server that runs with these settings can handle requests.',
  details:
    'Sends GET /readyz to the first port that is set. Exits with 1 if the server cannot be reached or returns another status than 200.',
  options: {
    wait: {
      description: 'How long to wait for the server, such as 60s; by default it checks once.',
      value: 'DURATION',
    },
  },
  examples: {
    'petstore health': 'as the health check of a container',
    'petstore health --wait 60s': 'after a start, until the server is ready',
  },
  async run({ options, config }) {
    const waitMs = parseDuration(options['wait'] ?? '0s');
    if (waitMs === undefined) throw new UsageError('--wait must be a duration like 30s or 2m.');
    const url = readinessUrl(config);
    const deadline = performance.now() + waitMs;
    while (true) {
      const { problem, value } = await check(url);
      if (problem === undefined) return { value, text: () => 'The server is ready.' };
      if (performance.now() >= deadline) throw new UserError(`${url} ${problem}.`);
      await sleep(POLL_MS);
    }
  },
};

function readinessUrl({ host, ports }: Config): string {
  const port = ports.production ?? ports.staging ?? ports.messages;
  if (!port) throw new UserError('Set PETSTORE_PORT, PETSTORE_STAGING_PORT or PETSTORE_MESSAGES_PORT to a fixed port.');
  return `${urlOf(host, port)}/readyz`;
}

/** Returns the body of `/readyz`, and the reason why the server is not ready. */
async function check(url: string): Promise<{ value?: unknown; problem?: string }> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(REQUEST_MS) });
    const text = await response.text();
    return response.ok ? { value: JSON.parse(text) } : { problem: `returned ${response.status}: ${text}` };
  } catch (error) {
    const { name, cause = error } = error as Error;
    const { code, message } = cause as NodeJS.ErrnoException;
    return { problem: name === 'TimeoutError' ? 'did not respond in time' : `cannot be reached (${code ?? message})` };
  }
}
