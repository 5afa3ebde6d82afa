import type { AliasableExpression, Generated } from 'kysely';
import type { categoryFields } from './categories/category.ts';
import type { holdFields } from './holds/hold.ts';
import type { TableOf } from './lib/fields/field.ts';
import type * as storage from './lib/storage/database.ts';
import { type Builder, createQueryFactory, type EngineName } from './lib/storage/query.ts';
import type { messageFields } from './messages/message.ts';
import type { orderFields } from './orders/order.ts';
import type { petFields } from './pets/pet.ts';

export { type KeysetParams, keysetEnd, keysetPage } from './lib/storage/keyset.ts';
export { queriesByShape } from './lib/storage/queries-by-shape.ts';
export type { Params, Query } from './lib/storage/query.ts';
export { amongTexts, insertingOne, selectJsonNumbers, selectJsonTexts, sql } from './lib/storage/query.ts';
export type Database = storage.Database;
export type Reader = storage.Reader;
export type Transaction = storage.Transaction;
export type CounterTable = storage.CounterTable;
export type MaybePromise<T> = storage.MaybePromise<T>;

/**
 * A subquery for the next due time of a job type: milliseconds since the Unix epoch, possibly in the past; no row or null
 * if no job is pending. It reads one entry of an index.
 */
export type NextDue = (
  db: Builder<Tables>,
  engine: EngineName,
) => AliasableExpression<{ readonly dueAt: number | null }>;

/** Which of the two deployments: production, or staging with its own animals, keys and counts. */
export type DeploymentName = 'production' | 'staging';

/** Whether events are delivered to a webhook. Its owner activates and deactivates it; the store disables it. */
export type WebhookStatus = 'inactive' | 'active' | 'disabled';

/** The state of a delivery. */
export type DeliveryStatus = 'pending' | 'delivered' | 'failed';

/** The kind of an event's subject. */
export type EventKind = 'pet' | 'category' | 'hold' | 'order' | 'message' | 'account' | 'key' | 'ban';

/**
 * Every table of the product, as both engines store it. Times are whole milliseconds since the Unix
 * epoch, from the injected clock; booleans are 0 and 1. `migrations/` creates them.
 *
 * Each database (production's and staging's) has all of them; accounts, keys, bans, counts and nodes are used in
 * production's alone.
 */
