import type { Measured } from './load.ts';
import { type Backlog, type DeliveryRate, RECEIVERS, type StreamResult } from './measure-events.ts';
import type { Fairness } from './measure-fairness.ts';
import type { Imports } from './measure-import.ts';
import type { Comparison } from './measure-requests.ts';
import type { SearchTime } from './measure-search.ts';
import { median, medianOf, type Rounds, ratio } from './rounds.ts';
import { createRow, orderRow } from './workloads.ts';

/** All results; those of rows that were not measured are absent. */
export interface Results {
  readonly date: Date;
  readonly machine: string;
  readonly versions: Readonly<Record<string, string>>;
  readonly effort: { readonly seconds: number; readonly rounds: number };
  readonly disk: { readonly p50Ms: number; readonly p99Ms: number };
  readonly pets: { readonly small: number; readonly large: number };
  readonly peers?: readonly Comparison<'product' | 'nginx' | 'fastify' | 'node' | 'afternoon'>[];
  readonly growth?: readonly Comparison<'small' | 'large'>[];
  readonly orders?: Rounds<'product' | 'many' | 'nginx'>;
  readonly mixed?: Rounds<'readsAlone' | 'reads' | 'writes'>;
  readonly pages?: Rounds<'alone' | 'besidePages'>;
  readonly memory?: { readonly idleMb: number; readonly loadedMb: number };
  readonly startsMs?: readonly number[];
  readonly latency?: readonly Measured[];
  readonly deliveries?: Readonly<Record<'one' | 'several', readonly DeliveryRate[]>>;
  readonly streams?: Readonly<Record<'many' | 'some', StreamResult>>;
  readonly createsWithEvents?: Rounds<'delivered' | 'alone'>;
  readonly backlog?: Backlog;
  readonly imports?: Imports;
  /** A string says why PostgreSQL was skipped. */
  readonly fairness?: { readonly sqlite: Fairness; readonly postgres: Fairness | string };
  readonly searches?: readonly SearchTime[];
  /** A string says why it was skipped. */
  readonly postgres?: readonly Comparison<'embedded' | 'postgres'>[] | string;
}

/** Target: the minimum ratio to the throughput of nginx. */
const nginxShares: Readonly<Record<string, number>> = { list: 0.6, get: 0.45, create: 0.25 };
const ORDER_SHARE = 0.1;
/** On a disk slower than this the target of creates does not apply. */
const FLUSH_MS = 0.5;
const LIST_P99_MS = 5;
/** The rows with a target for the ratio of the large store's time to the small store's. */
const growthTargets = ['first-page', 'middle-page', 'status'];
const GROWTH_MAX = 1.3;
const START_MS = 700;
const IDLE_MB = 180;
const LOADED_MB = 300;
const DELIVERED_P50_MS = 10;
const DELIVERED_P99_MS = 50;
const DELIVERIES_A_SECOND = 2000;
const STREAMS_MB = 500;
/** Target: the minimum ratio of creates whose events are delivered to creates without subscribers. */
const CREATE_KEEPS = 0.7;
/** Target: the minimum ratio of throughput with a backlog to throughput without. */
const BACKLOG_KEEPS = 0.9;
/** Target: the maximum ratio of the next delivery's time with a backlog to that without. Such medians vary by a fifth. */
const BACKLOG_LATENCY_MAX = 1.25;

/** Target: the minimum ratio of imported pets per second to creates. */
const IMPORT_SHARE = 0.5;
/** Target: the maximum ratio of the p99 of other traffic beside an import to that without. */
const IMPORT_P99_MAX = 2;

/** Target: the maximum p95 of an account's deliveries beside the imports of another account. */
const BESIDE_P95_MS = 250;

