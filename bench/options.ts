import { parseArgs } from 'node:util';
import { growthRows, orderRow, peerRows } from './workloads.ts';

/** Options of the benchmark. */
export interface Options {
  /** Rows to measure; all where empty. */
  readonly only: readonly string[];
  /** Duration of each load. */
  readonly seconds: number;
  /** Rounds per row; the median counts. */
  readonly rounds: number;
  /** Pets in the large store. */
  readonly large: number;
  /** Subscribers of the stream at a low rate of changes. */
  readonly subscribers: number;
  /** Undelivered deliveries in the row `backlog`. */
  readonly backlog: number;
  readonly short: boolean;
}

/** Pets in the large store by default. */
export const LARGE = 1_000_000;

/** Descriptions of the rows that are not a single workload. */
const otherRows = {
  [orderRow.name]: `${orderRow.title}: compared with nginx, and in a large store compared with a small one`,
  mixed: 'reads and writes at once',
  pages: 'the list, while 50 pages a second are read',
  memory: 'memory with the large store, idle and under load',
  start: 'second start to the first 200',
  latency: 'from a change to its webhook receiver, at 100 changes per second',
  deliveries: 'deliveries per second to receivers that respond at once',
  streams: 'delay and memory with many stream subscribers, and with many changes',
  'create-delivered': 'creates with a webhook and a stream, compared with the same without',
  backlog: 'list, get, create and the next delivery, with a million undelivered deliveries',
  import: 'imports, compared with creates, and other traffic beside them',
  fairness: 'deliveries of one account, beside the imports of another, on both engines',
  search: 'searches, places and facets, compared with a plain page of the list',
  postgres: 'list, get and create on PostgreSQL (PETSTORE_TEST_DATABASE_URL)',
};

const rowNames = [...[...peerRows, ...growthRows].map(({ name }) => name), ...Object.keys(otherRows)];

export const help = `Compares the service on this machine with nginx, Fastify and node:http, which serve the same bytes, and with a small server.

Usage
  npm run bench -- [OPTIONS]
  npm run bench -- compare DIR [OPTIONS]    Compare with another checkout; see compare --help.
  npm run bench -- upgrade [OPTIONS]        Measure upgrades of databases; see upgrade --help.
  npm run bench -- account [OPTIONS]        Measure the pages and forms of a large account; see account --help.

Options
  --only ROW      Measure only this row. Repeatable.
  --seconds N     Length of each load (2; 1 with --short).
  --rounds N      Rounds per row, alternating with the peers (5; 1 with --short). The median counts.
  --pets N        Pets of the large store (1000000), at most 10000000. With another number, results.md is not written.
  --short         Measure every row once, with a large store of 50,000 pets. Takes 90 seconds.
  --help          Show this help.

Rows
${[...peerRows, ...growthRows].map(({ name, title }) => `  ${name.padEnd(18)}${title.replaceAll('`', '')}`).join('\n')}
${Object.entries(otherRows)
  .map(([name, title]) => `  ${name.padEnd(18)}${title.replaceAll('`', '')}`)
  .join('\n')}

Needs two cores, and taskset, wrk and nginx (on Debian: apt-get install util-linux wrk nginx-light). Data goes below
TMPDIR, which should be on a disk. Full runs write bench/results.md; docs/operating/benchmarks.md explains the figures.
`;

/**
 * Parses the command line.
 * @throws with a message for the user when an option is invalid
 */
export function readOptions(args: readonly string[]): Options | 'help' {
  const { values } = parseArgs({
    args: [...args],
    options: {
      only: { type: 'string', multiple: true, default: [] },
      seconds: { type: 'string' },
      rounds: { type: 'string' },
      pets: { type: 'string' },
      short: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return 'help';
  const unknown = values.only.find(name => !rowNames.includes(name));
  if (unknown !== undefined) throw new Error(`Unknown row: ${unknown}. The rows are ${rowNames.join(', ')}.`);
  const { short } = values;
  return {
    only: values.only,
    short,
    seconds: wholeNumber('seconds', values.seconds, short ? 1 : 2),
    rounds: wholeNumber('rounds', values.rounds, short ? 1 : 5),
    large: wholeNumber('pets', values.pets, short ? 50_000 : LARGE, 10_000_000),
    subscribers: short ? 1000 : 10_000,
    backlog: short ? 50_000 : 1_000_000,
  };
}

function wholeNumber(name: string, text: string | undefined, fallback: number, max = 99): number {
  if (text === undefined) return fallback;
  if (!/^[1-9]\d{0,7}$/.test(text) || Number(text) > max)
    throw new Error(`--${name} must be a whole number from 1 to ${max}.`);
  return Number(text);
}