export interface Tables {
  categories: TableOf<typeof categoryFields>;
  pets: TableOf<typeof petFields>;
  /** The number of animals by `status` and by `category`: the sum over the slots of a key. */
  pet_counts: { kind: 'status' | 'category'; key: string; slot: number; pets: number };
  /** Pets that are reserved together for an account until `expires_at`. */
  holds: TableOf<typeof holdFields>;
  orders: TableOf<typeof orderFields>;
  /**
   * Reservations of pets for holds and orders, one row per pet. A unique index allows one `active` row per pet. A row
   * past its `until` has expired; the next write of the pet deactivates it.
   */
  reservations: {
    id: Generated<number>;
    pet_id: number;
    owner_id: number;
    hold_id: number | null;
    order_id: number | null;
    until: number | null;
    active: number;
  };
  messages: TableOf<typeof messageFields>;
  /** The result of each attempt to send a message by e-mail. */
  message_attempts: {
    message_id: number;
    number: number;
    at: number;
    outcome: 'delivered' | 'failed';
    reason: string | null;
  };
  /** The append-only event log, which `events/` writes and reads. Only PostgreSQL has `seq`. */
  events: {
    id: Generated<number>;
    at: number;
    kind: EventKind;
    action: string;
    subject_id: number;
    account_id: number | null;
    data: string;
    seq: Generated<number | null>;
  };
  /** The endpoints to which accounts have events delivered. */
  webhooks: {
    id: Generated<number>;
    account_id: number;
    url: string;
    description: string | null;
    /** A JSON array of event types such as `pet.created` and `pet.*`; null for all. */
    types: string | null;
    /** A JSON array of category ids; null for all. */
    category_ids: string | null;
    status: WebhookStatus;
    /** Why it is disabled: its receiver returned 410 or failed for too long, or the operator disabled it. */
    disabled_reason: 'gone' | 'failing' | 'operator' | null;
    /** The position up to which events were dispatched to it, or committed before it was active. */
    behind_place: number;
    /** Since when every attempt has failed; null if the last one succeeded. */
    failing_since: number | null;
    /** When to claim its deliveries: the earliest `due_at` of them, or later if it has no free slot or backs off. */
    due_at: number | null;
    deleted_at: number | null;
    /** Counts its changes from 1, for the entity tag. */
    version: Generated<number>;
    created_at: number;
    updated_at: number;
  };
  /** The signing secrets of webhooks: the current one, and previous ones during their overlap. */
  webhook_secrets: {
    id: Generated<number>;
    webhook_id: number;
    /** Encrypted. */
    secret: string;
    created_at: number;
    expires_at: number | null;
  };
  /** The delivery of one event to one webhook. */
  deliveries: {
    id: Generated<number>;
    webhook_id: number;
    /** The position of the event; null for a test delivery. */
    place: number | null;
    /** The type of the event. */
    type: string;
    /** The ordering key: deliveries with the same key are sent in order. */
    lane: string;
    status: DeliveryStatus;
    /** When to send it, or when its lease ends; null while it waits for an earlier one with its ordering key. */
    due_at: number | null;
    /** 1 while a process has claimed it. */
    leased: Generated<number>;
    /** Counts the claims. */
    takes: Generated<number>;
    /** Counts the failed attempts. */
    failures: Generated<number>;
    created_at: number;
    updated_at: number;
  };
  /** An attempt: the status and beginning of the response, or why there was none. */
  delivery_attempts: {
    delivery_id: number;
    number: number;
    at: number;
    duration_ms: number;
    status: number | null;
    fault: string | null;
    answer: string | null;
  };
  /** A range of the log to deliver to a webhook again: after `place`, up to `up_to`. */
  redeliveries: {
    id: Generated<number>;
    webhook_id: number;
    place: number;
    up_to: number;
    /** Only events that were recorded at this time or later. */
    since: number;
    created_at: number;
  };
  /** The stored responses to requests with an `Idempotency-Key`. */
  idempotency: {
    account_id: number;
    key: string;
    fingerprint: string;
    status: number | null;
    body: string;
    location: string | null;
    etag: string | null;
    created_at: number;
  };
  accounts: {
    id: Generated<number>;
    email: string;
    name: string;
    plan: 'free' | 'pro' | 'business' | 'enterprise';
    /** The agreed limits; null for every plan but enterprise. */
    per_minute: number | null;
    per_day: number | null;
    admin: number;
    created_at: number;
  };
  keys: {
    id: string;
    account_id: number;
    deployment: DeploymentName;
    /** SHA-256 of the whole token, base64. */
    hash: string;
    /** Scopes, separated by one space; `*` is every scope. */
    scopes: string;
    created_at: number;
    expires_at: number | null;
    revoked_at: number | null;
    last_used_at: number | null;
  };
  /** The latest ban of a key: `step` counts from 0 (1 minute) to 3 (60 minutes). */
  bans: { key_id: string; step: number; banned_at: number; until: number; lifted_at: number | null };
  /** Requests of an account on one UTC day (`day`: days since 1970-01-01), reserved ahead; one row per node. */
  day_counts: { account_id: number; deployment: DeploymentName; day: number; node: string; reserved: number };
  /** The counts of the current minute, saved by a clean stop and read once by the next start. */
  minute_counts: { subject: string; second: number; requests: number };
  /** Processes that serve this database. */
  nodes: { id: string; started_at: number; seen_at: number };
  /** Single values of a deployment, such as when its sample data was created. */
  facts: { name: string; value: string };
  /** The number of notifications of a topic, for processes that poll (PostgreSQL). */
  announcements: { topic: string; version: number };
  migrations: { name: string; applied_at: number };
}

/** Defines a query over the product's tables; see `queriesOver`. */
export const query = createQueryFactory<Tables>();
