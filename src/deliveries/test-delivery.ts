import { randomUUID } from 'node:crypto';
import { type Deployment, nowOf } from '../deployment.ts';
import { problem } from '../errors.ts';
import type { OutgoingClient } from '../lib/http/client/client.ts';
import type { Fault, Outcome } from '../lib/http/client/outcome.ts';
import type { SecretBox } from '../lib/secret-box.ts';
import { formatTime } from '../lib/time.ts';
import { type Database, type Params, query, type Transaction } from '../schema.ts';
import { secretsOf } from '../webhooks/secrets.ts';
import type { WebhookRow } from '../webhooks/webhook-rows.ts';
import { bodyOf, post } from './deliver.ts';
import type { AttemptRow, DeliveryRow } from './deliveries.ts';
import { isTaken } from './record-result.ts';

/** What a test is sent with. */
export interface TestMeans {
  readonly database: Database;
  readonly outgoing: OutgoingClient;
  readonly secrets: SecretBox;
  now(): number;
}

/** What tests of a deployment's webhooks are sent with. */
export function testMeansOf(context: Deployment): TestMeans {
  const { database, webhooks } = context;
  return { database, outgoing: webhooks.outgoing, secrets: webhooks.secrets, now: () => nowOf(context) };
}

/** A test that was sent. */
export interface TestResult {
  /** When, in milliseconds since the Unix epoch. */
  readonly at: number;
  readonly outcome: Outcome;
}

/** The type of a test delivery; no event has it. */
const TEST_TYPE = 'webhook.test';
/** Tests keep order with nothing. */
const TEST_LANE = 'test';

/**
 * Sends a signed test delivery to a webhook, as it is, and waits for what comes of it: half a minute at most.
 * @throws {Problem} `webhook_test_running` while this process waits for another test of the webhook
 */
export async function sendTest(
  { database, outgoing, secrets, now }: TestMeans,
  { id, url }: Pick<WebhookRow, 'id' | 'url'>,
): Promise<TestResult> {
  const running = runningOn(database);
  if (running.has(id)) throw problem('webhook_test_running', `Webhook ${id} is being tested. Wait for that test.`);
  running.add(id);
  try {
    const at = Math.floor(now());
    const keys = await secretsOf(database, secrets, id, at);
    const name = `test_${randomUUID()}`;
    const told = { type: TEST_TYPE, time: formatTime(at), id: name, data: { id } };
    return { at, outcome: await post(outgoing, url, name, bodyOf(told), keys) };
  } finally {
    running.delete(id);
  }
}

/** Keeps a test among the deliveries to its webhook. */
export async function keepTest(tx: Transaction, webhookId: number, { at, outcome }: TestResult): Promise<DeliveryRow> {
  const status = isTaken(outcome) ? 'delivered' : 'failed';
  const values = { webhookId, status, failures: status === 'failed' ? 1 : 0, at, now: tx.now } as const;
  const { id } = (await tx.first(insertTest, values))!;
  const attempt = {
    number: 1,
    at,
    duration_ms: Math.round(outcome.durationMs),
    status: 'status' in outcome ? outcome.status : null,
    fault: 'fault' in outcome ? outcome.fault : null,
    answer: 'status' in outcome ? outcome.body : null,
  };
  await tx.run(insertAttempt, { id, ...attempt });
  return {
    ...{ id, place: null, type: TEST_TYPE, status, dueAt: null, leased: 0 },
    createdAt: at,
    updatedAt: tx.now,
    attempts: [attempt],
  };
}

/**
 * Demands that the receiver took a test.
 * @throws {Problem} `webhook_test_failed`, which says what happened
 */
export function requireTaken(outcome: Outcome): void {
  if (isTaken(outcome)) return;
  const what =
    'status' in outcome
      ? `The receiver answered ${outcome.status} to the test; only an answer from 200 to 299 says that it was taken.`
      : `The test was not delivered: ${faults[outcome.fault]}.`;
  throw problem('webhook_test_failed', `${what} Nothing was changed.`);
}

/** What became of a test without an answer, as the end of a sentence. */
const faults: Record<Fault, string> = {
  forbidden_url: 'nothing may be sent to such a URL',
  forbidden_address: 'its host has only addresses that nothing may be sent to',
  unresolved: 'its host has no address that could be found',
  refused: 'nobody listens there',
  unreachable: 'no way leads there',
  tls: 'no secure connection could be made; the certificate may not be that of the host',
  timeout: 'there was no answer in time',
  reset: 'the connection was closed before there was an answer',
  malformed_answer: 'what came back is no answer of HTTP',
  busy: 'too much else is being sent; try again later',
  aborted: 'the service is stopping',
  failed: 'the service could not send it; try again later',
};

/** The webhooks that this process tests right now, by database. */
const runningByDatabase = new WeakMap<Database, Set<number>>();

function runningOn(database: Database): Set<number> {
  const running = runningByDatabase.get(database) ?? new Set();
  runningByDatabase.set(database, running);
  return running;
}

const insertTest = query(
  (db, p: Params<{ webhookId: number; status: 'delivered' | 'failed'; failures: number; at: number; now: number }>) =>
    db
      .insertInto('deliveries')
      .values({
        webhook_id: p.webhookId,
        place: null,
        type: TEST_TYPE,
        lane: TEST_LANE,
        status: p.status,
        takes: 1,
        failures: p.failures,
        created_at: p.at,
        updated_at: p.now,
      })
      .returning('id'),
);

const insertAttempt = query((db, p: Params<{ id: number } & Required<AttemptRow>>) =>
  db.insertInto('delivery_attempts').values({
    delivery_id: p.id,
    number: p.number,
    at: p.at,
    duration_ms: p.duration_ms,
    status: p.status,
    fault: p.fault,
    answer: p.answer,
  }),
);
