import { parseArgs } from 'node:util';
import { growthRows, orderRow, peerRows } from './rows.ts';

/** How a measurement is made. */
export interface Options {
  /** Rows to measure; all where empty. */
  readonly only: readonly string[];
  /** How long each load lasts. */
  readonly seconds: number;
  /** How often each is measured; the median counts. */
  readonly rounds: number;
  /** How many animals the large store holds. */
  readonly large: number;
  /** How many follow the stream at a slow rate of changes. */
  readonly subscribers: number;
  /** How many deliveries wait where many do. */
  readonly undelivered: number;
  readonly short: boolean;
}

/** Rows that are no loads of one kind, with what they measure. */
const otherRows = {
  [orderRow.name]: `${orderRow.title}: beside nginx, and with many orders and animals beside few`,
  mixed: 'writes beside reads',
  memory: 'memory with the large store, idle and under load',
  start: 'second start to the first 200',
  latency: 'from a change to the receiver of a webhook, 100 changes a second',
  deliveries: 'deliveries a second to receivers that take them at once',
  streams: 'memory with many subscribers of the stream, and with many changes',
  'create-delivered': 'adding animals with a webhook and a stream, beside the same without',
  backlog: 'list, get, create and the next delivery beside a million undelivered ones',
  postgres: 'list, get and create on PostgreSQL (PETSTORE_TEST_DATABASE_URL)',
};

const rowNames = [...[...peerRows, ...growthRows].map(({ name }) => name), ...Object.keys(otherRows)];

export const help = `Measures the product beside nginx and a bare Fastify that serve the same bytes, on this machine.

Usage
  npm run bench -- [OPTIONS]

Options
  --only ROW      Measure only this row; may be given several times.
  --seconds N     How long each load lasts (2; 1 with --short).
  --rounds N      How often each is measured, in turns with its peers; the median counts (5; 1 with --short).
  --short         Everything once and briefly, with a large store of 50,000 animals: a minute and a half.
  --help          Show this help.

Rows
${[...peerRows, ...growthRows].map(({ name, title }) => `  ${name.padEnd(18)}${title.replaceAll('`', '')}`).join('\n')}
${Object.entries(otherRows)
  .map(([name, title]) => `  ${name.padEnd(18)}${title.replaceAll('`', '')}`)
  .join('\n')}

Needs two cores, and taskset, wrk and nginx (on Debian: apt-get install util-linux wrk nginx-light). The data lies below
TMPDIR, which should be on a disk. Whole runs write bench/results.md; docs/operating/benchmarks.md tells how to read it.
`;

/**
 * The options of a command line.
 * @throws with a sentence, when it is wrong
 */
export function readOptions(args: readonly string[]): Options | 'help' {
  const { values } = parseArgs({
    args: [...args],
    options: {
      only: { type: 'string', multiple: true, default: [] },
      seconds: { type: 'string' },
      rounds: { type: 'string' },
      short: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return 'help';
  const wrong = values.only.find(name => !rowNames.includes(name));
  if (wrong !== undefined) throw new Error(`There is no row ${wrong}; the rows are ${rowNames.join(', ')}.`);
  const { short } = values;
  return {
    only: values.only,
    short,
    seconds: wholeNumber('seconds', values.seconds, short ? 1 : 2),
    rounds: wholeNumber('rounds', values.rounds, short ? 1 : 5),
    large: short ? 50_000 : 1_000_000,
    subscribers: short ? 1000 : 10_000,
    undelivered: short ? 50_000 : 1_000_000,
  };
}

function wholeNumber(name: string, text: string | undefined, usual: number): number {
  if (text === undefined) return usual;
  if (!/^[1-9]\d?$/.test(text)) throw new Error(`--${name} must be a whole number from 1 to 99.`);
  return Number(text);
}
