import type { Generated } from 'kysely';
import type * as storage from './lib/storage/database.ts';
import { queriesOver } from './lib/storage/query.ts';

export type { Params, Query } from './lib/storage/query.ts';
export { sql } from './lib/storage/query.ts';
export type Database = storage.Database;
export type Reader = storage.Reader;
export type Transaction = storage.Transaction;
export type Soon<T> = storage.Soon<T>;

/** Which of the two deployments: production, or staging with its own animals, keys and counts. */
export type Deployment = 'production' | 'staging';

/** Availability of an animal (contract, PetStatus). */
export type PetStatus = 'available' | 'pending' | 'sold';

/**
 * Every table of the product on one page, as both engines hold them. Times are whole milliseconds since the Unix
 * epoch, from the injected clock; booleans are 0 and 1. What creates them is in `migrations/`.
 *
 * Each database (production's and staging's) has all of them; accounts, keys, bans, counts and nodes are used in
 * production's alone.
 */
export interface Tables {
  categories: { id: number; name: string; placeholder: number; created_at: number };
  pets: {
    id: Generated<number>;
    name: string;
    category_id: number;
    status: PetStatus;
    account_id: number;
    created_at: number;
    updated_at: number;
  };
  /** How many animals there are by `status` and by `category`; the numbers of one key's slots add up. */
  pet_counts: { kind: 'status' | 'category'; key: string; slot: number; pets: number };
  accounts: {
    id: Generated<number>;
    email: string;
    name: string;
    plan: 'free' | 'pro' | 'business' | 'enterprise';
    /** Enterprise only: what was agreed. */
    per_minute: number | null;
    per_day: number | null;
    admin: number;
    created_at: number;
  };
  keys: {
    id: string;
    account_id: number;
    deployment: Deployment;
    /** SHA-256 of the whole token, base64. */
    hash: string;
    /** Scopes, one space between them; `*` is every scope there is. */
    scopes: string;
    created_at: number;
    expires_at: number | null;
    revoked_at: number | null;
    last_used_at: number | null;
  };
  /** The latest ban of a key: `step` counts from 0 (1 minute) to 3 (60 minutes). */
  bans: { key_id: string; step: number; banned_at: number; until: number; lifted_at: number | null };
  /** Requests of an account on one UTC day (`day`: days since 1970-01-01), reserved ahead; one row per node. */
  day_counts: { account_id: number; deployment: Deployment; day: number; node: string; reserved: number };
  /** The minute's counts that a clean stop left behind, read once at the next start. */
  minute_counts: { subject: string; second: number; requests: number };
  /** Processes that serve this database. */
  nodes: { id: string; started_at: number; seen_at: number };
  /** Single facts of a deployment, such as when it was filled with sample data. */
  facts: { name: string; value: string };
  /** Counts the announcements of a topic, for processes that look (PostgreSQL). */
  announcements: { topic: string; version: number };
  migrations: { name: string; applied_at: number };
}

/** Defines a query over the product's tables; see `queriesOver`. */
export const query = queriesOver<Tables>();
