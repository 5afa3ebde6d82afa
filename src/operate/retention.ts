import { deleteOldRefusals } from '../access/audit/refusals.ts';
import { eraseOrigins } from '../access/audit/retention.ts';
import { deleteResponses } from '../access/idempotency/idempotency.ts';
import { expireIdleKeys } from '../access/keys/keys.ts';
import { deleteOldDayCounts } from '../access/limits/day-counts.ts';
import { deleteExpiredInvitations } from '../access/people/invitations.ts';
import { deleteOldAttempts } from '../access/sessions/attempts.ts';
import { deleteOldEmails } from '../access/sessions/emails.ts';
import { deleteExpiredLinks } from '../access/sessions/links.ts';
import { deleteExpiredSessions } from '../access/sessions/sessions.ts';
import { deleteExpiredSignIns } from '../access/sessions/sign-ins.ts';
import { deleteOldDeliveries, deleteUnusedDeliveries, purgeDeletedWebhooks } from '../events/deliveries/retention.ts';
import { deleteExpiredSecrets } from '../events/webhooks/secrets.ts';
import { batchJob } from '../lib/jobs/batch-job.ts';
import { storeFact } from '../model/facts.ts';
import { deleteOldEventBytes } from '../model/log/bytes.ts';
import { type Database, type MaybePromise, type NextDue, sql, type Transaction } from '../model/schema.ts';
import { deleteExpiredSandboxes } from '../store/classic/retention.ts';
import { deleteOldImportedRows } from '../store/imports/budget.ts';
import { deleteOldImports } from '../store/imports/clean-up.ts';
import { deleteOldMailStops } from '../store/inbox/mail-stops.ts';
import { deleteOldBlocks } from '../store/messages/blocks.ts';
import { deleteOldMessages } from '../store/messages/retention.ts';
import { deleteUnconfirmed } from '../store/visitor-messages/visitor-messages.ts';
import { deleteScheduledEvents } from './deletion/events.ts';
import { deleteUnconfirmedAccounts } from './deletion/unconfirmed.ts';
import { deleteOldAlerts } from './usage/alerts.ts';
import { deleteOldUsage } from './usage/counts.ts';
import { deleteOldRequests } from './usage/log.ts';

/**
 * A retention rule: deletes up to `limit` rows that have expired at `tx.now`, and returns how many. It uses an index,
 * and on PostgreSQL skips rows that other transactions have locked.
 */
export type DeleteExpired = (tx: Transaction, limit: number) => MaybePromise<number>;

/** All retention rules. All other rows are kept; docs/decisions/jobs.md lists every table. */
const allRules = ({
  eventsKeptMs = Number.MAX_SAFE_INTEGER,
  messagesKeptMs = Number.MAX_SAFE_INTEGER,
  auditKeptMs = Number.MAX_SAFE_INTEGER,
  keysIdleMs,
}: RetentionDeps): readonly DeleteExpired[] => [
  deleteResponses,
  deleteOldDayCounts,
  deleteOldUsage,
  deleteOldRequests,
  deleteOldAlerts,
  deleteExpiredSecrets,
  deleteExpiredSessions,
  deleteExpiredSignIns,
  deleteExpiredLinks,
  deleteExpiredInvitations,
  deleteOldAttempts,
  deleteOldEmails,
  deleteUnconfirmed,
  deleteUnconfirmedAccounts,
  purgeDeletedWebhooks,
  deleteOldImports,
  deleteOldImportedRows,
  deleteOldEventBytes,
  deleteScheduledEvents,
  deleteExpiredSandboxes,
  (tx, limit) => deleteOldDeliveries(tx, eventsKeptMs, limit),
  (tx, limit) => deleteUnusedDeliveries(tx, eventsKeptMs, limit),
  (tx, limit) => deleteOldMessages(tx, messagesKeptMs, limit),
  (tx, limit) => deleteOldBlocks(tx, messagesKeptMs, limit),
  (tx, limit) => deleteOldMailStops(tx, messagesKeptMs, limit),
  (tx, limit) => eraseOrigins(tx, auditKeptMs, limit),
  (tx, limit) => deleteOldRefusals(tx, auditKeptMs, limit),
  ...(keysIdleMs === undefined ? [] : [(tx: Transaction, limit: number) => expireIdleKeys(tx, keysIdleMs, limit)]),
];

/**
 * The retention job: deletes expired rows once an hour, a hundred at a time with pauses in between. An interrupted run
 * continues immediately. Idempotent; several processes can run it.
 */
export function retentionJob(deps: RetentionDeps) {
  const { database, retention = allRules(deps) } = deps;
  const deleteBatch = () =>
    database.write(async tx => {
      for (const deleteExpired of retention) {
        const deleted = await deleteExpired(tx, BATCH_SIZE);
        if (deleted > 0) return deleted;
      }
      await tx.run(storeFact, { name: FACT, value: String(tx.now) });
      return 0;
    });
  return batchJob('retention', deleteBatch, PAUSE_MS);
}

interface RetentionDeps {
  readonly database: Database;
  readonly eventsKeptMs?: number;
  readonly messagesKeptMs?: number;
  readonly auditKeptMs?: number;
  /** The time without a request after which keys expire; never if absent. */
  readonly keysIdleMs?: number | undefined;
  readonly retention?: readonly DeleteExpired[];
}

/** An hour after the last complete run; immediately if there was none. */
export const nextRetention: NextDue = (db, engine) => {
  const integer = sql.raw(engine === 'postgres' ? 'bigint' : 'integer');
  return db.selectNoFrom(({ fn, selectFrom, lit }) =>
    fn
      .coalesce(
        selectFrom('facts')
          .select(sql<number>`cast(value as ${integer}) + ${sql.lit(EVERY_MS)}`.as('dueAt'))
          .where('name', '=', sql.lit(FACT)),
        lit(0),
      )
      .as('dueAt'),
  );
};

/** The name of the fact that stores the time of the last complete run. */
const FACT = 'forgotten';
const EVERY_MS = 60 * 60 * 1000;

/** The rows per transaction and the pause after it, so that other writes are not delayed. */
const BATCH_SIZE = 100;
const PAUSE_MS = 10;
