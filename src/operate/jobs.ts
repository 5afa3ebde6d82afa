import { nextFailingDelivery, nextHealthyDelivery } from '../events/deliveries/claim.ts';
import { type DeliveryDeps, deliveryJob } from '../events/deliveries/delivery-job.ts';
import { sendDisabledMessage } from '../events/deliveries/disabled-message.ts';
import { dispatchJob, nextDispatch } from '../events/deliveries/dispatch-job.ts';
import { authorityJob } from '../events/webhooks/authority-job.ts';
import type { Clock } from '../lib/clock.ts';
import { batchJob } from '../lib/jobs/batch-job.ts';
import { JobLoop, type JobType } from '../lib/jobs/job-loop.ts';
import type { Log } from '../lib/log.ts';
import { LogThrottle } from '../lib/log-throttle.ts';
import { StorageError } from '../lib/storage/database.ts';
import type { PhotoFiles } from '../model/photo-files/photo-files.ts';
import { type Database, type NextDue, type Params, query, type Reader } from '../model/schema.ts';
import { expireHolds, nextHoldExpiry } from '../store/holds/expiry.ts';
import type { ImportRules } from '../store/imports/chunk.ts';
import { importJob, nextImportStep } from '../store/imports/import-job.ts';
import type { FetchDeps } from '../store/imports/photos/fetch.ts';
import { nextPhotoFetch, photoFetchJob } from '../store/imports/photos/fetch-job.ts';
import { noticeEmails, noticeQueue } from '../store/inbox/notice-job.ts';
import { replyEmails, replyQueue } from '../store/inbox/reply-job.ts';
import { accountEmailQueue, accountEmails } from '../store/messages/account-emails.ts';
import { emailDelivery, nextEmailDelivery } from '../store/messages/email-delivery.ts';
import type { EmailSender } from '../store/messages/email-sender.ts';
import { inboxDelivery, nextInboxDelivery } from '../store/messages/inbox-delivery.ts';
import { expireOrders, nextOrderExpiry } from '../store/orders/expiry.ts';
import { visibilityJob } from '../store/organizations/visibility.ts';
import { expireReservationBatch, nextReservationExpiry } from '../store/pets/expiry.ts';
import { nextUncountedSizes, sizesJob } from '../store/photos/count-sizes.ts';
import { sweepJob } from '../store/photos/sweep.ts';
import { wordIndexJob } from '../store/search/word-index.ts';
import { visitorEmailQueue, visitorEmails } from '../store/visitor-messages/email-job.ts';
import { type DeletionDeps, deletionJob, nextDeletion } from './deletion/deletion.ts';
import { type DeleteExpired, nextRetention, retentionJob } from './retention.ts';

/** The options of the jobs of a deployment. */
interface JobDeps {
  readonly database: Database;
  readonly clock: Clock;
  readonly log: Log;
  /** Production's database. Without it, no imports run, and organizations of suspended accounts are not hidden. */
  readonly accounts?: Database;
  /** Sends messages and links by e-mail. Without it, messages are delivered only to inboxes. */
  readonly emailSender?: EmailSender | undefined;
  /** The public URL of the pages of accounts. Without it, e-mail about messages to members waits for another process. */
  readonly pagesUrl?: string | undefined;
  /** Options of webhook deliveries. Without them, no deliveries are sent. */
  readonly webhooks?:
    | (Pick<DeliveryDeps, 'outgoing' | 'encryptor' | 'scheduleMs'> & { readonly accounts: Database })
    | undefined;
  /** The settings that the rows of imports depend on. Without them, no imports run. */
  readonly importRules?: ImportRules;
  /** Reports whether this process serves requests at present, so that imports slow down. */
  readonly isServing?: () => boolean;
  /** Fetches the photos of imports; without it, they wait. */
  readonly photoFetches?: FetchDeps | undefined;
  /** How long events and finished deliveries are kept, in milliseconds; forever by default. */
  readonly eventsKeptMs?: number;
  /** How long messages are kept, in milliseconds; forever by default. */
  readonly messagesKeptMs?: number;
  /** How long the audit log is kept, in milliseconds; forever by default. */
  readonly auditKeptMs?: number;
  /** The time without a request after which keys expire; never if absent. */
  readonly keysIdleMs?: number | undefined;
  /** Whether searches find the words of descriptions; false by default. */
  readonly searchDescriptions?: boolean;
  /** Present in production's jobs, which delete accounts: staging's database, if this process serves it. */
  readonly deletion?: Pick<DeletionDeps, 'staging'> | undefined;
  /** Present in production's jobs if scheduled backups are enabled. */
  readonly backups?: { readonly type: JobType<unknown, 'backups'>; dueAt(): number } | undefined;
  /** The stored photos; their files are deleted when no pet has them. None by default. */
  readonly photos?: PhotoFiles | undefined;
  /** Returns a job type that records traces of its jobs; absent without traces. */
  readonly traceJob?: (<Job>(type: JobType<Job, JobName>) => JobType<Job, JobName>) | undefined;
  /** The retention rules; all of them by default. */
  readonly retention?: readonly DeleteExpired[];
}

