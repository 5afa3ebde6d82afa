import { randomUUID } from 'node:crypto';
import { problem } from '../errors.ts';
import type { Encryptor } from '../lib/encryption.ts';
import type { OutgoingClient } from '../lib/http/client/client.ts';
import type { Fault, Outcome } from '../lib/http/client/outcome.ts';
import { formatTime } from '../lib/time.ts';
import { type Database, type Params, query, type Transaction } from '../schema.ts';
import { signingSecrets } from '../webhooks/secrets.ts';
import type { WebhookRow } from '../webhooks/webhook.ts';
import { type DeliveryRow, insertAttempt } from './deliveries.ts';
import { attemptRow, isSuccess, postSigned } from './send.ts';

/** What sending a test delivery needs. */
export interface TestDeps {
  readonly database: Database;
  readonly outgoing: OutgoingClient;
  readonly encryptor: Encryptor;
  now(): number;
}

/** The result of a test delivery. */
export interface TestResult {
  /** When it began, in milliseconds since the Unix epoch. */
  readonly at: number;
  readonly outcome: Outcome;
}

/** The type of test deliveries; no event has it. */
const TEST_TYPE = 'webhook.test';
const TEST_ORDERING_KEY = 'test';

/**
 * Sends a signed test delivery to a webhook, whatever its status, and waits for the outcome: up to 30 seconds.
 * @throws {Problem} `webhook_test_running` while this process tests the same webhook
 */
export async function sendTest(
  { database, outgoing, encryptor, now }: TestDeps,
  { id, url }: Pick<WebhookRow, 'id' | 'url'>,
): Promise<TestResult> {
  const running = runningTests(database);
  if (running.has(id)) throw problem('webhook_test_running', `Another test of webhook ${id} is running. Wait for it.`);
  running.add(id);
  try {
    const at = Math.floor(now());
    const secrets = await signingSecrets(database, encryptor, id, at);
    const event = { type: TEST_TYPE, time: formatTime(at), id: `test_${randomUUID()}`, data: { id } };
    return { at, outcome: await postSigned(outgoing, url, event, secrets) };
  } finally {
    running.delete(id);
  }
}

/** Stores a test delivery with its one attempt. */
export async function storeTest(tx: Transaction, webhookId: number, { at, outcome }: TestResult): Promise<DeliveryRow> {
  const status = isSuccess(outcome) ? 'delivered' : 'failed';
  const values = { webhookId, status, failures: status === 'failed' ? 1 : 0, at, now: tx.now } as const;
  const { id } = (await tx.first(insertTest, values))!;
  const attempt = attemptRow(1, at, outcome);
  await insertAttempt(tx, id, attempt);
  return {
    id,
    position: null,
    type: TEST_TYPE,
    status,
    dueAt: null,
    claimed: 0,
    createdAt: at,
    updatedAt: tx.now,
    attempts: [attempt],
  };
}

/**
 * Requires that a test delivery succeeded.
 * @throws {Problem} `webhook_test_failed` with the reason
 */
export function requireSuccess(outcome: Outcome): void {
  if (isSuccess(outcome)) return;
  const reason =
    'status' in outcome
      ? `The receiver responded to the test with status ${outcome.status}; a status from 200 to 299 is required.`
      : `The test was not delivered: ${reasons[outcome.fault]}.`;
  throw problem('webhook_test_failed', `${reason} The webhook is unchanged.`);
}

/** Why a test was not delivered, as the end of a sentence. */
const reasons: Record<Fault, string> = {
  forbidden_url: 'requests to this URL are not allowed',
  forbidden_address: 'requests to the addresses of its host are not allowed',
  unresolved: 'the host name could not be resolved',
  refused: 'the connection was refused',
  unreachable: 'the host is unreachable',
  tls: 'the TLS handshake failed; the certificate may not be valid for the host',
  timeout: 'the receiver did not respond in time',
  reset: 'the connection was closed before a response',
  malformed_answer: 'the response was not valid HTTP',
  busy: 'too many other requests are being sent; try again later',
  aborted: 'the service is stopping',
  failed: 'the service could not send it; try again later',
};

/** The webhooks that this process is testing, by database. */
const testsByDatabase = new WeakMap<Database, Set<number>>();

function runningTests(database: Database): Set<number> {
  const running = testsByDatabase.get(database) ?? new Set();
  testsByDatabase.set(database, running);
  return running;
}

type NewTest = { webhookId: number; status: 'delivered' | 'failed'; failures: number; at: number; now: number };

const insertTest = query((db, p: Params<NewTest>) =>
  db
    .insertInto('deliveries')
    .values({
      webhook_id: p.webhookId,
      place: null,
      type: TEST_TYPE,
      lane: TEST_ORDERING_KEY,
      status: p.status,
      takes: 1,
      failures: p.failures,
      created_at: p.at,
      updated_at: p.now,
    })
    .returning('id'),
);
