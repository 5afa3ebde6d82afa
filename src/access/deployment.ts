import type { Clock } from '../lib/clock.ts';
import type { Encryptor } from '../lib/encryption.ts';
import type { OutgoingClient } from '../lib/http/client/client.ts';
import { listOperationsOver } from '../lib/http/pagination/list-operation.ts';
import type { ScanQueue } from '../lib/http/pagination/scan-queue.ts';
import { type Example, operationsOver } from '../lib/http/route.ts';
import type { UploadSlots } from '../lib/http/server/upload-slots.ts';
import { type ErrorCode, errors } from '../model/errors.ts';
import type { EventBus } from '../model/log/event-bus.ts';
import type { PhotoFiles } from '../model/photo-files/photo-files.ts';
import type { BoundSettings, SandboxBounds } from '../model/plan.ts';
import type { Database, DeploymentName } from '../model/schema.ts';

/** A deployment, production or staging, with the dependencies of its handlers. */
export interface Deployment {
  readonly name: DeploymentName;
  readonly database: Database;
  readonly clock: Clock;
  /** Whether a pet with an unknown category creates a placeholder for it (`open`) or is rejected (`strict`). */
  readonly categories: 'open' | 'strict';
  /** The bounds of accounts that do not depend on their plans. */
  readonly bounds: BoundSettings;
  /** The bounds of all sandbox accounts together. */
  readonly sandbox: SandboxBounds;
  /** The queue of the scans of all deployments. */
  readonly scans: ScanQueue;
  /** The slots of the uploads to all deployments. */
  readonly uploads: UploadSlots;
  /** Publishes events to subscribers as they are committed. */
  readonly eventBus: EventBus;
  /** How long events are kept, in milliseconds. */
  readonly eventsKeptMs: number;
  /** Notifies the delivery job of a new message; without it, the job finds the message when it polls. */
  readonly messageQueued?: () => void;
  /** Notifies the import job of a new import; without it, the job finds the import when it polls. */
  readonly importQueued?: () => void;
  readonly webhooks: Webhooks;
  readonly photos: Photos;
}

/** The dependencies of photos besides the database of their deployment. */
export interface Photos {
  readonly files: PhotoFiles;
}

/** The dependencies of webhooks besides the database of their deployment. */
export interface Webhooks {
  readonly outgoing: OutgoingClient;
  /** Encrypts their signing secrets. */
  readonly encryptor: Encryptor;
  /** The networks that endpoint URLs may be in, in addition to the public internet. */
  readonly networks: readonly string[];
  /** Production's database, which stores accounts, keys and bans. */
  readonly accounts: Database;
  /** Notifies the delivery jobs of new work; without it, they find it when they poll. */
  wake?(): void;
}

/** Returns the timestamp that reads use, in whole milliseconds since the Unix epoch; see `Database.readTimestamp`. */
export function nowOf({ clock, database }: Pick<Deployment, 'clock' | 'database'>): number {
  return database.readTimestamp(Math.floor(clock.now()));
}

/** Defines an operation that serves one deployment. */
export const operation = operationsOver<Deployment>();

/** Defines a list operation that serves one deployment, including pagination, its headers and their documentation. */
export const listOperation = listOperationsOver<Deployment>();

/**
 * Returns an example of a request to an operation.
 * @param result the status of the response, or its error code
 * @param request the request and its caller; see `Example`
 */
export function example(
  name: string,
  summary: string,
  result: number | ErrorCode,
  request: Omit<Example, 'name' | 'summary' | 'status' | 'code'> = {},
): Example {
  const outcome = typeof result === 'number' ? { status: result } : { status: errors[result].status, code: result };
  return { name, summary, ...request, ...outcome };
}
