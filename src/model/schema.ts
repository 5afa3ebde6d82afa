import type { AliasableExpression, Generated } from 'kysely';
import type { TableOf } from '../lib/fields/field.ts';
import type { MaybePromise, Transaction } from '../lib/storage/database.ts';
import { type Builder, createQueryFactory, type EngineName, type Params, sql } from '../lib/storage/query.ts';
import type { attemptFields, deliveryFields } from './delivery.ts';
import type { loggedRequestFields } from './logged-request.ts';
import type { NoticeChoice } from './notices.ts';
import type { EventKind, NounTables } from './nouns.ts';
import type { PhotoType } from './photo.ts';
import type { refusalFields } from './refusal.ts';
import type { Role } from './roles.ts';
import type { webhookFields } from './webhook.ts';

export type {
  CounterSums,
  CounterTable,
  Database,
  MaybePromise,
  ReadableCounterTable,
  Reader,
  Transaction,
} from '../lib/storage/database.ts';
export { type KeysetParams, keysetEnd, keysetPage } from '../lib/storage/keyset.ts';
export { queriesByShape } from '../lib/storage/queries-by-shape.ts';
export type { Params, Query } from '../lib/storage/query.ts';
export {
  amongNumbers,
  amongTexts,
  insertingOne,
  newIdColumn,
  selectJsonNumbers,
  selectJsonTexts,
  sql,
} from '../lib/storage/query.ts';
export type { EventKind };

/**
 * A subquery for the next due time of a job type: milliseconds since the Unix epoch, possibly in the past; no row or
 * null if no job is pending. Reads one entry of an index.
 */
export type NextDue = (
  db: Builder<Tables>,
  engine: EngineName,
) => AliasableExpression<{ readonly dueAt: number | null }>;

/** The two deployments, each with its own animals, keys and counts. */
export type DeploymentName = 'production' | 'staging';

/**
 * Every table, as both engines store it. Times are whole milliseconds since the Unix epoch, from the injected clock;
 * booleans are 0 and 1. Production's and staging's database have the same tables; accounts, keys, bans, counts and
 * nodes are used only in production's.
 */
