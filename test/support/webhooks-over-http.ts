import assert from 'node:assert/strict';
import { after, before, beforeEach } from 'node:test';
import { Webhook } from 'standardwebhooks';
import { testClock } from '../../src/lib/clock.ts';
import type { Database } from '../../src/model/schema.ts';
import { type Caller, newCaller } from './caller.ts';
import { type Received, type Receiver, startReceiver } from './receiver.ts';
import { type Reply, serve, type TestService } from './serving.ts';

// The reference library compares the timestamp of a signature with the wall clock, so the test clock starts there.
export const START = Math.floor(Date.now());
const WEBHOOKS_MAX = 1000;

/** A clock that can be ahead of the wall clock. */
export const clock = Object.assign(testClock(START), {
  behindMs: 0,
  wallTime: (): number => clock.now() - clock.behindMs,
});

/** A server with three callers, and a receiver for each test. */
export interface WebhookSuite {
  serving: TestService;
  database: Database;
  receiver: Receiver;
  owner: Caller;
  stranger: Caller;
  admin: Caller;
  /** Creates a webhook for the receiver. */
  newWebhook(members?: object): Promise<{ id: number; secret: string; path: string }>;
  createPet(name: string): Promise<void>;
}

/** Sets up the hooks of a suite over HTTP; its members are set when its tests run. */
export function setUpWebhooks(engine: { settings(): Promise<NodeJS.ProcessEnv> }): WebhookSuite {
  const suite = {
    async newWebhook(members = {}) {
      const made = await suite.owner.post('/webhooks', { url: suite.receiver.url, ...members });
      assert.equal(made.status, 201, made.text);
      const { id, secret } = made.body;
      return { id, secret, path: `/webhooks/${id}` };
    },
    async createPet(name) {
      const { status, text } = await suite.owner.post('/pets', { name, categoryId: 2 });
      assert.equal(status, 201, text);
    },
  } as WebhookSuite;
  before(async () => {
    const environment = {
      ...(await engine.settings()),
      PETSTORE_WEBHOOK_NETWORKS: '127.0.0.0/8',
      PETSTORE_WEBHOOKS_MAX: String(WEBHOOKS_MAX),
      PETSTORE_STAGING_PORT: '',
    };
    suite.serving = await serve({ clock, environment });
    suite.database = suite.serving.app.databases.production;
    suite.owner = await newCaller(suite.serving);
    suite.stranger = await newCaller(suite.serving);
    suite.admin = await newCaller(suite.serving, true);
  });
  after(() => suite.serving?.stop());
  // Receivers stay open until the end, so that no delivery in progress fails late.
  const receivers: Receiver[] = [];
  beforeEach(async () => {
    suite.receiver = await startReceiver();
    receivers.push(suite.receiver);
  });
  after(() => Promise.all(receivers.map(one => one.close())));
  return suite;
}

/** The event, or test event, in a delivery. */
interface DeliveredEvent {
  readonly id: string;
  readonly type: string;
  readonly data: { readonly name?: string };
}

/** Verifies the signature of a delivery and returns its event. */
export function verified(delivery: Received, secret: string): DeliveredEvent {
  return new Webhook(secret).verify(delivery.body, headersOf(delivery)) as DeliveredEvent;
}

/** Returns the headers of a delivery as texts. */
export function headersOf({ headers }: Received): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));
}

/** Asserts the status and code of an error. */
export function assertRejected(reply: Reply, status: number, code: string) {
  assert.deepEqual([reply.status, reply.body.code], [status, code], reply.text);
}
