import type { Measured } from './load.ts';
import type { Found } from './measurements.ts';
import { orderRow } from './rows.ts';
import { median, middle, type Rounds, ratio } from './turns.ts';

/** Everything that a measurement found; what was not measured is not there. */
export interface Results {
  readonly date: Date;
  readonly machine: string;
  readonly versions: Readonly<Record<string, string>>;
  readonly effort: { readonly seconds: number; readonly rounds: number };
  readonly disk: { readonly p50Ms: number; readonly p99Ms: number };
  readonly animals: { readonly small: number; readonly large: number };
  readonly peers?: readonly Found<'product' | 'nginx' | 'fastify'>[];
  readonly growth?: readonly Found<'small' | 'large'>[];
  readonly orders?: Rounds<'product' | 'many' | 'nginx'>;
  readonly mixed?: Rounds<'readsAlone' | 'reads' | 'writes'>;
  readonly memory?: { readonly idleMb: number; readonly loadedMb: number };
  readonly startsMs?: readonly number[];
  /** Or why it was left out. */
  readonly postgres?: readonly Found<'embedded' | 'postgres'>[] | string;
}

/** The least share of nginx's answers a second that a row is to reach. */
const shares: Readonly<Record<string, number>> = { list: 0.6, get: 0.45, create: 0.25 };
const ORDER_SHARE = 0.1;
/** Above this the disk, not the product, decides how many animals are added a second. */
const FLUSH_MS = 0.5;
const LIST_P99_MS = 5;
/** Rows that take at most so many times as long with the large store. */
const growing = ['first-page', 'middle-page', 'status'];
const TIMES = 1.3;
const START_MS = 700;
const IDLE_MB = 180;
const LOADED_MB = 300;

/** The results as a page. */
export function report(results: Results): string {
  const { date, machine, versions, effort, disk } = results;
  const programs = Object.entries(versions).map(([name, version]) => `${name} ${version}`);
  return [
    '# What was measured',
    `On ${date.toISOString().slice(0, 10)}, by \`npm run bench\`; [benchmarks](../docs/benchmarks.md) tells how it is measured and how to read it.`,
    [
      `- Machine: ${machine}.`,
      `- Versions: ${programs.join(', ')}.`,
      `- Each figure is the median of ${effort.rounds} rounds of ${effort.seconds} s.`,
      `- \`fdatasync\` of 4 KiB on this disk: ${ms(disk.p50Ms)} (p50), ${ms(disk.p99Ms)} (p99).`,
    ].join('\n'),
    ...section('Targets', targetTable(results)),
    ...section('Beside nginx and Fastify', results.peers && peerTable(results.peers)),
    ...section(
      `${count(results.animals.large)} animals against ${count(results.animals.small)}`,
      results.growth && growthTable(results.growth),
    ),
    ...section('Orders', results.orders && ordersTable(results.orders)),
    ...section('Writes beside reads', results.mixed && mixedTable(results.mixed)),
    ...section('PostgreSQL', typeof results.postgres === 'string' ? results.postgres : postgresTable(results.postgres)),
  ].join('\n\n');
}

function section(title: string, content: string | undefined): string[] {
  return content === undefined || content === '' ? [] : [`## ${title}`, content];
}

