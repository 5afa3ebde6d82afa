import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { pages } from '../src/main/pages.ts';
import { createDatabase, migrateDatabase } from '../test/support/engines.ts';
import { type Reply, serve } from '../test/support/serving.ts';
import { signedInTo, type Visitor } from '../test/web/session.ts';
import { copyToPostgres, fillAccount, sizes } from './account-fill.ts';
import { median } from './rounds.ts';

export const accountHelp = `Measures the pages and forms of a signed-in member of a large account.

Usage
  npm run bench -- account [OPTIONS]

The account has ${Object.entries(sizes)
  .map(([name, rows]) => `${rows} ${name}`)
  .join(', ')}.
Half of the messages and all changes are of one animal. Each line has the median and the worst processor time of the
process, which includes the client, and the median and the worst time until the response has arrived.

Options
  --only TEXT     Measure only requests whose line contains the text.
  --rounds N      Requests of each line, after two that do not count (20).
  --engine NAME   sqlite or postgres (PETSTORE_TEST_DATABASE_URL); both by default. Repeatable.
`;

/** The promised maximum, in milliseconds. */
const PROMISED_MS = 100;
const WARM_ROUNDS = 2;

/** A line of the table. */
interface Line {
  readonly title: string;
  /** Prepares a request, which is then measured. @param round from 0 */
  prepare(round: number): Promise<() => Promise<Reply>>;
  /** The number of rounds, if it is less than that of the others. */
  readonly rounds?: number;
}

/** Fills an account on each engine, and prints the times of its pages and forms. */
export async function measureAccount(args: readonly string[]): Promise<void> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      only: { type: 'string', default: '' },
      rounds: { type: 'string', default: '20' },
      engine: { type: 'string', multiple: true, default: ['sqlite', 'postgres'] },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    process.stdout.write(accountHelp);
    return;
  }
  for (const engine of values.engine) await measureOn(engine, values.only, Number(values.rounds));
}

async function measureOn(engine: string, only: string, rounds: number): Promise<void> {
  await using opened = new AsyncDisposableStack();
  const owner = await filled(engine, opened);
  process.stdout.write(`\n| ${engine} | processor | worst | response | worst |\n| --- | --- | --- | --- | --- |\n`);
  const slow: string[] = [];
  for (const line of [...(await shown(owner)), ...submitted(owner), ...lastPages(owner)]) {
    if (!line.title.includes(only)) continue;
    const { status, columns, medianMs } = await measure(line, Math.min(rounds, line.rounds ?? rounds));
    const title = `${line.title}${[200, 303].includes(status) ? '' : ` (${status})`}`;
    process.stdout.write(`| ${title} | ${columns.map(ms => `${ms.toFixed(1)} ms`).join(' | ')} |\n`);
    if (medianMs > PROMISED_MS) slow.push(title);
  }
  process.stdout.write(`Above ${PROMISED_MS} ms: ${slow.join(', ') || 'none'}\n`);
}

/** Starts the service with a filled account, and returns its owner. */
async function filled(engine: string, opened: AsyncDisposableStack): Promise<Visitor> {
  const settings = {
    PETSTORE_PAGES_PER_MINUTE: '1000000',
    PETSTORE_SMTP_URL: 'smtp://127.0.0.1:1',
    PETSTORE_MAIL_FROM: 'store@example.org',
  };
  const onSqlite = await serve({ environment: settings });
  opened.defer(() => onSqlite.stop());
  const owner = await fillAccount(onSqlite);
  if (engine === 'sqlite') return owner;
  const { url, remove } = await createDatabase({ empty: true });
  opened.defer(remove);
  await migrateDatabase(url);
  await copyToPostgres(onSqlite, url);
  await onSqlite.stop();
  const service = await serve({ environment: { ...settings, PETSTORE_DATABASE_URL: url } });
  opened.defer(() => service.stop());
  return signedInTo(service, owner.accountId);
}

async function measure({ prepare }: Line, rounds: number) {
  const processor: number[] = [];
  const response: number[] = [];
  let status = 0;
  for (let round = 0; round < rounds + WARM_ROUNDS; round++) {
    const send = await prepare(round);
    // Earlier requests have ended, with all that follows their responses.
    await sleep(5);
    const before = process.cpuUsage();
    const startMs = performance.now();
    ({ status } = await send());
    const ms = performance.now() - startMs;
    await sleep(5);
    const { user, system } = process.cpuUsage(before);
    if (round < WARM_ROUNDS) continue;
    response.push(ms);
    processor.push((user + system) / 1000);
  }
  return {
    status,
    columns: [median(processor), Math.max(...processor), median(response), Math.max(...response)],
    medianMs: median(processor),
  };
}