/** Returns the results as a Markdown page. */
export function report(results: Results): string {
  const { date, machine, versions, effort, disk } = results;
  const programs = Object.entries(versions).map(([name, version]) => `${name} ${version}`);
  return [
    '# Benchmark results',
    `On ${date.toISOString().slice(0, 10)}, by \`npm run bench\`; [benchmarks](../docs/operating/benchmarks.md) describes the method and the rows.`,
    [
      `- Machine: ${machine}.`,
      `- Versions: ${programs.join(', ')}.`,
      `- Each figure is the median of ${effort.rounds} rounds of ${effort.seconds} s.`,
      `- \`fdatasync\` of 4 KiB on this disk: ${ms(disk.p50Ms)} (p50), ${ms(disk.p99Ms)} (p99).`,
    ].join('\n'),
    ...section('Targets', targetTable(results)),
    ...section(
      'Compared with nginx, Fastify, node:http and an afternoon’s work',
      results.peers && peerTable(results.peers),
    ),
    ...section(
      `${count(results.pets.large)} pets compared with ${count(results.pets.small)}`,
      results.growth && growthTable(results.growth),
    ),
    ...section('Orders', results.orders && ordersTable(results.orders)),
    ...section('Reads and writes at once', results.mixed && mixedTable(results.mixed)),
    ...section('The list while 50 pages a second are read', results.pages && pagesTable(results.pages)),
    ...section('Webhooks and event streams', eventTable(results)),
    ...section('Imports', results.imports && importTable(results.imports)),
    ...section('Deliveries beside imports', fairnessTable(results)),
    ...section(`Searches among ${count(results.pets.large)} pets`, results.searches && searchTable(results.searches)),
    ...section('PostgreSQL', typeof results.postgres === 'string' ? results.postgres : postgresTable(results.postgres)),
  ].join('\n\n');
}

function section(title: string, content: string | undefined): string[] {
  return content === undefined || content === '' ? [] : [`## ${title}`, content];
}

type Target = readonly [what: string, target: string, measured: string, met: boolean | undefined];

