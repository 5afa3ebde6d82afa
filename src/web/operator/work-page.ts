import { stat } from 'node:fs/promises';
import packageJson from '../../../package.json' with { type: 'json' };
import type { Deployment } from '../../access/deployment.ts';
import { HEARTBEAT_MS } from '../../access/limits/nodes.ts';
import { type Html, type HtmlValue, html, timeHtml } from '../../lib/html/html.ts';
import { countText } from '../../lib/text.ts';
import { durationIn } from '../../lib/time.ts';
import type { DatabaseLocation } from '../../model/config.ts';
import type { BackupStatus } from '../../operate/backup/scheduled/job.ts';
import { nextDueTimes, type QueuedJob } from '../../operate/jobs.ts';
import { COUNTED_MAX, readBacklog } from '../../operate/metrics/backlog.ts';
import { databaseSize } from '../../operate/metrics/database-size.ts';
import { withQuery } from '../deployments.ts';
import { titleOf } from '../layout.ts';
import { type AccountVisit, operatorPage } from '../page.ts';
import { badge, bytesText, type Columns, facts, table } from '../parts.ts';
import { nowOf } from '../site.ts';
import { styles } from './parts.ts';
import { countWaiting, listNodes, newestIds, tableSizes } from './work.ts';

/**
 * The backlog, the storage and the state of the service. Each number requires reading only a limited number of rows.
 */
export const workPage = operatorPage({
  path: '/operator/work',
  title: 'Work and storage',
  menu: 'operator',
  async show(visit) {
    const parts: Html[] = [];
    for (const deployment of visit.site.deployments.values()) parts.push(await deploymentPart(visit, deployment));
    return { styles, body: html`${await serviceFacts(visit)}${parts}` };
  },
});

async function serviceFacts({ site }: AccountVisit): Promise<Html> {
  const { counts, day } = site.limiter.health();
  const nodes = await listNodes(site.accounts);
  const engine = site.accounts.engine === 'sqlite' ? 'SQLite' : 'PostgreSQL';
  return html`${facts([
    ['Version', html`${packageJson.version} <span class="quiet">on Node.js ${process.versions.node}, ${engine}</span>`],
    [
      'This process',
      html`since ${timeHtml(nowOf(site) - Math.floor(process.uptime() * 1000))}, ${bytesText(process.memoryUsage.rss())} of memory`,
    ],
    ['Rate limits', counts === 'exact' ? badge('good', 'Exact') : badge('warn', 'Each node counts its share')],
    ['Counts of the day', day === 'durable' ? badge('good', 'Saved') : badge('warn', 'In memory only')],
    ['Latest backup', site.backups && backupFact(site.backups.status(), nowOf(site))],
  ])}
${
  nodes.length > 0 &&
  html`<h2>Nodes</h2>
${table(
  'Nodes',
  {
    Node: ({ id }) => html`<code>${id}</code>`,
    Started: ({ startedAt }) => timeHtml(startedAt),
    'Last heartbeat': ({ seenAt }) => timeHtml(seenAt),
  },
  nodes,
)}
<p class="quiet">A node sends a heartbeat every ${durationIn('second', HEARTBEAT_MS, 'words')}, by its own clock.</p>`
}`;
}

/** A scheduled backup is late when the latest one is older than an interval and a quarter, as in the alert. */
function backupFact({ last, intervalMs }: BackupStatus, now: number): Html {
  if (last === undefined) return badge('warn', 'None yet');
  const state = now - last.startedAt > intervalMs * 1.25 ? badge('warn', 'Late') : badge('good', 'Good');
  return html`${state} ${timeHtml(last.startedAt)}, ${bytesText(last.bytes)}`;
}

async function deploymentPart({ site }: AccountVisit, deployment: Deployment): Promise<Html> {
  const { name, database } = deployment;
  const { ok, writes, detail } = await database.health();
  const isPortal = database === site.accounts;
  const waiting = await waitingFacts(deployment, isPortal);
  const jobs = jobRows(await nextDueTimes(database), site.clock.now(), isPortal);
  const late = jobs.filter(({ isLate }) => isLate);
  return html`<section>
<h2>${titleOf(name)}</h2>
${facts([
  [
    'Storage',
    ok && writes === 'ok' ? badge('good', 'Ready') : html`${badge('bad', ok ? 'Reads only' : 'Unavailable')} ${detail}`,
  ],
  ...waiting,
])}
${waiting.length === 0 && late.length === 0 && html`<p>All quiet: nothing waits, and no job is late.</p>`}
${late.length > 0 && html`<h3>Late jobs of ${name}</h3>${table(`Late jobs of ${name}`, jobColumns, late)}`}
<details><summary>All jobs of ${name}</summary>
${table(`Jobs of ${name}`, jobColumns, jobs)}</details>
<details><summary>Storage of ${name}</summary>
${await storageTables(deployment, site.config.locations[name])}</details>
</section>`;
}

