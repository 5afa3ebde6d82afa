import { execFileSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import process from 'node:process';
import { compare } from './compare.ts';
import { measureDisk } from './disk.ts';
import { lookAtMachine } from './machine.ts';
import {
  type Effort,
  measureBesidePeers,
  measureGrowth,
  measureMemory,
  measureMixed,
  measureOrders,
  measurePostgres,
  measureStart,
} from './measurements.ts';
import { help, type Options, readOptions } from './options.ts';
import { cores, endAll } from './processes.ts';
import { makeStore } from './product.ts';
import { type Results, report } from './report.ts';
import { growthRows, peerRows, type Row } from './rows.ts';
import {
  measureBacklog,
  measureCreateDelivered,
  measureDeliveries,
  measureLatency,
  measureStreams,
} from './what-happens.ts';

/** The store that all figures are for where none is named. */
const SMALL = 10_000;
/** Orders are measured in a store of animals that are all available, with few orders before; beside the large one. */
const ORDERABLE = 250_000;
const FEW_ORDERS = 1000;
const MANY_ORDERS = 100_000;
/** How often rows are measured at most whose rounds take long. */
const BRIEF_ROUNDS = 3;
/** How long a whole run may take at its usual effort. */
const BOUND_MS = 600_000;
const SHORT_BOUND_MS = 120_000;

/** `npm run bench`: measures, prints the page of results, and keeps it when it is whole. */
async function main(): Promise<void> {
  if (process.argv[2] === 'compare') return compare(process.argv.slice(3));
  const options = readOptions(process.argv.slice(2));
  if (options === 'help') {
    process.stdout.write(help);
    return;
  }
  const { versions, machine } = lookAtMachine();
  // What measures stays away from what is measured, this process included.
  execFileSync('taskset', ['-acp', String(cores.load), String(process.pid)], { stdio: 'ignore' });
  boundTime(options);

  const measured = await measure(options);
  const page = `${report({ date: new Date(), machine, versions, ...measured })}\n`;
  process.stdout.write(page);
  if (options.only.length === 0 && !options.short) {
    await writeFile(new URL('results.md', import.meta.url), page);
  }
}

async function measure(options: Options): Promise<Omit<Results, 'date' | 'machine' | 'versions'>> {
  const { seconds, rounds, large, only, short } = options;
  const effort: Effort = {
    seconds,
    rounds,
    warm: !short,
    progress: what => process.stderr.write(`Measures ${what}.\n`),
  };
  const wants = (name: string) => only.length === 0 || only.includes(name);
  const wanted = (rows: readonly Row[]) => rows.filter(({ name }) => wants(name));
  const results: { -readonly [Name in keyof Results]?: Results[Name] } = {};

  using small = await makeStore(SMALL);
  const disk = measureDisk(small.directory, 1);
  if (wanted(growthRows).length > 0 || wants('memory') || wants('order')) {
    effort.progress(`how a store of ${large} animals is filled`);
    using largeStore = await makeStore(large, { filling: { orders: Math.min(MANY_ORDERS, large / 10) } });
    if (wanted(growthRows).length > 0) {
      results.growth = await measureGrowth(small, largeStore, wanted(growthRows), effort);
    }
    if (wants('order')) {
      using few = await makeStore(short ? 50_000 : ORDERABLE, { filling: { orders: FEW_ORDERS, available: true } });
      results.orders = await measureOrders(few, largeStore, effort);
    }
    if (wants('memory')) results.memory = await measureMemory(largeStore, effort);
  }
  if (wants('start')) results.startsMs = await measureStart(small, effort);
  // From here on there are more animals after each measurement than before.
  if (wanted(peerRows).length > 0) results.peers = await measureBesidePeers(small, wanted(peerRows), effort);
  if (wants('mixed')) results.mixed = await measureMixed(small, effort);
  // These rows are longer ones.
  const brief: Effort = { ...effort, rounds: Math.min(rounds, BRIEF_ROUNDS) };
  if (wants('latency')) results.latency = await measureLatency(small, brief);
  if (wants('create-delivered')) results.createDelivered = await measureCreateDelivered(small, brief);
  if (wants('deliveries')) {
    using store = await makeStore(short ? 2000 : SMALL);
    results.deliveries = await measureDeliveries(store, brief);
  }
  if (wants('streams')) {
    using store = await makeStore(SMALL);
    results.streams = await measureStreams(store, options.subscribers, brief);
  }
  if (wants('backlog')) results.backlog = await measureBacklog(options.undelivered, { ...brief, seconds: 1 });
  if (wants('postgres')) {
    const url = process.env.PETSTORE_TEST_DATABASE_URL ?? 'postgres://postgres@127.0.0.1:5432/postgres';
    results.postgres = await measurePostgres(url, SMALL, effort).catch((error: { code?: unknown } & Error) => {
      if (error.code !== 'ECONNREFUSED') throw error;
      return 'Left out: no server answers at PETSTORE_TEST_DATABASE_URL.';
    });
  }
  return { ...results, effort: { seconds, rounds }, disk, animals: { small: SMALL, large } };
}

/** Ends what takes far longer than it should. */
function boundTime({ short, seconds, rounds }: Options): void {
  const boundMs = short ? SHORT_BOUND_MS : BOUND_MS * Math.max(1, (seconds * rounds) / 10);
  setTimeout(
    () => end(`The measurement took longer than ${Math.round(boundMs / 1000)} s and was ended.`),
    boundMs,
  ).unref();
}

let whyEnded: string | undefined;

/** Ends the measurement early and lets everything go that it holds, within 10 s. Safe to repeat. */
function end(why: string): void {
  whyEnded ??= why;
  endAll();
  setTimeout(() => process.exit(1), 10_000).unref();
}

process.on('exit', endAll);
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => end('The measurement was ended.'));
try {
  await main();
} catch (error) {
  process.stderr.write(`${whyEnded ?? (error as Error).message}\n`);
  process.exitCode = 1;
}
