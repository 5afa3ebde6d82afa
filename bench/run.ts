import { execFileSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import process from 'node:process';
import { compare } from './compare.ts';
import { describeMachine } from './machine.ts';
import { measureAccount } from './measure-account.ts';
import { measureDisk } from './measure-disk.ts';
import {
  measureBacklog,
  measureCreatesWithEvents,
  measureDeliveries,
  measureLatency,
  measureStreams,
} from './measure-events.ts';
import { measureFairness } from './measure-fairness.ts';
import { measureImport } from './measure-import.ts';
import { measurePages } from './measure-pages.ts';
import {
  type Effort,
  measureGrowth,
  measureMemory,
  measureMixed,
  measureOrders,
  measurePeers,
  measurePostgres,
  measureStart,
} from './measure-requests.ts';
import { measureSearch } from './measure-search.ts';
import { measureUpgrades } from './measure-upgrade.ts';
import { help, LARGE, type Options, readOptions } from './options.ts';
import { cores, killAll } from './processes.ts';
import { createStore } from './product.ts';
import { type Results, report } from './report.ts';
import { growthRows, peerRows, type Row } from './workloads.ts';

/** Pets in the store, unless a row says otherwise. */
const SMALL = 10_000;
/** Pets and orders in the small store of the orders row; all other pets are available. */
const ORDERABLE = 250_000;
const FEW_ORDERS = 1000;
const MANY_ORDERS = 100_000;
/** Maximum rounds of slow rows. */
const BRIEF_ROUNDS = 3;
/** Maximum duration of a full run with default options. */
const TIMEOUT_MS = 1_200_000;
const SHORT_TIMEOUT_MS = 120_000;

/** Runs `npm run bench`: measures, prints the page of results, and saves it after a full run. */
async function main(): Promise<void> {
  if (process.argv[2] === 'account') return measureAccount(process.argv.slice(3));
  if (process.argv[2] === 'compare') return compare(process.argv.slice(3));
  if (process.argv[2] === 'upgrade') return measureUpgrades(process.argv.slice(3));
  const options = readOptions(process.argv.slice(2));
  if (options === 'help') {
    process.stdout.write(help);
    return;
  }
  const { versions, machine } = describeMachine();
  // This process, like the load generator, must not use the server's core.
  execFileSync('taskset', ['-acp', String(cores.load), String(process.pid)], { stdio: 'ignore' });
  startTimeout(options);

  const measured = await measure(options);
  const page = `${report({ date: new Date(), machine, versions, ...measured })}\n`;
  process.stdout.write(page);
  if (options.only.length === 0 && !options.short && options.large === LARGE) {
    await writeFile(new URL('results.md', import.meta.url), page);
  }
}

async function measure(options: Options): Promise<Omit<Results, 'date' | 'machine' | 'versions'>> {
  const { seconds, rounds, large, only, short } = options;
  const effort: Effort = {
    seconds,
    rounds,
    warm: !short,
    progress: what => process.stderr.write(`Measuring: ${what}\n`),
  };
  const wants = (name: string) => only.length === 0 || only.includes(name);
  const wanted = (rows: readonly Row[]) => rows.filter(({ name }) => wants(name));
  const results: { -readonly [Name in keyof Results]?: Results[Name] } = {};

  using small = await createStore(SMALL);
  const disk = measureDisk(small.directory, 1);
  if (wanted(growthRows).length > 0 || wants('memory') || wants('order')) {
    process.stderr.write(`Filling a store with ${large} pets\n`);
    using largeStore = await createStore(large, { filling: { orders: Math.min(MANY_ORDERS, large / 10) } });
    if (wanted(growthRows).length > 0) {
      results.growth = await measureGrowth(small, largeStore, wanted(growthRows), effort);
    }
    if (wants('order')) {
      using few = await createStore(short ? 50_000 : ORDERABLE, { filling: { orders: FEW_ORDERS, available: true } });
      results.orders = await measureOrders(few, largeStore, effort);
    }
    if (wants('memory')) results.memory = await measureMemory(largeStore, effort);
  }
  if (wants('start')) results.startsMs = await measureStart(small, effort);
  // The measurements from here on add pets.
  if (wanted(peerRows).length > 0) results.peers = await measurePeers(small, wanted(peerRows), effort);
  if (wants('pages')) results.pages = await measurePages(small, effort);
  if (wants('mixed')) results.mixed = await measureMixed(small, effort);
  // The rounds of these rows take longer.
  const brief: Effort = { ...effort, rounds: Math.min(rounds, BRIEF_ROUNDS) };
  if (wants('latency')) results.latency = await measureLatency(small, brief);
  if (wants('create-delivered')) results.createsWithEvents = await measureCreatesWithEvents(small, brief);
  if (wants('deliveries')) {
    using store = await createStore(short ? 2000 : SMALL);
    results.deliveries = await measureDeliveries(store, brief);
  }
  if (wants('streams')) {
    using store = await createStore(SMALL);
    results.streams = await measureStreams(store, options.subscribers, brief);
  }
  if (wants('backlog')) results.backlog = await measureBacklog(options.backlog, { ...brief, seconds: 1 });
  if (wants('import')) results.imports = await measureImport(brief);
  if (wants('fairness')) {
    results.fairness = {
      sqlite: await measureFairness(effort),
      postgres: await onPostgres(url => measureFairness(effort, url)),
    };
  }
  if (wants('search')) results.searches = await measureSearch(large, brief);
  if (wants('postgres')) {
    results.postgres = await onPostgres(url => measurePostgres(url, SMALL, effort));
  }
  return { ...results, effort: { seconds, rounds }, disk, pets: { small: SMALL, large } };
}

/** Measures on PostgreSQL, or returns why that was skipped. */
async function onPostgres<T>(measure: (url: string) => Promise<T>): Promise<T | string> {
  const url = process.env.PETSTORE_TEST_DATABASE_URL ?? 'postgres://postgres@127.0.0.1:5432/postgres';
  return measure(url).catch((error: { code?: unknown } & Error) => {
    if (error.code !== 'ECONNREFUSED') throw error;
    return 'Skipped: no server is reachable at PETSTORE_TEST_DATABASE_URL.';
  });
}

/** Aborts a run that takes far too long. */
function startTimeout({ short, seconds, rounds }: Options): void {
  const timeoutMs = short ? SHORT_TIMEOUT_MS : TIMEOUT_MS * Math.max(1, (seconds * rounds) / 10);
  const message = `The benchmark took longer than ${Math.round(timeoutMs / 1000)} s and was aborted.`;
  setTimeout(() => abort(message), timeoutMs).unref();
}

let abortMessage: string | undefined;

/** Kills all processes, so that the run fails, cleans up and exits within 10 s. Safe to repeat. */
function abort(message: string): void {
  abortMessage ??= message;
  killAll();
  setTimeout(() => process.exit(1), 10_000).unref();
}

process.on('exit', killAll);
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => abort('The benchmark was aborted.'));
try {
  await main();
} catch (error) {
  process.stderr.write(`${abortMessage ?? (error as Error).message}\n`);
  process.exitCode = 1;
}