export interface Tables extends NounTables {
  /**
   * The number of animals by `status`, by `category`, by both with a `trait`, and by `owner`: the sum over the slots of
   * a key.
   */
  pet_counts: { kind: 'status' | 'category' | 'trait' | 'owner'; key: string; slot: number; pets: number };
  /** The words of each animal; see `store/search/word-index.ts`. */
  pet_words: { word: string; pet_id: number };
  /** The postal codes that operators import; see `store/places/imported-codes.ts`. */
  postal_codes: {
    country: string;
    code: string;
    /** The sum of the latitudes of all places with the code, in millionths of a degree. The longitude likewise. */
    latitude: number;
    longitude: number;
    /** How many lines of the file contain the code. */
    places: number;
    /** The number of the import that wrote the row; a later one has a greater number. */
    import_number: number;
  };
  /** The number of placed and approved orders of each account with any order. */
  order_counts: { account_id: number; open: number };
  /** The bytes of texts that each account stores; see `access/plans/stored-bytes.ts`. */
  stored_bytes: { account_id: number; bytes: number };
  /** The bytes that the photos of each account count; see `store/photo-references.ts`. */
  photo_bytes: { account_id: number; bytes: number };
  /**
   * The rows that imports of each account have changed on a UTC day, or have reserved; see `store/imports/budget.ts`.
   */
  imported_rows: { account_id: number; day: number; rows: number };
  /**
   * The bytes of the events that each account caused on a UTC day: the sum over the slots; see `model/log/bytes.ts`.
   */
  event_bytes: { account_id: number; day: number; slot: number; bytes: number };
  /** The sandbox accounts that have added something on this deployment; see `access/plans/sandbox.ts`. */
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
    /** When the deletion of its files began; null otherwise. Until the row is deleted, no pet can get the photo. */
    deleting_since: number | null;
    /** The bytes of its sizes that count for the quota; null until they are known, for photos of earlier releases. */
    sizes_bytes: number | null;
  };
  /**
   * Reservations of pets for holds and orders, one row per pet. A unique index allows one `active` row per pet. A row
   * past its `until` has expired; the next write of its pet deactivates it.
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
  /** Imports of files of animals, in progress and ended; see `store/imports/`. */
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
    /** 1 for a dry run; 2 if its file is also kept afterwards until `due_at`, for `importPreviewed`. */
    dry_run: number;
    /** The number of removals that the caller has confirmed. */
    confirmed: number | null;
    currency: string | null;
    /** The order of dates: sent by the caller, or recognized when the file has arrived. */
    date_order: 'mdy' | 'dmy' | 'ymd' | null;
    /** The names of the columns of CSV, as JSON. */
    columns: string | null;
    /**
     * The order is `receiving`, `checking` (with `replace`), `applying`, `removing` (with `replace`), `fetching` (with
     * photos), `completed`. An import that is canceled or fails ends in any of them. `discarded`: its file did not arrive.
     */
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
    /** The number of chunks, and the number of the next one to apply. */
    chunks: number;
    next_chunk: number;
    /** The last pet that the current state has examined, and the last pet that it will examine. */
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
    /** The numbers of photos to fetch, of fetched photos, and of failed ones. */
    photos_wanted: Generated<number>;
    photos_fetched: Generated<number>;
    photos_failed: Generated<number>;
    /** The number of pets that the file lacks, and of all pets of the account. */
    removals: number | null;
    existing: number | null;
    /**
     * The rows that count against the budget of a UTC day: all rows while they are applied, then those that changed a
     * pet.
     */
    charged_rows: Generated<number>;
    charged_day: number | null;
    /** Why the import failed. */
    code: string | null;
    message: string | null;
    created_at: number;
    started_at: number | null;
    ended_at: number | null;
    /** When the next step is due; null when no step is left. */
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
  /** The URLs of photos of imported pets; see `store/imports/photos/sources.ts`. */
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
    /** The fetched photo; null before. */
    hash: string | null;
    /** How often fetching it has failed. */
    attempts: number;
    /** When to fetch it, or when the lease of a process expires; null afterwards. */
    due_at: number | null;
  };
  /** The result of each attempt to send a message by e-mail. */
  message_attempts: {
    message_id: number;
    number: number;
    at: number;
    outcome: 'delivered' | 'failed';
    reason: string | null;
  };
  /** What recipients wrote down about their messages; the senders never see it. */
  message_notes: {
    id: Generated<number>;
    message_id: number;
    /** The recipient of the message. */
    account_id: number;
    /** The person who wrote it. */
    person_id: Generated<number | null>;
    text: string;
    created_at: number;
  };
  /** The replies by e-mail to messages of visitors. */
  message_replies: {
    id: Generated<number>;
    message_id: number;
    /** The recipient of the message. */
    account_id: number;
    /** The person who wrote it. */
    person_id: Generated<number | null>;
    /** The address that the e-mail goes to. */
    email: string;
    /** The public URL of the pages that its link leads to. */
    url: string;
    text: string;
    created_at: number;
    /** When to send it, or when the lease of a process expires; null when no attempt follows. */
    due_at: number | null;
    failures: Generated<number>;
    /** When the mail server accepted it; null if it waits, or could not be sent. */
    sent_at: Generated<number | null>;
  };
  /** The senders whose messages an account does not want; see `store/messages/blocks.ts`. */
  blocked_senders: {
    id: Generated<number>;
    account_id: number;
    sender: string;
    created_at: number;
    /** When the sender last wrote, or was blocked. */
    last_at: number;
  };
  /** The e-mails to members about new messages; see `store/inbox/notice-job.ts`. */
  message_notices: {
    id: Generated<number>;
    account_id: number;
    person_id: number;
    /** An e-mail about one message, or one about all since a message. */
    kind: 'message' | 'digest';
    message_id: number;
    /** 1 while a digest collects messages; a member has one such row at most. */
    collects: Generated<number | null>;
    created_at: number;
    /** When to send it, or when the lease of a process expires. */
    due_at: number;
    failures: Generated<number>;
  };
  /** The links in e-mails by which recipients stop further ones; see `store/inbox/mail-stops.ts`. */
  mail_stops: {
    id: Generated<number>;
    /** The hash of the secret of the link. */
    hash: string;
    /** The hash of the address that gets no more replies; empty for a member. */
    recipient: string;
    created_at: number;
    /** When the recipient used the link; null for a member. */
    stopped_at: Generated<number | null>;
    /** The member of an account who gets no more e-mail about its messages; null for a link that stops replies. */
    account_id: Generated<number | null>;
    person_id: Generated<number | null>;
  };
  /** The stores of callers of the classic Swagger Petstore; see `store/classic/sandboxes.ts`. */
  classic_sandboxes: {
    /** `account 7`, `network 192.0.2.1`, or `name` and the name that callers chose. */
    name: string;
    /** The network that created it; null for an account's. */
    network: string | null;
    /** The bytes of its documents after the last change that added some. */
    bytes: number;
    /** When its last document expires. */
    expires_at: number;
  };
  /** The documents of these stores, as JSON. */
  classic_documents: {
    sandbox: string;
    kind: 'pet' | 'order' | 'user';
    id: string;
    document: string;
    bytes: number;
    expires_at: number;
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
    /** When to send the e-mail, or when the lease of a process expires; null after it was sent. */
    due_at: number | null;
    failures: Generated<number>;
  };
  /** The append-only event log, which `model/log/` writes and reads. Only PostgreSQL has `seq`. */
  events: {
    id: Generated<number>;
    at: number;
    kind: EventKind;
    action: string;
    subject_id: number;
    account_id: number | null;
    data: string;
    /** The origin of the change, as JSON; null for automatic changes, and after the retention of the audit log. */
    origin: string | null;
    /** The account that can see the entry of the audit log. */
    audit_account_id: number | null;
    seq: Generated<number | null>;
  };
  /** The resources whose events are to be deleted, of deleted accounts of the sandbox. */
  event_deletions: {
    id: Generated<number>;
    kind: EventKind;
    subject_id: number;
    /** The action whose events are kept; null if none are. */
    keeps: string | null;
    due_at: number;
  };
  /** The number of requests with existing keys that got 401 or 403: in production's database, for both deployments. */
  refusals: TableOf<typeof refusalFields>;
  /** The endpoints to which events of accounts are delivered. */
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
  /** An attempt: the status and the beginning of the response, or the fault. */
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
    /** The individual limits; null for every plan but Enterprise. */
    per_minute: number | null;
    per_day: number | null;
    admin: number;
    created_at: number;
    /** When it was suspended: since then its keys are rejected. */
    suspended_at: number | null;
    /** When the grace period of its deletion ends; null once its data is deleted on both deployments. */
    delete_at: number | null;
    /** When its personal data was deleted. */
    deleted_at: number | null;
    /** When its owner opened a link that was sent to its e-mail address. */
    email_confirmed_at: number | null;
    /** When it is deleted unless its owner confirms its address; null after a confirmation or any other change. */
    confirm_by: number | null;
    /** 1 if its owner requested the deletion, and may cancel it. */
    deletion_by_owner: number | null;
    /** 1 if every member needs a second factor; null otherwise. */
    second_factor_required: number | null;
    /** 1 for an account of the sandbox, which lasts as long as its key; see `access/keys/sandbox.ts`. */
    sandbox: number | null;
  };
  /** The people who sign in. The owner who began with an account has its id; other ids are of the same sequence. */
  people: { id: number; email: string; name: string; created_at: number; email_confirmed_at: number | null };
  /** The members of accounts, with those who have left: their names stay in the history of the account. */
  members: {
    account_id: number;
    person_id: number;
    role: Role;
    joined_at: number;
    left_at: number | null;
    /** The choice of the member; null without one. */
    notices: Generated<NoticeChoice | null>;
  };
  /** Invitations to accounts, each with the SHA-256 of its secret; null until its e-mail is sent. */
  invitations: {
    id: Generated<number>;
    account_id: number;
    email: string;
    role: Role;
    hash: string | null;
    /** 1 if its link is sent to its address; 0 if a page showed the link. */
    mailed: number;
    /** The person who invited. */
    invited_by: number;
    created_at: number;
    expires_at: number;
  };
  /** The passwords of people, as PHC strings. A person without a password signs in by a link. */
  passwords: {
    /** The id of the person, in this and the next tables; named by a release in which it was the account's. */
    account_id: number;
    hash: string;
    changed_at: number;
  };
  /** The signed-in browsers of people, each with the SHA-256 of its cookie. */
  sessions: {
    id: Generated<number>;
    account_id: number;
    /** The account whose pages it shows; null stands for the account with the id of the person. */
    current_account_id: number | null;
    hash: string;
    created_at: number;
    last_seen_at: number;
    expires_at: number;
    address: string;
    user_agent: string;
    /** When its person last proved the identity again; null since the sign-in. */
    confirmed_at: number | null;
  };
  /** The authenticator apps of people. One without `confirmed_at` is being set up, and is no second factor yet. */
  authenticator_apps: {
    person_id: number;
    /** Encrypted; null after a restore without the secret key. */
    secret: string | null;
    created_at: number;
    confirmed_at: number | null;
    /** The time step of the latest accepted code; no code of it or an earlier one is accepted. */
    last_step: number;
    last_used_at: number | null;
  };
  /** The unused recovery codes of people, each as its SHA-256. */
  recovery_codes: { person_id: number; hash: string; created_at: number };
  /** The passkeys of people. */
  passkeys: {
    id: Generated<number>;
    person_id: number;
    /** In base64url, like the public key. */
    credential_id: string;
    public_key: string;
    /** A COSE algorithm. */
    algorithm: number;
    sign_count: number;
    backed_up: number;
    name: string;
    created_at: number;
    last_used_at: number | null;
    /** The time of the latest signed challenge; no challenge of it or an earlier one is accepted. */
    last_challenge_at: number;
  };
  /** The sign-ins that wait for a second factor, each with the SHA-256 of its cookie. */
  sign_ins: {
    id: Generated<number>;
    person_id: number;
    /** The account whose pages the session will show; null for the first one of the person. */
    account_id: number | null;
    hash: string;
    expires_at: number;
  };
  /** Links that sign a person in once, each with the SHA-256 of its token. */
  links: {
    id: Generated<number>;
    account_id: number;
    purpose: 'confirm' | 'reset' | 'sign_in';
    hash: string;
    /** The recipient, or the address that it confirms. */
    email: string;
    created_at: number;
    expires_at: number;
  };
  /**
   * The queue of e-mails about accounts. Their texts, and the secrets of their links, are created when they are sent.
   */
  account_emails: {
    id: Generated<number>;
    kind:
      | 'confirm'
      | 'reset'
      | 'account_exists'
      | 'email_changed'
      | 'password_changed'
      | 'invitation'
      | 'member_joined'
      | 'member_left'
      | 'role_changed'
      | 'factor_added'
      | 'factor_removed'
      | 'factor_tried';
    /** The person, or for the kinds about members and invitations kinds the account; null if the address determines it when the e-mail is sent. */
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
    /** The networks from which it is accepted, separated by one space; null for all. */
    networks: string | null;
    /** The name that its owner chose. */
    name: string | null;
    /** The key that replaced it when it was rotated. */
    replaced_by: string | null;
    /** The person who created it on a page; null for keys of the operator, and of earlier releases. */
    person_id: number | null;
    /** The individual limits of the key, within those of its account; null if it has none. */
    per_minute: number | null;
    per_day: number | null;
  };
  /** The latest ban of a key: `step` counts from 0 (1 minute) to 3 (60 minutes). */
  bans: { key_id: string; step: number; banned_at: number; until: number; lifted_at: number | null };
  /**
   * Requests of an account on one deployment, or of a key with a budget, on one UTC day (`day`: days since 1970-01-01),
   * reserved in advance; one row per node. `subject` is its name; see `access/limits/subject.ts`.
   */
  day_counts: { subject: string; day: number; node: string; reserved: number };
  /** The counts of the current minute, saved by a clean shutdown and read once by the next start. */
  minute_counts: { subject: string; second: number; requests: number };
  /**
   * The requests of a key in one hour (`hour`: hours since 1970) by outcome, and the number of them that the request
   * log lacks. In production's database, for both deployments, like `requests` and `usage_alerts`.
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
  /** The alerts that were sent, at a percentage of the requests of a day (`day`: days since 1970). */
  usage_alerts: { account_id: number; deployment: DeploymentName; day: number; threshold: number };
  /** Processes that serve this database. */
  nodes: {
    id: string;
    started_at: number;
    seen_at: number;
    /** The last migration that it knows; null for releases before `0042-long-values`. */
    migration: Generated<string | null>;
  };
  /** The event that contains a long value of an animal that its row no longer has; see `model/log/long-values.ts`. */
  replaced_values: { pet_id: number; member: string; event_id: number };
  /** Single values of a deployment by name, such as when retention last ran. */
  facts: { name: string; value: string };
  /**
   * The number of notifications of a topic, such as `registry` (accounts, keys, bans), for processes that poll
   * (PostgreSQL).
   */
  announcements: { topic: string; version: number };
  migrations: { name: string; applied_at: number };
}

/** Defines a query over the product's tables; see `createQueryFactory`. */
export const query = createQueryFactory<Tables>();

/**
 * Returns a retention rule: it deletes up to `limit` rows, of those whose `column` is at least `ageMs` ago. See
 * `operate/retention.ts`.
 */
export function retentionRule<Table extends keyof Tables & string>(
  table: Table,
  primaryKey: readonly (keyof Tables[Table] & string)[],
  column: keyof Tables[Table] & string,
  ageMs = 0,
): (tx: Transaction, limit: number) => MaybePromise<number> {
  const statement = deletingOldest(table, primaryKey, column);
  return (tx, limit) => tx.run(statement, { before: tx.now - ageMs + 1, limit });
}

/**
 * Returns the query that deletes the oldest rows whose `column` is below `before`, at most `limit`. Skips rows that
 * another transaction has locked.
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