/** Returns the parameters of paths: of several, those with the most rows. */
async function existing(owner: Visitor): Promise<Readonly<Record<string, string>>> {
  const linked = async (path: string, link: RegExp) => link.exec((await owner.open(path)).text)![1]!;
  return {
    petId: '1',
    messageId: `msg_${sizes.messages}`,
    webhookId: '1',
    deliveryId: await linked('/webhooks/1', /\/deliveries\/(\w+)/),
    keyId: await linked('/keys', / href="\/keys\/((?!new)\w+)"/),
    orderId: '2',
    holdId: '1',
    importId: '50',
    personId: '5',
  };
}

async function shown(owner: Visitor): Promise<Line[]> {
  const parameters = await existing(owner);
  const paths = pages
    .filter(({ access, show }) => access === 'account' && show)
    .map(({ path }) => path.replaceAll(/\{(\w+)\}/g, (_, name: string) => parameters[name] ?? '1'));
  const animals = (query: string) => `/shelter/animals?${query}`;
  const queries = [
    ...['status=any', 'status=sold', 'status=any&sort=name', 'status=any&sort=longest', 'status=any&category=3'],
    ...['tag=shy', 'tag=Litter+7', 'show=waiting', 'show=no-photo', 'show=no-description', 'show=messages'],
    ...['q=bella', 'q=A-105000', 'q=900000000005000', 'q=nothing', 'status=any&q=bella&tag=shy&category=3&sort=name'],
  ].map(animals);
  const ofBulk = ['status', 'category', 'add-tags', 'remove-tags', 'group', 'delete'].map(
    name => `/shelter/animals/change?change=${name}&all=yes`,
  );
  const lists = ['unread', 'archived', 'spam'].flatMap(folder => [
    `/shelter/messages?show=${folder}`,
    `/shelter/messages?show=${folder}&animal=1`,
  ]);
  const others = ['/shelter/messages?animal=1', '/shelter/messages?animal=500', '/shelter/orders?show=all'];
  const paged = ['/requests?status=404', '/requests?requestId=r1', '/webhooks/1?status=failed'];
  return [...paths, ...queries, ...ofBulk, ...lists, ...others, ...paged].map(path => ({
    title: path,
    prepare: async () => () => owner.open(path),
  }));
}

function lastPages(owner: Visitor): Line[] {
  const lists = ['/shelter/animals?status=any&sort=name', '/shelter/messages', '/shelter/messages?animal=1'];
  return [...lists, '/shelter/animals/1/history', '/shelter/orders?show=all', '/webhooks/1', '/requests'].map(list => {
    let path: string | undefined;
    return {
      title: `${list}, last page`,
      async prepare() {
        path ??= await lastOf(owner, list);
        return () => owner.open(path!);
      },
    };
  });
}

/** Follows the links of a list to its last page. */
async function lastOf(owner: Visitor, list: string): Promise<string> {
  for (let path = list; ; ) {
    const next = / rel="next" href="([^"]+)"/.exec((await owner.open(path)).text)?.[1];
    if (next === undefined) return path;
    path = unescaped(next);
  }
}

const BULK = '/shelter/animals/change';
/** Few, because each round of deletions takes 500 animals away. */
const BULK_ROUNDS = 5;