function targetTable(results: Results): string | undefined {
  const { peers = [], growth = [], disk, memory, startsMs, pets } = results;
  const rows: Target[] = [];
  for (const { row, rounds } of peers) {
    const share = nginxShares[row.name];
    if (share === undefined) continue;
    const { median } = ratio(rounds, 'product', 'nginx');
    const counts = row.name !== 'create' || disk.p50Ms <= FLUSH_MS;
    const target = `≥ ${share.toFixed(2)} of nginx${row.name === 'create' ? `, where \`fdatasync\` takes ≤ ${FLUSH_MS} ms` : ''}`;
    rows.push([row.title, target, median.toFixed(2), counts ? median >= share : undefined]);
    if (row.name === 'list') {
      const { p99Ms } = medianOf(rounds.product);
      rows.push([`${row.title}, p99`, `≤ ${LIST_P99_MS} ms`, ms(p99Ms), p99Ms <= LIST_P99_MS]);
    }
  }
  for (const { row, rounds } of growth) {
    if (!growthTargets.includes(row.name)) continue;
    const { median } = ratio(rounds, 'small', 'large');
    const what = `${row.title}, ${count(pets.large)} pets compared with ${count(pets.small)}`;
    rows.push([what, `≤ ${GROWTH_MAX} × the time`, `${median.toFixed(2)} ×`, median <= GROWTH_MAX]);
  }
  if (results.orders !== undefined) {
    const share = ratio(results.orders, 'product', 'nginx').median;
    rows.push([orderRow.title, `≥ ${ORDER_SHARE.toFixed(2)} of nginx`, share.toFixed(2), share >= ORDER_SHARE]);
    const times = ratio(results.orders, 'product', 'many').median;
    const what = `${orderRow.title}, with many orders compared with few`;
    rows.push([what, `≤ ${GROWTH_MAX} × the time`, `${times.toFixed(2)} ×`, times <= GROWTH_MAX]);
  }
  if (startsMs !== undefined) {
    const time = median(startsMs);
    rows.push(['second start to the first 200', `≤ ${START_MS} ms`, `${Math.round(time)} ms`, time <= START_MS]);
  }
  if (memory !== undefined) {
    const of = `with ${count(pets.large)} pets`;
    const { idleMb, loadedMb } = memory;
    rows.push([`memory ${of}, idle`, `≤ ${IDLE_MB} MB`, `${Math.round(idleMb)} MB`, idleMb <= IDLE_MB]);
    rows.push([
      `memory ${of}, peak under load`,
      `≤ ${LOADED_MB} MB`,
      `${Math.round(loadedMb)} MB`,
      loadedMb <= LOADED_MB,
    ]);
  }
  for (const { search, processorUs, plainUs } of results.searches ?? []) {
    if (search.target === undefined) continue;
    const times = processorUs / plainUs;
    const target = `≤ ${search.target} × the processor time of a plain page`;
    rows.push([search.title, target, `${times.toFixed(1)} ×`, times <= search.target]);
  }
  if (results.imports !== undefined) {
    const { creates, importsPerSecond, traffic, trafficBeside } = results.imports;
    const share = median(importsPerSecond) / medianOf(creates).perSecond;
    rows.push([
      'imported pets per second',
      `≥ ${IMPORT_SHARE.toFixed(2)} of creates`,
      share.toFixed(2),
      share >= IMPORT_SHARE,
    ]);
    const times = medianOf(trafficBeside).p99Ms / medianOf(traffic).p99Ms;
    rows.push([
      'other traffic beside an import, p99',
      `≤ ${IMPORT_P99_MAX} × the time`,
      `${times.toFixed(2)} ×`,
      times <= IMPORT_P99_MAX,
    ]);
  }
  for (const [engine, { beside }] of fairnessByEngine(results)) {
    const what = `delivery beside imports of another account, p95, ${engine}`;
    rows.push([what, `≤ ${BESIDE_P95_MS} ms`, ms(beside.p95Ms), beside.p95Ms <= BESIDE_P95_MS]);
  }
  rows.push(...eventTargets(results));
  if (rows.length === 0) return undefined;
  return table(
    ['Row', 'Target', 'Measured', ''],
    rows.map(([what, target, measured, met]) => [
      what,
      target,
      measured,
      met === undefined ? 'does not apply' : met ? 'met' : '**missed**',
    ]),
  );
}

function eventTargets({ latency, deliveries, streams, createsWithEvents, backlog }: Results): Target[] {
  const rows: Target[] = [];
  const upTo = (what: string, measured: number, most: number, say: (value: number) => string) =>
    rows.push([what, `≤ ${say(most)}`, say(measured), measured <= most]);
  const atLeast = (what: string, measured: number, least: number, of: string) =>
    rows.push([what, `≥ ${least.toFixed(2)} of ${of}`, measured.toFixed(2), measured >= least]);
  if (latency !== undefined) {
    const { p50Ms, p99Ms } = medianOf(latency);
    upTo('from a change to its receiver, p50', p50Ms, DELIVERED_P50_MS, ms);
    upTo('from a change to its receiver, p99', p99Ms, DELIVERED_P99_MS, ms);
  }
  if (deliveries !== undefined) {
    const rate = median(deliveries.one.map(({ perSecond }) => perSecond));
    const target = `≥ ${count(DELIVERIES_A_SECOND)}/s`;
    rows.push(['deliveries to one receiver', target, `${count(Math.round(rate))}/s`, rate >= DELIVERIES_A_SECOND]);
  }
  for (const { subscribers, changesPerSecond, peakMb } of streams ? [streams.many, streams.some] : []) {
    const what = `memory with ${count(subscribers)} subscribers, ${count(changesPerSecond)} changes per second`;
    upTo(what, peakMb, STREAMS_MB, value => `${Math.round(value)} MB`);
  }
  if (createsWithEvents !== undefined) {
    const keeps = ratio(createsWithEvents, 'delivered', 'alone').median;
    atLeast(`${createRow.title}, with a webhook and a stream`, keeps, CREATE_KEEPS, 'that without');
  }
  if (backlog !== undefined) {
    const beside = `beside ${count(backlog.deliveries)} undelivered`;
    for (const { row, rounds } of backlog.rows) {
      atLeast(`${row.title}, ${beside}`, ratio(rounds, 'with', 'without').median, BACKLOG_KEEPS, 'that without');
    }
    const times = medianOf(backlog.latency.with).p50Ms / medianOf(backlog.latency.without).p50Ms;
    rows.push([
      `from a change to its receiver, p50, ${beside}`,
      `≤ ${BACKLOG_LATENCY_MAX} × the time`,
      `${times.toFixed(2)} ×`,
      times <= BACKLOG_LATENCY_MAX,
    ]);
  }
  return rows;
}

function peerTable(found: readonly Comparison<'product' | 'nginx' | 'fastify' | 'node' | 'afternoon'>[]): string {
  const head = [
    'Row',
    'product',
    'nginx',
    'Fastify',
    'of nginx (min–max)',
    'of Fastify',
    'node:http',
    'processor time, of node:http',
    'an afternoon’s server',
    'of it',
    'p50',
    'p99',
  ];
  return table(
    head,
    found.map(({ row, rounds }) => {
      const toNginx = ratio(rounds, 'product', 'nginx');
      const { p50Ms, p99Ms } = medianOf(rounds.product);
      return [
        row.title,
        perSecond(rounds.product),
        perSecond(rounds.nginx),
        perSecond(rounds.fastify),
        `**${toNginx.median.toFixed(2)}** (${toNginx.min.toFixed(2)}–${toNginx.max.toFixed(2)})`,
        ratio(rounds, 'product', 'fastify').median.toFixed(2),
        perSecond(rounds.node),
        processorTimes(rounds.product, rounds.node),
        perSecond(rounds.afternoon),
        `${ratio(rounds, 'product', 'afternoon').median.toFixed(2)} ×`,
        ms(p50Ms),
        ms(p99Ms),
      ];
    }),
  );
}

/** Returns the processor time per response of one side, and how many times that of the other it is. */
function processorTimes(one: readonly Measured[], other: readonly Measured[]): string {
  const [a, b] = [one, other].map(rounds => median(rounds.map(({ processorUs = Number.NaN }) => processorUs)));
  return `${a!.toFixed(1)} µs, ${(a! / b!).toFixed(1)} ×`;
}

function growthTable(found: readonly Comparison<'small' | 'large'>[]): string {
  return table(
    ['Row', 'small store', 'large store', 'times as long (min–max)', 'p50, large', 'p99, large'],
    found.map(({ row, rounds }) => {
      const times = ratio(rounds, 'small', 'large');
      const { p50Ms, p99Ms } = medianOf(rounds.large);
      return [
        row.title,
        perSecond(rounds.small),
        perSecond(rounds.large),
        `**${times.median.toFixed(2)}** (${times.min.toFixed(2)}–${times.max.toFixed(2)})`,
        ms(p50Ms),
        ms(p99Ms),
      ];
    }),
  );
}

function ordersTable(rounds: Rounds<'product' | 'many' | 'nginx'>): string {
  const titles = {
    product: 'few orders before, every pet available',
    many: 'the large store, with many orders before',
    nginx: 'nginx, the bytes of an order',
  };
  return table(
    ['Row', 'responses', 'of nginx', 'p50', 'p99'],
    (Object.keys(titles) as (keyof typeof titles)[]).map(side => {
      const { p50Ms, p99Ms } = medianOf(rounds[side]);
      const share = side === 'nginx' ? '' : ratio(rounds, side, 'nginx').median.toFixed(2);
      return [titles[side], perSecond(rounds[side]), share, ms(p50Ms), ms(p99Ms)];
    }),
  );
}

function pagesTable(rounds: Rounds<'alone' | 'besidePages'>): string {
  const { median, min, max } = ratio(rounds, 'besidePages', 'alone');
  const share = `${median.toFixed(2)} (${min.toFixed(2)}–${max.toFixed(2)})`;
  return table(
    ['Row', 'responses', 'beside pages / alone', 'p50', 'p99'],
    (['alone', 'besidePages'] as const).map(side => {
      const { p50Ms, p99Ms } = medianOf(rounds[side]);
      const title = side === 'alone' ? 'the list alone' : 'the list while pages are read';
      return [title, perSecond(rounds[side]), side === 'alone' ? '' : share, ms(p50Ms), ms(p99Ms)];
    }),
  );
}

function mixedTable(rounds: Rounds<'readsAlone' | 'reads' | 'writes'>): string {
  const titles = {
    readsAlone: 'lists and single pets by 32 connections, alone',
    reads: 'the same while pets are created',
    writes: 'pets created by 32 connections meanwhile',
  };
  return table(
    ['Row', 'responses', 'p50', 'p99'],
    (Object.keys(titles) as (keyof typeof titles)[]).map(side => {
      const { p50Ms, p99Ms } = medianOf(rounds[side]);
      return [titles[side], perSecond(rounds[side]), ms(p50Ms), ms(p99Ms)];
    }),
  );
}

function eventTable({ latency, deliveries, streams, createsWithEvents, backlog }: Results): string | undefined {
  const rows: (readonly [what: string, rate: string, p50: string, p99: string])[] = [];
  const add = (what: string, rounds: readonly Measured[], rate = perSecond(rounds)) => {
    const { p50Ms, p99Ms } = medianOf(rounds);
    rows.push([what, rate, ms(p50Ms), ms(p99Ms)]);
  };
  if (latency !== undefined) add('from a change to its receiver', latency);
  for (const side of ['one', 'several'] as const) {
    const found = deliveries?.[side];
    if (found === undefined) continue;
    const of = (field: keyof DeliveryRate) => count(Math.round(median(found.map(round => round[field]))));
    const what = `deliveries to ${side === 'one' ? 'one receiver' : `${RECEIVERS} receivers`}`;
    rows.push([what, `${of('perSecond')}/s, ${of('perProcessorSecond')} per second of processor time`, '', '']);
  }
  for (const result of streams ? [streams.many, streams.some] : []) {
    const { subscribers, changesPerSecond } = result;
    add(`${count(subscribers)} subscribers, ${count(changesPerSecond)} changes per second`, [result]);
  }
  if (createsWithEvents !== undefined) {
    add(`${createRow.title}, with a webhook and a stream`, createsWithEvents.delivered);
    add(`${createRow.title}, without`, createsWithEvents.alone);
  }
  if (backlog !== undefined) {
    const both = [
      ...backlog.rows.map(({ row, rounds }) => [row.title, rounds] as const),
      ['from a change to its receiver', backlog.latency] as const,
    ];
    for (const [title, rounds] of both) {
      add(`${title}, beside ${count(backlog.deliveries)} undelivered`, rounds.with);
      add(`${title}, beside none`, rounds.without);
    }
  }
  return rows.length === 0 ? undefined : table(['Row', 'per second', 'p50', 'p99'], rows);
}

function importTable(found: Imports): string {
  const latency = (rounds: readonly Measured[]) => {
    const { p50Ms, p99Ms } = medianOf(rounds);
    return [perSecond(rounds), ms(p50Ms), ms(p99Ms)];
  };
  const rate = (perSecond: readonly number[]) => [`${count(Math.round(median(perSecond)))}/s`, '', ''];
  return table(
    ['Row', 'per second', 'p50', 'p99'],
    [
      [createRow.title, ...latency(found.creates)],
      ['pets imported, alone', ...rate(found.importsPerSecond)],
      ['pets imported beside other traffic', ...rate(found.importsPerSecondBeside)],
      ['other traffic beside the import', ...latency(found.trafficBeside)],
      ['the same without an import', ...latency(found.traffic)],
    ],
  );
}

function fairnessByEngine({ fairness }: Results): [engine: string, found: Fairness][] {
  if (fairness === undefined) return [];
  const { sqlite, postgres } = fairness;
  return [
    ['SQLite', sqlite],
    ...(typeof postgres === 'string' ? [] : [['PostgreSQL', postgres] as [string, Fairness]]),
  ];
}

function fairnessTable(results: Results): string | undefined {
  const rows = fairnessByEngine(results).flatMap(([engine, { idle, beside }]) => [
    [`${engine}, without other traffic`, ms(idle.p50Ms), ms(idle.p95Ms)],
    [`${engine}, beside imports of another account`, ms(beside.p50Ms), ms(beside.p95Ms)],
  ]);
  return rows.length === 0 ? undefined : table(['From a request to its delivery', 'p50', 'p95'], rows);
}

function searchTable(found: readonly SearchTime[]): string {
  const [{ plainUs }] = found as [SearchTime];
  return table(
    ['Search', 'processor time', 'times a plain page'],
    [
      ['`GET /v1/pets`, a plain page', `${plainUs.toFixed(0)} µs`, '1.0'],
      ...found.map(({ search, processorUs }) => [
        search.title,
        `${processorUs.toFixed(0)} µs`,
        (processorUs / plainUs).toFixed(1),
      ]),
    ],
  );
}

function postgresTable(found: readonly Comparison<'embedded' | 'postgres'>[] = []): string | undefined {
  if (found.length === 0) return undefined;
  return table(
    ['Row', 'SQLite', 'PostgreSQL', 'p50', 'p99'],
    found.map(({ row, rounds }) => {
      const { p50Ms, p99Ms } = medianOf(rounds.postgres);
      return [row.title, perSecond(rounds.embedded), perSecond(rounds.postgres), ms(p50Ms), ms(p99Ms)];
    }),
  );
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

function perSecond(rounds: readonly Measured[]): string {
  return `${count(Math.round(medianOf(rounds).perSecond))}/s`;
}

function count(number: number): string {
  return number.toLocaleString('en-US');
}

function ms(time: number): string {
  return `${time < 1 ? time.toFixed(2) : time.toFixed(1)} ms`;
}
