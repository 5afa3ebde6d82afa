import { type DeletionDeps, deletionJob, nextDeletion } from './accounts/deletion/deletion.ts';
import { nextFailingDelivery, nextHealthyDelivery } from './deliveries/claim.ts';
import { type DeliveryDeps, deliveryJob } from './deliveries/delivery-job.ts';
import { sendDisabledMessage } from './deliveries/disabled-message.ts';
import { dispatchJob, nextDispatch } from './deliveries/dispatch-job.ts';
import { expireHolds, nextHoldExpiry } from './holds/expiry.ts';
import type { CategoryRules } from './imports/apply-row.ts';
import { importJob, nextImportStep } from './imports/import-job.ts';
import { nextPhotoFetch } from './imports/photos/claim.ts';
import type { FetchDeps } from './imports/photos/fetch.ts';
import { photoFetchJob } from './imports/photos/fetch-job.ts';
import type { Clock } from './lib/clock.ts';
import { batchJob } from './lib/jobs/batch-job.ts';
import { JobLoop, type JobType } from './lib/jobs/job-loop.ts';
import type { Log } from './lib/log.ts';
import { LogThrottle } from './lib/log-throttle.ts';
import { StorageError } from './lib/storage/database.ts';
import { emailDelivery, nextEmailDelivery } from './messages/email-delivery.ts';
import type { EmailSender } from './messages/email-sender.ts';
import { inboxDelivery, nextInboxDelivery } from './messages/inbox-delivery.ts';
import { nextVisitorEmail, visitorEmails } from './messages/visitors/email-job.ts';
import { expireOrders, nextOrderExpiry } from './orders/expiry.ts';
import { visibilityJob } from './organizations/visibility.ts';
import { expireReservationBatch, nextReservationExpiry } from './pets/expiry.ts';
import { wordIndexJob } from './pets/word-index.ts';
import { nextUncountedSizes, sizesJob } from './photos/count-sizes.ts';
import type { PhotoFiles } from './photos/files/photo-files.ts';
import { sweepJob } from './photos/sweep.ts';
import { type DeleteExpired, nextRetention, retentionJob } from './retention.ts';
import { type Database, type NextDue, type Params, query, type Reader } from './schema.ts';
import { accountEmails, nextAccountEmail } from './sessions/email-job.ts';
import { authorityJob } from './webhooks/authority-job.ts';

/** What the jobs of a deployment need. */
export interface JobDeps {
  readonly database: Database;
  readonly clock: Clock;
  readonly log: Log;
  /** Production's database: with it, imports run, and the organizations of suspended accounts are hidden. */
  readonly accounts?: Database;
  /** Sends messages and links by e-mail; without it, messages are only delivered to inboxes. */
  readonly emailSender?: EmailSender | undefined;
  /** Delivers webhooks; without it nothing is delivered. */
  readonly webhooks?:
    | (Pick<DeliveryDeps, 'outgoing' | 'encryptor' | 'scheduleMs'> & { readonly accounts: Database })
    | undefined;
  /** How unknown categories of imported pets are treated; without it, nothing is imported. */
  readonly categoryRules?: CategoryRules;
  /** Reports whether this process serves requests at present, so that imports leave them time. */
  readonly isServing?: () => boolean;
  /** Fetches the photos of imports; without it, they wait. */
  readonly photoFetches?: FetchDeps | undefined;
  /** How long events and finished deliveries are kept, in milliseconds; for ever by default. */
  readonly eventsKeptMs?: number;
  /** How long messages are kept, likewise. */
  readonly messagesKeptMs?: number;
  /** How long the audit log is kept, likewise. */
  readonly auditKeptMs?: number;
  /** After how long without a request keys expire; never if absent. */
  readonly keysIdleMs?: number | undefined;
  /** Whether searches find the words of descriptions; by default they do not. */
  readonly searchDescriptions?: boolean;
  /** Present in production's jobs, which delete accounts: staging's database, if this process serves it. */
  readonly deletion?: Pick<DeletionDeps, 'staging'> | undefined;
  /** Present in production's jobs if scheduled backups are on. */
  readonly backups?: { readonly type: JobType<unknown, 'backups'>; dueAt(): number } | undefined;
  /** The stored photos, which are deleted when no pet has them; none by default. */
  readonly photos?: PhotoFiles | undefined;
  /** Returns a job type that records traces of its jobs; absent without traces. */
  readonly traceJob?: (<Job>(type: JobType<Job, JobName>) => JobType<Job, JobName>) | undefined;
  /** The retention rules; all of them by default. */
  readonly retention?: readonly DeleteExpired[];
}