function submitted(owner: Visitor): Line[] {
  const form = (
    title: string,
    from: (round: number) => string,
    entries: (round: number) => Readonly<Record<string, string>>,
    to: (round: number) => string = from,
    most?: number,
  ): Line => ({
    title: `POST ${title}`,
    ...(most !== undefined && { rounds: most }),
    async prepare(round) {
      const fields = fieldsOf((await owner.open(from(round))).text, to(round), Object.keys(entries(round))[0]!);
      return () => owner.submit(to(round), { ...fields, ...entries(round) });
    },
  });
  const bulk = (change: string, entries: (round: number) => Readonly<Record<string, string>>) => {
    const from = `${BULK}?change=${change}&all=yes&list=status%3Dany%26sort%3Dname`;
    return form(
      `500 animals: ${change}`,
      () => from,
      entries,
      () => BULK,
      BULK_ROUNDS,
    );
  };
  const animal = (round: number) => `/shelter/animals/${8000 + round}`;
  const message = (round: number) => `/shelter/messages/msg_${19_001 + 20 * round}`;
  const spare = (round: number) => `/shelter/animals/${6001 + round * 10}/reservation`;
  const order = (first: number) => (round: number) => `/shelter/orders/${first + 5 * round}`;
  const hold = (round: number) => `/shelter/holds/${1 + 2 * round}`;
  const to = (round: number) => ({ step: ['archive', 'inbox'][round % 2]! });
  return [
    form('save an animal', animal, round => ({ name: `Renamed ${round}` })),
    form(
      'add an animal',
      () => '/shelter/animals/new',
      round => ({ name: `New ${round}`, categoryId: '1' }),
    ),
    form(
      'edit in place',
      round => `${animal(round)}/status`,
      () => ({ 'price/amount': '25' }),
    ),
    form(
      'delete an animal',
      round => `/shelter/animals/${7000 + round}/deletion`,
      () => ({}),
    ),
    form('reply', message, () => ({ reply: 'Yes, come and see.' })),
    form('note', message, () => ({ note: 'Called.' })),
    form('assign', message, () => ({ assignee: '5' })),
    form('archive and put back', () => message(1), to),
    form('mark as unread', message, () => ({ step: 'unread' })),
    form(
      'spam',
      round => `/shelter/messages/msg_${11 + 20 * round}`,
      () => ({ step: 'spam' }),
    ),
    form('hold', spare, () => ({ purpose: 'hold', period: 'a day' })),
    form(
      'hand over without an order',
      round => spare(100 + round),
      () => ({ purpose: 'order', handOver: 'now' }),
    ),
    form('extend a hold', hold, () => ({ period: '3 days' })),
    form('release a hold', hold, () => ({})),
    form('approve an order', order(7), () => ({ step: 'approval' })),
    form('hand over an order', order(8), () => ({ step: 'delivery' })),
    form('cancel an order', order(9), () => ({ step: 'cancellation' })),
    form(
      'save the organization',
      () => '/shelter/organization',
      round => ({ name: `Shelter ${round}` }),
    ),
    form(
      'add a webhook',
      () => '/webhooks/new',
      round => ({ url: `https://example.org/new/${round}` }),
    ),
    form(
      'create a key',
      () => '/keys/new',
      round => ({ name: `Key ${round}` }),
    ),
    bulk('status', round => ({ status: round % 2 === 0 ? 'pending' : 'available' })),
    bulk('category', round => ({ category: String(1 + (round % 8)) })),
    bulk('add-tags', round => ({ tags: `tag ${round % 9}` })),
    bulk('remove-tags', round => ({ tags: `tag ${round % 9}` })),
    bulk('group', round => ({ group: `group ${round}`, kind: 'litter' })),
    bulk('delete', () => ({})),
  ];
}

/** Returns the fields of the form that a page sends to a path; of several, of the one with a field of this name. */
function fieldsOf(page: string, action: string, name: string | undefined): Record<string, string> {
  const forms = [...page.matchAll(/<form[^>]* action="([^"]*)"[^>]*>(.*?)<\/form>/gs)]
    .filter(([whole, to]) => unescaped(to!) === action && whole.includes('method="post"'))
    .map(([, , fields]) => fields!);
  const fields = forms.find(text => text.includes(` name="${name}"`)) ?? forms[0];
  if (fields === undefined) return {};
  const found: Record<string, string> = {};
  for (const [input] of fields.matchAll(/<input[^>]*>/g)) {
    const [, key] = / name="([^"]*)"/.exec(input) ?? [];
    if (key === undefined || (/ type="(checkbox|radio)"/.test(input) && !/ checked/.test(input))) continue;
    found[key] = unescaped(/ value="([^"]*)"/.exec(input)?.[1] ?? '');
  }
  for (const [, key, text] of fields.matchAll(/<textarea[^>]* name="([^"]*)"[^>]*>\n?(.*?)<\/textarea>/gs))
    found[key!] = unescaped(text!);
  for (const [, key, options] of fields.matchAll(/<select[^>]* name="([^"]*)"[^>]*>(.*?)<\/select>/gs))
    found[key!] = unescaped(/<option value="([^"]*)" selected/.exec(options!)?.[1] ?? '');
  return found;
}

function unescaped(text: string): string {
  return text.replaceAll(/&#(\d+);/g, (_, code: string) => String.fromCharCode(Number(code)));
}
