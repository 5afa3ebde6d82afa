import { limitsOfAccount } from '../accounts/account.ts';
import { usageAlertEvent } from '../accounts/events.ts';
import { accountById, accountOf } from '../accounts/rows.ts';
import { record } from '../events/log.ts';
import { factNamed, PORTAL_FACT } from '../facts.ts';
import type { Caller } from '../lib/http/route.ts';
import { countText } from '../lib/text.ts';
import { DAY_MS } from '../lib/time.ts';
import { sendNotification } from '../messages/messages.ts';
import { type Database, type DeploymentName, deletingOldest, type Params, query, type Transaction } from '../schema.ts';

/** The parts of the requests of a day, in percent, at which an account is alerted; the highest first. */
const thresholds = [100, 80] as const;

/** The smallest of them. */
export const ALERT_FROM = 80;

/** An account that has used a part of its day on a deployment. */
interface Alert {
  readonly accountId: number;
  readonly deployment: DeploymentName;
  /** Days since 1970-01-01. */
  readonly day: number;
  /** In percent. */
  readonly threshold: number;
}

/** The most accounts that are known to be alerted; the database knows all. */
const KNOWN_MAX = 10_000;

/**
 * Alerts accounts that have used much of their day: by an event, and by a message that is mailed to them. Each account gets
 * one alert for a deployment, day and threshold, however many nodes notice.
 */
export class UsageAlerts {
  readonly #database: Database;
  /** The latest alert of an account on a deployment that is pending or was sent. */
  readonly #known = new Map<string, Alert>();
  #pending: Alert[] = [];

  /** @param database production's */
  constructor(database: Database) {
    this.#database = database;
  }

  /** Notes how much an account has used of its day. @param at milliseconds since the Unix epoch */
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

  /** Sends the alerts that are pending. @throws {StorageError} when that fails; then they stay pending */
  async write(): Promise<void> {
    for (let alert = this.#pending[0]; alert !== undefined; alert = this.#pending[0]) {
      const sent = alert;
      await this.#database.write(tx => sendAlert(tx, sent));
      this.#pending = this.#pending.filter(other => other !== sent);
    }
  }
}

/** Alerts an account, unless it has been. */
async function sendAlert(tx: Transaction, alert: Alert): Promise<void> {
  if ((await tx.run(insertAlert, alert)) === 0) return;
  const { accountId, deployment, threshold } = alert;
  // Another node was faster with the next threshold: nobody wants to hear of this one after it.
  if ((await tx.first(higherAlert, alert)) !== undefined) return;
  const row = await tx.first(accountById, { id: accountId });
  // An account of the sandbox leaves no row.
  if (row === undefined || row.deletedAt !== null) return;
  const account = accountOf(row);
  await record(tx, usageAlertEvent(account, deployment, threshold));
  const limit = countText(limitsOfAccount(account).perDay);
  const portal = (await tx.first(factNamed, { name: PORTAL_FACT }))?.value;
  const place = portal === undefined ? 'the page "Usage" of your account' : `${portal}/usage?deployment=${deployment}`;
  const [used, rejected] =
    threshold === 100 ? ['all', 'Further requests'] : [`${threshold} %`, 'When none is left, requests'];
  // The first line is the subject of the e-mail.
  await sendNotification(
    tx,
    accountId,
    `Your account has used ${used} of its ${limit} requests to ${deployment} for today.\n\n${rejected} are rejected with ` +
      `status 429 until the next day begins, at 00:00 UTC.\n\nSee which keys sent them: ${place}`,
  );
}

/** Deletes alerts of past days, `limit` at most. Returns how many. */
export async function deleteOldAlerts(tx: Transaction, limit: number): Promise<number> {
  // Nodes whose clock is behind may still be in yesterday.
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