/** The names of the jobs, also in the log: `words` fills the index of words, `events` dispatches events to webhooks, `mail` sends messages by e-mail,
 * `import_photos` fetches photos, `account_emails` and `visitor_emails` send links, `authority` disables the webhooks of keys that have ended, and
 * `organizations` hides those of suspended accounts, `photos` deletes files that no pet needs, and `photo_sizes` counts the sizes of photos of earlier releases. */
export type JobName =
  | 'pets'
  | 'words'
  | 'holds'
  | 'orders'
  | 'messages'
  | 'mail'
  | 'account_emails'
  | 'visitor_emails'
  | 'events'
  | 'deliveries'
  | 'imports'
  | 'import_photos'
  | 'authority'
  | 'organizations'
  | 'accounts'
  | 'backups'
  | 'photos'
  | 'photo_sizes'
  | 'retention';

/** The queries for the next due time of the jobs that have one. */
const dueQueries = {
  pets: [nextReservationExpiry],
  holds: [nextHoldExpiry],
  orders: [nextOrderExpiry],
  messages: [nextInboxDelivery],
  mail: [nextEmailDelivery],
  account_emails: [nextAccountEmail],
  visitor_emails: [nextVisitorEmail],
  events: [nextDispatch],
  deliveries: [nextHealthyDelivery, nextFailingDelivery],
  imports: [nextImportStep],
  import_photos: [nextPhotoFetch],
  photo_sizes: [nextUncountedSizes],
  accounts: [nextDeletion(true)],
  retention: [nextRetention],
} satisfies Partial<Record<JobName, readonly NextDue[]>>;

/** A job whose next due time a query knows. */
export type QueuedJob = keyof typeof dueQueries;

/**
 * Returns when the oldest job of each type in a database is due, in milliseconds since the Unix epoch; null for types without
 * one. It reads one entry of an index for each.
 */
export async function nextDueTimes(reader: Reader): Promise<Record<QueuedJob, number | null>> {
  const row = (await reader.first(dueTimesOfAll, {}))!;
  const times = queuedJobs.map(({ name, due }) => [name, earliest(due.map((_, index) => row[`${name}${index}`]!))]);
  return Object.fromEntries(times);
}

/** A job type, and the queries for its next due time. */
interface ScheduledJob {
  readonly type: JobType<unknown, JobName>;
  readonly due: readonly NextDue[];
  /** Returns its next due time without a query. */
  dueAt?(): number;
}

/**
 * Starts the jobs of a deployment: expiry of holds and orders at the exact time, delivery of messages and events, and
 * retention, and scheduled backups. While idle it runs one query a second on the embedded engine, and one every ten seconds on PostgreSQL, where
 * commands notify it.
 *
 * Several processes can run the jobs of one database; nothing is done twice. Errors are retried every second, and logged
 * once per series. A slow or unreachable mail server delays only e-mail; a webhook endpoint only its own deliveries.
 */
export function startJobs(deps: JobDeps): JobLoop<JobName> {
  const { database, clock, log, traceJob = type => type } = deps;
  const jobs = jobsOf(deps, name => loop.wake(name));
  const dueTimes = dueTimesOf(jobs.map(({ type: { name }, due }) => ({ name, due })));
  const throttle = new LogThrottle();
  const loop = new JobLoop(
    jobs.map(({ type }) => traceJob(type)),
    {
      clock,
      pollMs: 1000,
      idlePollMs: database.engine === 'postgres' ? 10_000 : 1000,
      async dueAt() {
        const row = (await database.first(dueTimes, {}))!;
        return Object.fromEntries(
          jobs.map(({ type: { name }, due, dueAt }) => {
            return [name, earliest([...due.map((_, i) => row[`${name}${i}`]!), dueAt?.() ?? null])];
          }),
        );
      },
      onError(error, name = 'poll') {
        const isStorage = error instanceof StorageError;
        if (!throttle.shouldLog(isStorage ? 'storage' : name)) return;
        log.warn({ err: error, job: name }, isStorage ? STORAGE_FAILED : JOB_FAILED);
      },
    },
  );
  // Every change records an event.
  database.onChange?.('events', () => loop.poll());
  database.onNotification?.(() => loop.poll());
  return loop;
}

