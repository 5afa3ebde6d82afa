import { randomUUID } from 'node:crypto';
import type { Webhooks } from '../../access/deployment.ts';
import type { InsertRowOf } from '../../lib/fields/field.ts';
import type { Fault, Outcome } from '../../lib/http/client/outcome.ts';
import type { MaybePromise } from '../../lib/maybe-promise.ts';
import { onePer } from '../../lib/one-per.ts';
import { formatTime } from '../../lib/time.ts';
import { type DeliveryRow, deliveryColumns, type deliveryFields } from '../../model/delivery.ts';
import { problem } from '../../model/errors.ts';
import { type Database, type Params, query, type Transaction } from '../../model/schema.ts';
import type { WebhookRow } from '../../model/webhook.ts';
import { signingSecrets } from '../webhooks/secrets.ts';
import { insertAttempt } from './deliveries.ts';
import { attemptRow, isSuccess, postSigned } from './send.ts';

interface TestResult {
  /** When it began, in milliseconds since the Unix epoch. */
  readonly at: number;
  readonly outcome: Outcome;
}

/** The type of test deliveries; no event has it. */
const TEST_TYPE = 'webhook.test';
const TEST_ORDERING_KEY = 'test';

/**
 * Sends a signed test delivery to a webhook in any status, and waits up to 30 seconds for the outcome.
 * @param at the present, in milliseconds since the Unix epoch
 * @param isAllowed reports whether the caller may still send it; called directly before sending
 * @throws {Problem} `webhook_test_running` while this process tests the same webhook
 */
export async function sendTest(
  database: Database,
  { outgoing, encryptor }: Pick<Webhooks, 'outgoing' | 'encryptor'>,
  { id, url }: Pick<WebhookRow, 'id' | 'url'>,
  at: number,
  isAllowed: () => MaybePromise<boolean> = () => true,
): Promise<TestResult> {
  const running = runningTestsOf(database);
  if (running.has(id)) throw problem('webhook_test_running', `Another test of webhook ${id} is running. Wait for it.`);
  running.add(id);
  try {
    const secrets = await signingSecrets(database, encryptor, id, at);
    const event = { type: TEST_TYPE, time: formatTime(at), id: `test_${randomUUID()}`, data: { id } };
    return { at, outcome: await postSigned(outgoing, url, event, secrets, isAllowed) };
  } finally {
    running.delete(id);
  }
}

/** Stores a test delivery with its one attempt. */
export async function storeTest(tx: Transaction, webhookId: number, { at, outcome }: TestResult): Promise<DeliveryRow> {
  const status = isSuccess(outcome) ? 'delivered' : 'failed';
  const failures = status === 'failed' ? 1 : 0;
  const event = { position: null, type: TEST_TYPE, orderingKey: TEST_ORDERING_KEY };
  const test = { ...event, webhookId, status, failures, dueAt: null, createdAt: at, updatedAt: tx.now } as const;
  const delivery = (await tx.first(insertTest, test))!;
  const attempt = attemptRow(delivery.id, 1, at, outcome);
  await tx.run(insertAttempt, attempt);
  return { ...delivery, attempts: [attempt] };
}

/** Throws `webhook_test_failed` with the reason, unless a test delivery succeeded. */
export function requireSuccess(outcome: Outcome): void {
  if (isSuccess(outcome)) return;
  const reason =
    'status' in outcome
      ? `The receiver responded to the test with status ${outcome.status}; a status from 200 to 299 is required.`
      : `The test was not delivered: ${faultText(outcome.fault)}.`;
  throw problem('webhook_test_failed', `${reason} The webhook is unchanged.`);
}

/** Returns why there was no response to an attempt, as the end of a sentence. */
export function faultText(fault: string): string {
  return Object.hasOwn(reasons, fault) ? reasons[fault as Fault] : fault;
}

const reasons: Record<Fault, string> = {
  forbidden_url: 'requests to this URL are not allowed',
  forbidden_address: 'requests to this IP address are not allowed',
  unresolved: 'the host name has no public address',
  refused: 'the connection was refused',
  unreachable: 'the host is unreachable',
  tls: 'the TLS handshake failed; the certificate may not be valid for the host',
  timeout: 'the receiver did not respond in time',
  reset: 'the connection was closed before a response',
  malformed_answer: 'the response was not valid HTTP',
  busy: 'too many other requests are being sent; try again later',
  withdrawn: 'the API key is no longer valid',
  aborted: 'the service is stopping',
  failed: 'the service could not send the test; try again later',
};

/** The webhooks that this process is testing. */
const runningTestsOf = onePer<Database, Set<number>>(() => new Set());

const insertTest = query((db, p: Params<InsertRowOf<typeof deliveryFields> & { failures: number }>) =>
  db
    .insertInto('deliveries')
    .values({ ...deliveryColumns.inserted(p), takes: 1, failures: p.failures })
    .returning(deliveryColumns.full()),
);