/**
 * The names of the jobs in the code and the log: `words` fills the index of words, `events` dispatches events to
 * webhooks, `mail` sends messages by e-mail, `import_photos` fetches photos, `account_emails` and `visitor_emails` send
 * links, `reply_emails` sends replies to visitors, `notice_emails` tells members of new messages, `authority` disables the
 * webhooks of keys that have ended, `organizations` hides the organizations of suspended accounts, `photos` deletes files
 * that no pet needs, and `photo_sizes` counts the sizes of photos of earlier releases.
 */
export type JobName =
  | 'pets'
  | 'words'
  | 'holds'
  | 'orders'
  | 'messages'
  | 'mail'
  | 'account_emails'
  | 'visitor_emails'
  | 'reply_emails'
  | 'notice_emails'
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

/** The queries for the next due time of jobs that have one. */
const dueQueries = {
  pets: [nextReservationExpiry],
  holds: [nextHoldExpiry],
  orders: [nextOrderExpiry],
  messages: [nextInboxDelivery],
  mail: [nextEmailDelivery],
  account_emails: [accountEmailQueue.nextDue],
  visitor_emails: [visitorEmailQueue.nextDue],
  reply_emails: [replyQueue.nextDue],
  notice_emails: [noticeQueue.nextDue],
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
 * Returns when the oldest job of each type in a database is due, in milliseconds since the Unix epoch; null for types
 * without a due job. Reads one index entry per type.
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
 * Starts the jobs of a deployment: expiry of holds and orders at the exact time, delivery of messages and events,
 * imports, retention, scheduled backups and the others of `JobName`. While idle it runs one query a second on the
 * embedded engine, and one every ten seconds on PostgreSQL, where commands notify it.
 *
 * Several processes can run the jobs of one database; no job is done twice. Errors are retried every second, and logged
 * once per series. A slow or unreachable mail server delays only e-mail; a slow webhook receiver only its own
 * deliveries.
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
  const { database, accounts, clock, emailSender: sender, deletion, backups, photos, importRules: rules } = deps;
  const now = () => Math.floor(clock.now());
  const emailQueued =
    sender &&
    (() => {
      wake('mail');
      wake('notice_emails');
    });
  return [
    { type: batchJob('pets', () => expireReservationBatch(database, now())), due: dueQueries.pets },
    { ...wordIndexJob({ database, described: deps.searchDescriptions ?? false, now }), due: [] },
    { type: batchJob('holds', () => expireHolds(database, now())), due: dueQueries.holds },
    { type: batchJob('orders', () => expireOrders(database, now())), due: dueQueries.orders },
    { type: inboxDelivery({ database, emailQueued }), due: dueQueries.messages },
    ...emailJobs(deps),
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

function emailJobs({ database, log, emailSender: sender, pagesUrl: url }: JobDeps): readonly ScheduledJob[] {
  if (sender === undefined) return [];
  const deps = { database, log, sender };
  return [
    { type: emailDelivery(deps), due: dueQueries.mail },
    { type: accountEmails(deps), due: dueQueries.account_emails },
    { type: visitorEmails(deps), due: dueQueries.visitor_emails },
    { type: replyEmails(deps), due: dueQueries.reply_emails },
    ...(url === undefined ? [] : [{ type: noticeEmails({ ...deps, url }), due: dueQueries.notice_emails }]),
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
