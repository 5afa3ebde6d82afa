import type { EventBus } from './events/event-bus.ts';
import type { Clock } from './lib/clock.ts';
import type { Encryptor } from './lib/encryption.ts';
import type { OutgoingClient } from './lib/http/client/client.ts';
import { listOperationsOver } from './lib/http/pagination/list-operation.ts';
import { operationsOver } from './lib/http/route.ts';
import type { Database, DeploymentName, Reader } from './schema.ts';

/** One deployment as its routes see it. */
export interface Deployment {
  readonly name: DeploymentName;
  readonly database: Database;
  readonly clock: Clock;
  /** Whether a category that was never seen before gets a placeholder, or is refused. */
  readonly categories: 'open' | 'strict';
  /** How many animals the active holds of an account have together at most. */
  readonly heldMax: number;
  /** Publishes events to streams. */
  readonly eventBus: EventBus;
  /** How many event streams one account may have open. */
  readonly streamsMax: number;
  /** For how long events are told, in milliseconds. */
  readonly eventsKeptMs: number;
  /** Tells who delivers messages that one more waits; where nobody is told it is found in time. */
  readonly messageQueued?: () => void;
  /** What webhooks need. */
  readonly webhooks: Webhooks;
}

/** What webhooks need beside the database. */
export interface Webhooks {
  /** The way out. */
  readonly outgoing: OutgoingClient;
  /** Encrypts their signing secrets. */
  readonly encryptor: Encryptor;
  /** The networks to which they may go besides the public internet. */
  readonly networks: readonly string[];
  /** How many an account has at most. */
  readonly max: number;
  /** Where accounts are kept. */
  readonly accounts: Reader;
  /** Tells who delivers that there is more to do; where nobody is told it is found in time. */
  wake?(): void;
}

/** The time as of which readers see how things are: whole milliseconds since the Unix epoch (`Database.readableAt`). */
export function nowOf({ clock, database }: Pick<Deployment, 'clock' | 'database'>): number {
  return database.readTimestamp(Math.floor(clock.now()));
}

/** Defines an operation that serves one deployment. */
export const operation = operationsOver<Deployment>();

/** Defines a list operation that serves one deployment: pagination, its headers and their documentation included. */
export const listOperation = listOperationsOver<Deployment>();