function targetTable(results: Results): string | undefined {
  const { peers = [], growth = [], disk, memory, startsMs, animals } = results;
  const rows: [what: string, target: string, measured: string, met: boolean | undefined][] = [];
  for (const { row, rounds } of peers) {
    const share = shares[row.name];
    if (share === undefined) continue;
    const { median } = ratio(rounds, 'product', 'nginx');
    const counts = row.name !== 'create' || disk.p50Ms <= FLUSH_MS;
    const target = `≥ ${share.toFixed(2)} of nginx${row.name === 'create' ? `, where \`fdatasync\` takes ≤ ${FLUSH_MS} ms` : ''}`;
    rows.push([row.title, target, median.toFixed(2), counts ? median >= share : undefined]);
    if (row.name === 'list') {
      const { p99Ms } = middle(rounds.product);
      rows.push([`${row.title}, p99`, `≤ ${LIST_P99_MS} ms`, ms(p99Ms), p99Ms <= LIST_P99_MS]);
    }
  }
  for (const { row, rounds } of growth) {
    if (!growing.includes(row.name)) continue;
    const { median } = ratio(rounds, 'small', 'large');
    const what = `${row.title}, ${count(animals.large)} animals against ${count(animals.small)}`;
    rows.push([what, `≤ ${TIMES} × the time`, `${median.toFixed(2)} ×`, median <= TIMES]);
  }
  if (results.orders !== undefined) {
    const share = ratio(results.orders, 'product', 'nginx').median;
    rows.push([orderRow.title, `≥ ${ORDER_SHARE.toFixed(2)} of nginx`, share.toFixed(2), share >= ORDER_SHARE]);
    const times = ratio(results.orders, 'product', 'many').median;
    const what = `${orderRow.title}, with many orders against few`;
    rows.push([what, `≤ ${TIMES} × the time`, `${times.toFixed(2)} ×`, times <= TIMES]);
  }
  if (startsMs !== undefined) {
    const time = median(startsMs);
    rows.push(['second start to the first 200', `≤ ${START_MS} ms`, `${Math.round(time)} ms`, time <= START_MS]);
  }
  if (memory !== undefined) {
    const of = `with ${count(animals.large)} animals`;
    const { idleMb, loadedMb } = memory;
    rows.push([`memory ${of}, idle`, `≤ ${IDLE_MB} MB`, `${Math.round(idleMb)} MB`, idleMb <= IDLE_MB]);
    rows.push([
      `memory ${of}, the most under load`,
      `≤ ${LOADED_MB} MB`,
      `${Math.round(loadedMb)} MB`,
      loadedMb <= LOADED_MB,
    ]);
  }
  if (rows.length === 0) return undefined;
  return table(
    ['What', 'Target', 'Measured', ''],
    rows.map(([what, target, measured, met]) => [
      what,
      target,
      measured,
      met === undefined ? 'does not count' : met ? 'met' : '**missed**',
    ]),
  );
}

function peerTable(found: readonly Found<'product' | 'nginx' | 'fastify'>[]): string {
  const head = ['Row', 'product', 'nginx', 'Fastify', 'of nginx (least–most)', 'of Fastify', 'p50', 'p99'];
  return table(
    head,
    found.map(({ row, rounds }) => {
      const toNginx = ratio(rounds, 'product', 'nginx');
      const { p50Ms, p99Ms } = middle(rounds.product);
      return [
        row.title,
        perSecond(rounds.product),
        perSecond(rounds.nginx),
        perSecond(rounds.fastify),
        `**${toNginx.median.toFixed(2)}** (${toNginx.least.toFixed(2)}–${toNginx.most.toFixed(2)})`,
        ratio(rounds, 'product', 'fastify').median.toFixed(2),
        ms(p50Ms),
        ms(p99Ms),
      ];
    }),
  );
}

function growthTable(found: readonly Found<'small' | 'large'>[]): string {
  return table(
    ['Row', 'small store', 'large store', 'times as long (least–most)', 'p50, large', 'p99, large'],
    found.map(({ row, rounds }) => {
      const times = ratio(rounds, 'small', 'large');
      const { p50Ms, p99Ms } = middle(rounds.large);
      return [
        row.title,
        perSecond(rounds.small),
        perSecond(rounds.large),
        `**${times.median.toFixed(2)}** (${times.least.toFixed(2)}–${times.most.toFixed(2)})`,
        ms(p50Ms),
        ms(p99Ms),
      ];
    }),
  );
}

function ordersTable(rounds: Rounds<'product' | 'many' | 'nginx'>): string {
  const titles = {
    product: 'few orders before, every animal available',
    many: 'the large store, with many orders before',
    nginx: 'nginx, the bytes of an order',
  };
  return table(
    ['Row', 'answers', 'of nginx', 'p50', 'p99'],
    (Object.keys(titles) as (keyof typeof titles)[]).map(side => {
      const { p50Ms, p99Ms } = middle(rounds[side]);
      const share = side === 'nginx' ? '' : ratio(rounds, side, 'nginx').median.toFixed(2);
      return [titles[side], perSecond(rounds[side]), share, ms(p50Ms), ms(p99Ms)];
    }),
  );
}

function mixedTable(rounds: Rounds<'readsAlone' | 'reads' | 'writes'>): string {
  const titles = {
    readsAlone: 'lists and single animals, 32 connections, alone',
    reads: 'the same, beside writes',
    writes: 'animals added by 32 connections beside them',
  };
  return table(
    ['Row', 'answers', 'p50', 'p99'],
    (Object.keys(titles) as (keyof typeof titles)[]).map(side => {
      const { p50Ms, p99Ms } = middle(rounds[side]);
      return [titles[side], perSecond(rounds[side]), ms(p50Ms), ms(p99Ms)];
    }),
  );
}

function postgresTable(found: readonly Found<'embedded' | 'postgres'>[] = []): string | undefined {
  if (found.length === 0) return undefined;
  return table(
    ['Row', 'embedded engine', 'PostgreSQL', 'p50', 'p99'],
    found.map(({ row, rounds }) => {
      const { p50Ms, p99Ms } = middle(rounds.postgres);
      return [row.title, perSecond(rounds.embedded), perSecond(rounds.postgres), ms(p50Ms), ms(p99Ms)];
    }),
  );
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

function perSecond(rounds: readonly Measured[]): string {
  return `${count(Math.round(middle(rounds).perSecond))}/s`;
}

function count(number: number): string {
  return number.toLocaleString('en-US');
}

function ms(time: number): string {
  return `${time < 1 ? time.toFixed(2) : time.toFixed(1)} ms`;
}
