import type { AliasableExpression, Generated } from 'kysely';
import type { refusalFields } from './audit/refusal.ts';
import type { categoryFields } from './categories/category.ts';
import type { attemptFields, deliveryFields } from './deliveries/delivery.ts';
import type { holdFields } from './holds/hold.ts';
import type { TableOf } from './lib/fields/field.ts';
import { type Builder, createQueryFactory, type EngineName, type Params, sql } from './lib/storage/query.ts';
import type { messageFields } from './messages/message.ts';
import type { orderFields } from './orders/order.ts';
import type { organizationFields } from './organizations/organization.ts';
import type { petFields } from './pets/pet.ts';
import type { PhotoType } from './photos/photo.ts';
import type { loggedRequestFields } from './usage/logged-request.ts';
import type { webhookFields } from './webhooks/webhook.ts';

export type {
  CounterTable,
  Database,
  MaybePromise,
  ReadableCounterTable,
  Reader,
  Transaction,
} from './lib/storage/database.ts';
export { type KeysetParams, keysetEnd, keysetPage } from './lib/storage/keyset.ts';
export { queriesByShape } from './lib/storage/queries-by-shape.ts';
export type { Params, Query } from './lib/storage/query.ts';
export {
  amongNumbers,
  amongTexts,
  insertingOne,
  selectJsonNumbers,
  selectJsonTexts,
  sql,
  statement,
} from './lib/storage/query.ts';

/**
 * A subquery for the next due time of a job type: milliseconds since the Unix epoch, possibly in the past; no row or null
 * if no job is pending. It reads one entry of an index.
 */
export type NextDue = (
  db: Builder<Tables>,
  engine: EngineName,
) => AliasableExpression<{ readonly dueAt: number | null }>;

/** The two deployments, each with its own animals, keys and counts. */
export type DeploymentName = 'production' | 'staging';

/** The kind of an event's subject. */
export type EventKind =
  | 'pet'
  | 'category'
  | 'organization'
  | 'hold'
  | 'order'
  | 'message'
  | 'account'
  | 'key'
  | 'ban'
  | 'webhook';

/**
 * Every table, as both engines store it. Times are whole milliseconds since the Unix epoch, from the injected clock;
 * booleans are 0 and 1. Production's and staging's database have the same tables; accounts, keys, bans, counts and nodes
 * are used in production's alone.
 */
