import { isEmail } from '../lib/email.ts';
import { nameError } from '../lib/text.ts';
import { UserError } from '../lib/user-error.ts';
import { type PlanName, plans } from '../plans/plan.ts';

/** The maximum requests per minute or day of an Enterprise account. */
export const LIMIT_MAX = 1_000_000_000;

/** An account: owns animals and API keys, and has a plan. */
export interface Account {
  readonly id: number;
  /** In lower case; unique. */
  readonly email: string;
  readonly name: string;
  readonly plan: PlanName;
  /** The requests per minute of an Enterprise account; `null` on other plans. */
  readonly perMinute: number | null;
  /** The requests per day of an Enterprise account; `null` on other plans. */
  readonly perDay: number | null;
  /** Whether its keys may change the resources of other accounts. */
  readonly admin: boolean;
  /** Milliseconds since the Unix epoch. */
  readonly createdAt: number;
}

/** The properties of a new account. The plan is Free by default. */
export interface NewAccount extends Pick<Account, 'email' | 'name'>, Partial<Pick<Account, 'plan' | 'admin'>> {
  /** Whole requests, 1 to 10^9; required on Enterprise, not allowed on other plans. */
  readonly perMinute?: number;
  readonly perDay?: number;
}

/** @throws {UserError} with a sentence that says what is valid */
export function checkNewAccount(account: NewAccount): void {
  if (!isEmail(account.email)) {
    throw new UserError(
      'The e-mail address must look like name@example.org, without spaces, with at most 254 characters.',
    );
  }
  const error = nameError(account.name);
  if (error !== undefined) throw new UserError(`The account's name ${error}.`);
  const plan = account.plan ?? 'free';
  if (!Object.hasOwn(plans, plan)) {
    throw new UserError(`There is no such plan. The plans are ${Object.keys(plans).join(', ')}.`);
  }
  if (plan === 'enterprise') {
    checkLimit('minute', account.perMinute);
    checkLimit('day', account.perDay);
  } else if (account.perMinute !== undefined || account.perDay !== undefined) {
    throw new UserError(`The plan ${plan} has fixed limits; only enterprise accepts requests per minute and per day.`);
  }
}

function checkLimit(window: 'minute' | 'day', limit: number | undefined): void {
  if (limit === undefined) {
    throw new UserError('The plan enterprise needs both requests per minute and requests per day.');
  }
  if (!Number.isInteger(limit) || limit < 1 || limit > LIMIT_MAX) {
    throw new UserError(`The requests per ${window} must be a whole number from 1 to 1,000,000,000.`);
  }
}
