import { hash, randomBytes } from 'node:crypto';
import { DAY_MS } from '../../lib/time.ts';
import type { Account } from '../../model/account.ts';
import type { Membership, Person } from '../../model/person.ts';
import type { Role } from '../../model/roles.ts';

/** A browser in which a person is signed in. */
export interface Session {
  readonly id: number;
  readonly personId: number;
  /** The account whose pages it shows. */
  readonly accountId: number;
  /** All times are milliseconds since the Unix epoch. */
  readonly createdAt: number;
  /** The time of its latest request, up to `SEEN_BEHIND_MS` behind. */
  readonly lastSeenAt: number;
  readonly expiresAt: number;
  /** The address and the `User-Agent` that signed in. */
  readonly address: string;
  readonly userAgent: string;
  /** When the person last proved the identity: at the sign-in, or later with a second factor or the password. */
  readonly confirmedAt: number;
}

/** A session with its person, and what the person may do in its account. */
export interface SignedIn {
  readonly session: Session;
  readonly person: Person;
  /** The account of the session; an admin only for an owner. */
  readonly account: Account;
  readonly role: Role;
  /** The scopes of the widest key that the person may create in the account. */
  readonly scopes: readonly string[];
  /** All accounts of the person, between which the pages switch. */
  readonly memberships: readonly Membership[];
  /** Whether the account requires a second factor, and the person has none. */
  readonly lacksFactor: boolean;
}

/** The maximum life of a session. */
export const SESSION_MS = 30 * DAY_MS;
/** The time after its latest request at which a session ends. */
export const IDLE_MS = 7 * DAY_MS;
/** The longest delay of `lastSeenAt`. */
export const SEEN_BEHIND_MS = 60 * 60_000;
/** The maximum number of sessions of a person; when another begins, the oldest ends. */
export const SESSIONS_MAX = 20;
export const USER_AGENT_LENGTH_MAX = 200;

/** Returns a new secret for a cookie or a link: 256 random bits as 43 characters of base64url. */
export function newSecret(): string {
  return randomBytes(32).toString('base64url');
}

/** Reports whether a text has the form of a secret; see `newSecret`. */
export function isSecret(text: string): boolean {
  return /^[\w-]{43}$/.test(text);
}

/** Returns the SHA-256 of a secret in base64, which is stored instead of it. 256 random bits need no slow hash. */
export function hashSecret(secret: string): string {
  return hash('sha256', secret, 'base64');
}