/** Returns the pending work of a deployment by name; omits kinds without any. */
async function waitingFacts({ name, database }: Deployment, isPortal: boolean): Promise<[string, Html][]> {
  const waiting = await countWaiting(database);
  const backlog = await readBacklog(database);
  const webhooks = (state: string) => withQuery('/operator/webhooks', { deployment: name, state });
  const counts: readonly (readonly [label: string, count: number, path?: string])[] = [
    ['Failing webhooks', waiting.failingWebhooks, webhooks('failing')],
    ['Disabled webhooks', waiting.disabledWebhooks, webhooks('disabled')],
    ['Messages to inboxes', waiting.inbox],
    ['Photos whose sizes are not counted', waiting.photos],
    ['Messages by e-mail', backlog.message_emails.pending],
    ['E-mail about accounts', isPortal ? backlog.account_emails.pending : 0],
    ['Deletions of accounts', isPortal ? waiting.deletions : 0, '/operator/accounts?state=deleting'],
  ];
  const deliveries = backlog.deliveries.pending;
  return [
    ...(deliveries > 0 ? [['Pending deliveries', html`${countText(deliveries)}`] as [string, Html]] : []),
    ...counts
      .filter(([, count]) => count > 0)
      .map(([label, count, path]): [string, Html] => {
        const text = html`${atMost(count)}`;
        return [label, path === undefined ? text : html`<a href="${path}">${text}</a>`];
      }),
  ];
}

const jobNames: Readonly<Record<QueuedJob, string>> = {
  pets: 'End of reservations',
  holds: 'End of holds',
  orders: 'End of orders',
  messages: 'Delivery to inboxes',
  mail: 'Messages by e-mail',
  account_emails: 'E-mail about accounts',
  visitor_emails: 'E-mail to visitors',
  reply_emails: 'Replies to visitors',
  notice_emails: 'E-mail about messages to members',
  events: 'Dispatch of events to webhooks',
  deliveries: 'Delivery to webhooks',
  imports: 'Imports of animals',
  import_photos: 'Photos of imports',
  photo_sizes: 'Sizes of photos of earlier releases',
  accounts: 'Deletion of accounts',
  retention: 'Retention',
};

/** Only production sends e-mail and has accounts. */
const ofProduction: readonly QueuedJob[] = [
  'mail',
  'account_emails',
  'visitor_emails',
  'reply_emails',
  'notice_emails',
  'accounts',
];

/** A job that has been due for longer is late. */
const LATE_MS = 60_000;

interface JobRow {
  readonly label: string;
  readonly state: Html;
  readonly dueAt: HtmlValue;
  readonly isLate: boolean;
}

/**
 * Returns every job with its state.
 * @param times when the oldest job of each type is due; 0 if no query knows the due time
 */
export function jobRows(times: Readonly<Record<QueuedJob, number | null>>, now: number, isPortal: boolean): JobRow[] {
  return (Object.entries(jobNames) as [QueuedJob, string][])
    .filter(([job]) => isPortal || !ofProduction.includes(job))
    .map(([job, label]) => {
      const dueAt = times[job];
      if (dueAt === null) return { label, state: badge('', 'Nothing to do'), dueAt: '', isLate: false };
      const isLate = dueAt > 0 && now - dueAt > LATE_MS;
      const state = dueAt > now ? badge('', 'Scheduled') : isLate ? badge('warn', 'Late') : badge('good', 'Due');
      return { label, state, dueAt: dueAt <= 0 ? 'Now' : timeHtml(dueAt), isLate };
    });
}

const jobColumns: Columns<JobRow> = {
  Job: ({ label }) => label,
  State: ({ state }) => state,
  'Oldest due': ({ dueAt }) => dueAt,
};

async function storageTables({ database, name }: Deployment, location: DatabaseLocation): Promise<Html> {
  if ('file' in location) {
    const sizes = await Promise.all([location.file, `${location.file}-wal`].map(sizeOf));
    const { free } = await databaseSize(database);
    const ids = await newestIds(database);
    return html`${facts([
      ['Database file', bytesText(sizes[0]!)],
      ['Free in the file', bytesText(free ?? 0)],
      ['Write-ahead log', bytesText(sizes[1]!)],
    ])}
${table(
  `Tables of ${name}`,
  {
    Table: ({ name }) => html`<code>${name}</code>`,
    'Newest id': ({ newestId }) => (newestId === null ? 'Empty' : countText(newestId)),
  },
  ids,
)}`;
  }
  const tables = await tableSizes(database);
  return table(
    `Largest tables of ${name}`,
    {
      Table: ({ name }) => html`<code>${name}</code>`,
      'Size with indexes': ({ bytes }) => bytesText(bytes),
      'Rows, estimated': ({ rows }) => countText(rows),
    },
    tables,
    'The tables cannot be read.',
  );
}

/** Returns the size of a file; 0 if it does not exist. */
async function sizeOf(file: string): Promise<number> {
  return stat(file).then(
    ({ size }) => size,
    () => 0,
  );
}

function atMost(number: number): string {
  return number > COUNTED_MAX ? `${countText(COUNTED_MAX)}+` : countText(number);
}
