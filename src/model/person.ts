import type { Account } from './account.ts';
import type { NoticeChoice } from './notices.ts';
import type { Role } from './roles.ts';

/** A person who signs in: a member of one or more accounts. */
export interface Person {
  /** The person who began with an account has its id. */
  readonly id: number;
  /** In lower case; unique. The person signs in with it. */
  readonly email: string;
  readonly name: string;
  /** All times are milliseconds since the Unix epoch. */
  readonly createdAt: number;
  /** When the person confirmed the address, or opened a link of the operator. */
  readonly emailConfirmedAt?: number;
}

/** An account of which a person is a member. */
export interface Membership {
  readonly account: Account;
  readonly role: Role;
}

/** A person as a member of an account. */
export interface Member extends Person {
  readonly role: Role;
  readonly joinedAt: number;
  /** Absent without a choice; see `noticesOf`. */
  readonly notices?: NoticeChoice;
}

/** The maximum number of members of an account, with the people who are invited. */
export const MEMBERS_MAX = 100;
/** The maximum number of accounts of which a person is a member. */
export const MEMBERSHIPS_MAX = 50;