const STORAGE_FAILED = 'Jobs cannot run because storage is unavailable; they are retried every second.';
const JOB_FAILED = 'A job failed and will be retried. Further failures of this type are not logged.';

/** @param wake runs a job type immediately, because there are new jobs */
function jobsOf(deps: JobDeps, wake: (name: JobName) => void): readonly ScheduledJob[] {
  const { database, accounts, clock, log, emailSender: sender, deletion, backups, photos, categoryRules: rules } = deps;
  const now = () => Math.floor(clock.now());
  const emailQueued = sender && (() => wake('mail'));
  return [
    { type: batchJob('pets', () => expireReservationBatch(database, now())), due: dueQueries.pets },
    { ...wordIndexJob({ database, described: deps.searchDescriptions ?? false, now }), due: [] },
    { type: batchJob('holds', () => expireHolds(database, now())), due: dueQueries.holds },
    { type: batchJob('orders', () => expireOrders(database, now())), due: dueQueries.orders },
    { type: inboxDelivery({ database, emailQueued }), due: dueQueries.messages },
    ...(sender ? [{ type: emailDelivery({ database, log, sender }), due: dueQueries.mail }] : []),
    ...(sender ? [{ type: accountEmails({ database, log, sender }), due: dueQueries.account_emails }] : []),
    ...(sender ? [{ type: visitorEmails({ database, log, sender }), due: dueQueries.visitor_emails }] : []),
    ...webhookJobs(deps, now, wake),
    ...(rules && accounts
      ? [{ type: importJob({ database, rules, accounts, isServing: deps.isServing, now }), due: dueQueries.imports }]
      : []),
    ...(deps.photoFetches && accounts
      ? [
          {
            type: photoFetchJob({ ...deps.photoFetches, accounts, now, onDone: () => wake('imports') }),
            due: dueQueries.import_photos,
          },
        ]
      : []),
    ...(accounts ? [{ ...visibilityJob({ database, accounts, now }), due: [] }] : []),
    ...(deletion
      ? [{ type: deletionJob({ accounts: database, ...deletion }, now), due: [nextDeletion(!!deletion.staging)] }]
      : []),
    ...(backups ? [{ type: backups.type, due: [], dueAt: () => backups.dueAt() }] : []),
    ...(photos
      ? [
          { ...sweepJob({ database, store: photos.store, now }), due: [] },
          { type: sizesJob({ database, files: photos }), due: dueQueries.photo_sizes },
        ]
      : []),
    { type: retentionJob(deps), due: dueQueries.retention },
  ];
}

function webhookJobs(
  { database, webhooks }: JobDeps,
  now: () => number,
  wake: (name: JobName) => void,
): readonly ScheduledJob[] {
  if (webhooks === undefined) return [];
  const onDeliveries = () => wake('deliveries');
  const onEvents = () => wake('events');
  const deliver = deliveryJob({
    ...webhooks,
    database,
    onDisabled: sendDisabledMessage,
    onDisabledCommitted: () => wake('messages'),
    onFreeSlot: onDeliveries,
    now,
  });
  return [
    { type: dispatchJob({ ...webhooks, database, onDeliveries, onEvents }), due: dueQueries.events },
    { type: deliver, due: dueQueries.deliveries },
    { ...authorityJob({ database, accounts: webhooks.accounts, now }), due: [] },
  ];
}

/** Returns the earliest non-null time. */
function earliest(times: readonly (number | null)[]): number | null {
  const known = times.filter(time => time !== null);
  return known.length === 0 ? null : Math.min(...known);
}

function dueTimesOf(jobs: readonly { readonly name: JobName; readonly due: readonly NextDue[] }[]) {
  return query<Record<never, never>, Record<string, number | null>>(
    (db, _: Params<Record<never, never>>, engine) =>
      db.selectNoFrom(
        jobs.flatMap(({ name, due }) => due.map((next, index) => next(db, engine).as(`${name}${index}`))),
      ) as never,
  );
}

const queuedJobs = (Object.entries(dueQueries) as [QueuedJob, readonly NextDue[]][]).map(([name, due]) => ({
  name,
  due,
}));
const dueTimesOfAll = dueTimesOf(queuedJobs);
