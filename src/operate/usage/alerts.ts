import { usageAlertEvent } from '../../access/accounts/events.ts';
import { accountById, accountOf } from '../../access/accounts/rows.ts';
import type { Caller } from '../../lib/http/route.ts';
import { countText } from '../../lib/text.ts';
import { DAY_MS } from '../../lib/time.ts';
import { limitsOfAccount } from '../../model/account.ts';
import { factNamed, PORTAL_FACT } from '../../model/facts.ts';
import { record } from '../../model/log/log.ts';
import {
  type Database,
  type DeploymentName,
  deletingOldest,
  type Params,
  query,
  type Transaction,
} from '../../model/schema.ts';
import { sendNotification } from '../../store/messages/messages.ts';

/** The shares of the requests of a day, in percent, at which an account is alerted; highest first. */
const thresholds = [100, 80] as const;

/** The lowest threshold. */
export const ALERT_FROM = 80;

/** An account has used a share of its requests of a day on a deployment. */
interface Alert {
  readonly accountId: number;
  readonly deployment: DeploymentName;
  /** Days since 1970-01-01. */
  readonly day: number;
  /** In percent. */
  readonly threshold: number;
}

/** The maximum number of accounts in the cache of alerts; the database knows all alerts. */
const KNOWN_MAX = 10_000;

/**
 * Alerts accounts that have used most of their requests of a day, with an event and a message that is also sent by
 * e-mail. Each account gets one alert per deployment, day and threshold, even if several nodes notice.
 */
export class UsageAlerts {
  readonly #database: Database;
  /** The latest pending or sent alert of each account on a deployment. */
  readonly #known = new Map<string, Alert>();
  #pending: Alert[] = [];

  /** @param database production's database */
  constructor(database: Database) {
    this.#database = database;
  }

  /**
   * Records the share of its requests of a day that an account has used.
   * @param at milliseconds since the Unix epoch
   */
  note({ accountId, deployment }: Caller, percent: number, at: number): void {
    const threshold = thresholds.find(threshold => percent >= threshold);
    if (threshold === undefined) return;
    const day = Math.floor(at / DAY_MS);
    const name = `${deployment} ${accountId}`;
    const known = this.#known.get(name);
    if (known !== undefined && known.day >= day && known.threshold >= threshold) return;
    if (this.#known.size >= KNOWN_MAX) this.#known.clear();
    const alert = { accountId, deployment: deployment as DeploymentName, day, threshold };
    this.#known.set(name, alert);
    this.#pending.push(alert);
  }

  /**
   * Sends the pending alerts.
   * @throws {StorageError} when that fails; then they stay pending
   */
  async write(): Promise<void> {
    for (let alert = this.#pending[0]; alert !== undefined; alert = this.#pending[0]) {
      const sent = alert;
      await this.#database.write(tx => sendAlert(tx, sent));
      this.#pending = this.#pending.filter(other => other !== sent);
    }
  }
}

/** Alerts an account, unless it was alerted before. */
async function sendAlert(tx: Transaction, alert: Alert): Promise<void> {
  if ((await tx.run(insertAlert, alert)) === 0) return;
  const { accountId, deployment, threshold } = alert;
  // Another node has already sent the alert for the higher threshold, which makes this one useless.
  if ((await tx.first(higherAlert, alert)) !== undefined) return;
  const row = await tx.first(accountById, { id: accountId });
  // The row of a sandbox account may be deleted.
  if (row === undefined || row.deletedAt !== null) return;
  const account = accountOf(row);
  await record(tx, usageAlertEvent(account, deployment, threshold));
  const limit = countText(limitsOfAccount(account).perDay);
  const portal = (await tx.first(factNamed, { name: PORTAL_FACT }))?.value;
  const place = portal === undefined ? 'the page "Usage" of your account' : `${portal}/usage?deployment=${deployment}`;
  const [used, rejected] =
    threshold === 100 ? ['all', 'Further requests'] : [`${threshold} %`, 'When none is left, requests'];
  // The first line becomes the subject of the e-mail.
  await sendNotification(
    tx,
    accountId,
    `Your account has used ${used} of its ${limit} requests to ${deployment} for today.\n\n${rejected} are rejected with ` +
      `status 429 until the next day begins, at 00:00 UTC.\n\nSee which keys sent them: ${place}`,
  );
}

/** Deletes alerts of past days, at most `limit`. Returns their number. */
export async function deleteOldAlerts(tx: Transaction, limit: number): Promise<number> {
  // The clock of another node may be behind, still on the previous day.
  return tx.run(deleteBefore, { before: Math.floor(tx.now / DAY_MS) - 1, limit });
}

const primaryKey = ['account_id', 'deployment', 'day', 'threshold'] as const;

const insertAlert = query((db, p: Params<Alert>) =>
  db
    .insertInto('usage_alerts')
    .values({ account_id: p.accountId, deployment: p.deployment, day: p.day, threshold: p.threshold })
    .onConflict(conflict => conflict.columns(primaryKey).doNothing()),
);

const higherAlert = query((db, p: Params<Alert>) =>
  db
    .selectFrom('usage_alerts')
    .select('threshold')
    .where('account_id', '=', p.accountId)
    .where('deployment', '=', p.deployment)
    .where('day', '=', p.day)
    .where('threshold', '>', p.threshold)
    .limit(1),
);

const deleteBefore = deletingOldest('usage_alerts', primaryKey, 'day');
