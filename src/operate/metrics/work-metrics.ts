import type { Metric, Values } from '../../lib/metrics.ts';
import { countText } from '../../lib/text.ts';
import { COUNTED_MAX, EXAMINED_MAX } from './backlog.ts';
import type { DeploymentReadings, Snapshot } from './monitor.ts';

/** The metrics of pending work, as of the database. */
export const workMetrics: readonly Metric<Snapshot>[] = [
  {
    name: 'petstore_webhook_deliveries_pending',
    type: 'gauge',
    help: 'Pending deliveries to active webhooks.',
    read: ofWork(({ queues }, labels) => [[labels, queues.deliveries.pending]]),
  },
  {
    name: 'petstore_webhook_deliveries_oldest_age_seconds',
    type: 'gauge',
    help: `Age of the oldest pending delivery, among the ${2 * EXAMINED_MAX} webhooks that are due first; 0 without pending deliveries.`,
    read: ofWork(({ queues, now }, labels) => [[labels, ageOf(queues.deliveries.oldestAt, now)]]),
  },
  {
    name: 'petstore_webhooks_delay_seconds',
    type: 'gauge',
    help: 'Time since the oldest event that is not dispatched to webhooks, or since the oldest unattempted delivery to a receiver that does not fail was due; 0 if there is neither.',
    read: ofWork(({ webhooksSince, now }, labels) => [[labels, ageOf(webhooksSince, now)]]),
  },
  {
    name: 'petstore_emails_pending',
    type: 'gauge',
    help: `E-mail to be sent, by kind; at most ${countText(COUNTED_MAX + 1)}.`,
    read: ofWork(({ queues }, labels) =>
      emailKinds.map(kind => [{ ...labels, kind }, queues[`${kind}_emails`].pending]),
    ),
  },
  {
    name: 'petstore_emails_oldest_age_seconds',
    type: 'gauge',
    help: `Age of the oldest e-mail to be sent, among the ${EXAMINED_MAX} that are due first, by kind; 0 without e-mail to be sent.`,
    read: ofWork(({ queues, now }, labels) =>
      emailKinds.map(kind => [{ ...labels, kind }, ageOf(queues[`${kind}_emails`].oldestAt, now)]),
    ),
  },
  {
    name: 'petstore_job_delay_seconds',
    type: 'gauge',
    help: 'Time since the oldest job of each type was due; 0 if none is.',
    read: ofWork(({ dueTimes, now }, labels) =>
      // A job whose due time no query knows can be due at any time.
      Object.entries(dueTimes).map(([type, dueAt]) => [{ ...labels, type }, ageOf(dueAt || null, now)]),
    ),
  },
];

/** The kinds of e-mails, by their cause: a message, an account, or the message of a visitor. */
const emailKinds = ['message', 'account', 'visitor'] as const;

/** The labels of every value of a deployment. */
export type Labelled = { readonly deployment: string };

/** Reads the backlog or the size of a database; no values while the database cannot be read. */
export function ofWork(read: (work: NonNullable<DeploymentReadings['work']>, labels: Labelled) => Values) {
  return ({ deployments }: Snapshot): Values =>
    deployments.flatMap(({ name, work }) => (work ? read(work, { deployment: name }) : []));
}

/** Returns how long ago a time was, in seconds; 0 if there is none, or it is in the future. */
function ageOf(time: number | null, now: number): number {
  return time === null ? 0 : Math.max(0, (now - time) / 1000);
}