export interface Tables {
  categories: TableOf<typeof categoryFields>;
  pets: TableOf<typeof petFields>;
  /** The public profiles of accounts. */
  organizations: TableOf<typeof organizationFields>;
  /** The number of animals by `status`, by `category`, by both with a `trait`, and by `owner`: the sum over the slots of a key. */
  pet_counts: { kind: 'status' | 'category' | 'trait' | 'owner'; key: string; slot: number; pets: number };
  /** The words of each animal; see `pets/word-index.ts`. */
  pet_words: { word: string; pet_id: number };
  /** The postal codes that operators import; see `places/imported-codes.ts`. */
  postal_codes: {
    country: string;
    code: string;
    /** The sums over the places of the code, in millionths of a degree. */
    latitude: number;
    longitude: number;
    /** How many lines of the file have the code. */
    places: number;
    /** The number of the import that wrote the row; a later one has a greater number. */
    import_number: number;
  };
  /** Pets that are reserved together for an account until `expires_at`. */
  holds: TableOf<typeof holdFields>;
  orders: TableOf<typeof orderFields>;
  /** The number of placed and approved orders of each account with any order. */
  order_counts: { account_id: number; open: number };
  /** The bytes of texts that each account stores; see `plans/stored-bytes.ts`. */
  stored_bytes: { account_id: number; bytes: number };
  /** The bytes that the photos of each account count; see `photos/references.ts`. */
  photo_bytes: { account_id: number; bytes: number };
  /** The rows that imports of each account have changed on a UTC day, or have reserved; see `imports/budget.ts`. */
  imported_rows: { account_id: number; day: number; rows: number };
  /** The bytes of the events that each account caused on a UTC day: the sum over the slots; see `events/bytes.ts`. */
  event_bytes: { account_id: number; day: number; slot: number; bytes: number };
  /** The sandbox accounts that have added something on this deployment; see `plans/sandbox.ts`. */
  sandbox_accounts: { account_id: number };
  /** The photos that are stored as files, by the SHA-256 of the original. */
  photos: {
    hash: string;
    type: PhotoType;
    bytes: number;
    width: number;
    height: number;
    /** How many pets have it. */
    refs: number;
    /** When the last pet lost it, or when it was uploaded if none has it yet; null while a pet has it. */
    released_at: number | null;
    /** Since when its files are being deleted; null otherwise. Until the row is gone, no pet can get the photo. */
    deleting_since: number | null;
    /** What its sizes count for the quota; null until they are known, for photos of earlier releases. */
    sizes_bytes: number | null;
  };
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
  /** Files of animals that accounts import, in progress and ended; see `imports/`. */
  imports: {
    id: Generated<number>;
    account_id: number;
    /** The plan of the account at the time of the request. */
    plan: string;
    /** The request, as JSON. */
    origin: string;
    mode: 'upsert' | 'replace';
    preset: string;
    format: 'csv' | 'ndjson';
    /** 1 if nothing is changed; 2 if the file is kept afterwards until `due_at`, for `importPreviewed`. */
    dry_run: number;
    /** The number of removals that the caller has confirmed. */
    confirmed: number | null;
    currency: string | null;
    /** The order of dates: as the caller has sent it, or recognized when the file has arrived. */
    date_order: 'mdy' | 'dmy' | 'ymd' | null;
    /** The names of the columns of CSV, as JSON. */
    columns: string | null;
    state:
      | 'receiving'
      | 'checking'
      | 'applying'
      | 'removing'
      | 'fetching'
      | 'completed'
      | 'failed'
      | 'canceled'
      | 'discarded';
    /** The number of chunks, and of the next one to apply. */
    chunks: number;
    next_chunk: number;
    /** The last pet that the current state has examined, and the last one that it examines. */
    after_id: number;
    up_to_id: number;
    row_count: number;
    rows_read: number;
    created: number;
    updated: number;
    unchanged: number;
    failed: number;
    removed: number;
    warnings: number;
    /** The photos to fetch, those that were fetched, and those that failed. */
    photos_wanted: Generated<number>;
    photos_fetched: Generated<number>;
    photos_failed: Generated<number>;
    /** The pets that the file lacks, and all pets of the account. */
    removals: number | null;
    existing: number | null;
    /** The rows that count against the budget of a UTC day: all while they are applied, then those that changed something. */
    charged_rows: Generated<number>;
    charged_day: number | null;
    /** Why it failed. */
    code: string | null;
    message: string | null;
    created_at: number;
    started_at: number | null;
    ended_at: number | null;
    /** When the next step is due; null when nothing is left to do. */
    due_at: number | null;
    /** When the ban of its key ends; null unless it is paused. */
    paused_until: number | null;
  };
  /** Rows of an import that are not applied yet, as JSON. */
  import_chunks: { import_id: number; number: number; rows: string };
  /** The identifiers in an import, each with its first line. */
  import_keys: { import_id: number; key: string; line: number };
  /** The errors and warnings of an import, as JSON. */
  import_errors: { import_id: number; number: number; error: string };
  /** The URLs of photos of imported pets; see `imports/photos/sources.ts`. */
  photo_sources: {
    id: Generated<number>;
    pet_id: number;
    url: string;
    /** The import, line and column that listed it last, and its position in this row. */
    import_id: number;
    line: number;
    column_name: string;
    position: number;
    host: string;
    /** The photo that it led to; null before. */
    hash: string | null;
    /** How often fetching it has failed. */
    attempts: number;
    /** When to fetch it, or when the lease of a process expires; null afterwards. */
    due_at: number | null;
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
  /** The messages of visitors that wait until the link in an e-mail is opened. */
  visitor_messages: {
    id: Generated<number>;
    pet_id: number;
    name: string;
    email: string;
    text: string;
    /** The public URL of the pages that the link leads to. */
    url: string;
    /** The hash of the secret of the link; null before an e-mail was made. */
    hash: string | null;
    created_at: number;
    expires_at: number;
    /** When to send the e-mail, or when the lease of a process expires; null once it was sent. */
    due_at: number | null;
    failures: Generated<number>;
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
    /** What asked for the change, as JSON; null for automatic changes, and once the retention of the audit log is over. */
    origin: string | null;
    /** The account that can see the entry of the audit log. */
    audit_account_id: number | null;
    seq: Generated<number | null>;
  };
  /** The resources whose events are to be deleted: those of deleted accounts of the sandbox. */
  event_deletions: {
    id: Generated<number>;
    kind: EventKind;
    subject_id: number;
    /** The action whose events stay; null if none do. */
    keeps: string | null;
    due_at: number;
  };
  /** Counts the requests that were refused although their key exists: in production's database, for both deployments. */
  refusals: TableOf<typeof refusalFields>;
  /** The endpoints to which accounts have events delivered. */
  webhooks: TableOf<typeof webhookFields>;
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
  deliveries: TableOf<typeof deliveryFields>;
  /** An attempt: the status and beginning of the response, or why there was none. */
  delivery_attempts: TableOf<typeof attemptFields>;
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
    /** Since when its keys are rejected. */
    suspended_at: number | null;
    /** When the grace period of its deletion ends; null once nothing is left to delete on either deployment. */
    delete_at: number | null;
    /** When its personal data was deleted. */
    deleted_at: number | null;
    /** When its owner opened a link that was sent to its e-mail address. */
    email_confirmed_at: number | null;
    /** When it is deleted unless its owner confirms its address; null once that or any other change happened. */
    confirm_by: number | null;
    /** 1 if its owner asked for the deletion, and may cancel it. */
    deletion_by_owner: number | null;
    /** 1 for an account of the sandbox, which lasts as long as its key; see `keys/sandbox.ts`. */
    sandbox: number | null;
  };
  /** The passwords of accounts, as PHC strings. An account without one is opened by a link. */
  passwords: { account_id: number; hash: string; changed_at: number };
  /** The browsers that are signed in to an account, each with the SHA-256 of its cookie. */
  sessions: {
    id: Generated<number>;
    account_id: number;
    hash: string;
    created_at: number;
    last_seen_at: number;
    expires_at: number;
    address: string;
    user_agent: string;
  };
  /** Links that open an account once, each with the SHA-256 of its token. */
  links: {
    id: Generated<number>;
    account_id: number;
    purpose: 'confirm' | 'reset' | 'sign_in';
    hash: string;
    /** The address that it was sent to, or that it confirms. */
    email: string;
    created_at: number;
    expires_at: number;
  };
  /** E-mail about accounts that is still to be sent. Its text, and the secret of its link, are made when it is sent. */
  account_emails: {
    id: Generated<number>;
    kind: 'confirm' | 'reset' | 'account_exists' | 'email_changed' | 'password_changed';
    /** The account it is about; null if the address decides that when it is sent. */
    account_id: number | null;
    email: string;
    /** The public URL of the pages that its links lead to. */
    url: string;
    created_at: number;
    due_at: number;
    failures: number;
  };
  /** The attempts of a subject, such as an address that signs in, since the start of its current period. */
  attempts: { subject: string; since: number; count: number };
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
    /** The networks that it is accepted from, separated by one space; null for all. */
    networks: string | null;
    /** What its owner calls it. */
    name: string | null;
    /** The key that replaced it when it was rotated. */
    replaced_by: string | null;
    /** Its own limits, within those of its account; null if it has none. */
    per_minute: number | null;
    per_day: number | null;
  };
  /** The latest ban of a key: `step` counts from 0 (1 minute) to 3 (60 minutes). */
  bans: { key_id: string; step: number; banned_at: number; until: number; lifted_at: number | null };
  /**
   * Requests of an account on one deployment, or of a key with a budget, on one UTC day (`day`: days since 1970-01-01),
   * reserved ahead; one row per node. `subject` is its name in `limits/`.
   */
  day_counts: { subject: string; day: number; node: string; reserved: number };
  /** The counts of the current minute, saved by a clean stop and read once by the next start. */
  minute_counts: { subject: string; second: number; requests: number };
  /**
   * The requests of a key in one hour (`hour`: hours since 1970) by outcome, and how many of them the request log lacks. In
   * production's database, for both deployments, like `requests` and `usage_alerts`.
   */
  usage: {
    account_id: number;
    deployment: DeploymentName;
    hour: number;
    key_id: string;
    succeeded: number;
    client_errors: number;
    rate_limited: number;
    banned: number;
    server_errors: number;
    unlogged: number;
  };
  /** The request log: the latest requests of each account. */
  requests: TableOf<typeof loggedRequestFields>;
  /** The alerts that were sent, in percent of the requests of a day (`day`: days since 1970). */
  usage_alerts: { account_id: number; deployment: DeploymentName; day: number; threshold: number };
  /** Processes that serve this database. */
  nodes: {
    id: string;
    started_at: number;
    seen_at: number;
    /** The last migration that it knows; null for releases before `0042-long-values`. */
    migration: Generated<string | null>;
  };
  /** Which event has a long value of an animal that its row no longer has; see `events/long-values.ts`. */
  replaced_values: { pet_id: number; member: string; event_id: number };
  /** Single values of a deployment by name, such as when retention last ran. */
  facts: { name: string; value: string };
  /** Counts the notifications of a topic, such as `registry` (accounts, keys, bans), for processes that poll (PostgreSQL). */
  announcements: { topic: string; version: number };
  migrations: { name: string; applied_at: number };
}

/** Defines a query over the product's tables; see `queriesOver`. */
export const query = createQueryFactory<Tables>();

/**
 * Returns the query that deletes the oldest rows whose `column` is below `before`, at most `limit`. Rows that another
 * transaction has locked are left.
 */
export function deletingOldest<Table extends keyof Tables & string>(
  table: Table,
  primaryKey: readonly (keyof Tables[Table] & string)[],
  column: keyof Tables[Table] & string,
) {
  const key = sql.join(primaryKey.map(name => sql.ref(name)));
  return query((db, p: Params<{ before: number; limit: number }>, engine) =>
    db.deleteFrom<keyof Tables & string>(table).where(
      sql<boolean>`(${key}) in (select ${key} from ${sql.table(table)} where ${sql.ref(column)} < ${p.before}
          order by ${sql.ref(column)} limit ${p.limit} ${engine === 'postgres' ? sql`for update skip locked` : sql``})`,
    ),
  );
}
