import type { ListenSummary } from '../../../sdk/listen/listen.ts';
import { RETRY_SECONDS } from '../../../sdk/listen/retries.ts';
import { type Command, type Invocation, UsageError } from '../command.ts';

/** Posts the events of a store, which can be anywhere, to a receiver on this machine. The SDK has the same command. */
export const listenCommand = {
  name: 'listen',
  summary: 'Post the events of a store to a receiver on this machine, signed as webhooks are, until Ctrl-C.',
  details: `Follows the event stream and continues after a lost connection. Prints the time, type, status, duration and id of each
event. The order of the events is kept: each waits until the previous one is done. Redirects are not followed.

The API key comes from PETSTORE_API_KEY, from the file that PETSTORE_API_KEY_FILE names, or from a prompt. It needs the
scope events:read. The signing secret is new for each start, unless PETSTORE_WEBHOOK_SECRET is set.`,
  options: {
    url: {
      description: 'The base URL of the API, such as http://localhost:8081/v1.',
      value: 'URL',
      required: true,
    },
    'forward-to': {
      description: 'The URL of the receiver, which must be on this machine.',
      value: 'URL',
      required: true,
    },
    types: {
      description: 'Only events of these types; order.* stands for all types of a resource.',
      value: 'TYPES',
      repeatable: true,
    },
    since: { description: 'Start after this event, such as evt_5. By default, start with new events.', value: 'EVENT' },
    retry: {
      description: `Repeat failed posts as webhooks do, but sooner: up to ${RETRY_SECONDS.length} times, after ${RETRY_SECONDS.join(', ')} seconds.`,
    },
    'allow-remote': { description: 'Accept a receiver on another machine.' },
  },
  examples: {
    'PETSTORE_API_KEY_FILE=key.txt petstore listen --url http://localhost:8081/v1 --forward-to http://localhost:3000/hook':
      'forward every event that the key can see',
    "petstore listen --url https://staging.example.org/v1 --forward-to http://localhost:3000/hook --types 'order.*' --retry":
      'only the events of orders, with retries; asks for the key',
  },
  check(args) {
    if (!args.some(arg => /petstore_(live|test)_[\dA-Za-z]+_/.test(arg))) return;
    const why = 'An argument contains an API key, which other programs can read there.';
    throw new UsageError(`${why} Create another key, and set PETSTORE_API_KEY or PETSTORE_API_KEY_FILE instead.`);
  },
  async run({ options, json, terminal }: Pick<Invocation, 'options' | 'json' | 'terminal'>) {
    const interruption = new AbortController();
    const interrupt = () => interruption.abort();
    for (const signal of SIGNALS) process.once(signal, interrupt);
    try {
      const { listen } = await import('../../../sdk/listen/listen.ts');
      const { readHidden, style, printError } = terminal;
      const print = json ? printError : terminal.print;
      const io = { environment: process.env, print, printError, readHidden, style, signal: interruption.signal };
      const summary = await listen(options, io);
      return { value: summary, text: () => textOf(summary) };
    } finally {
      for (const signal of SIGNALS) process.off(signal, interrupt);
    }
  },
} satisfies Command;

const SIGNALS = ['SIGINT', 'SIGTERM'] as const;

function textOf({ delivered, failed, lastEventId }: ListenSummary): string {
  const more = lastEventId === undefined ? '' : ` Continue with --since ${lastEventId}.`;
  return `Stopped: ${delivered} delivered, ${failed} failed.${more}`;
}
