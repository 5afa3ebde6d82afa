import { EMAIL_LENGTH_MAX, isEmail } from '../lib/email.ts';
import { countText, nameError } from '../lib/text.ts';
import { UserError } from '../lib/user-error.ts';
import { LIMIT_MAX, type Limits, limitsOf, type PlanName, plans } from './plan.ts';

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
  /** Milliseconds since the Unix epoch, like the times below. */
  readonly createdAt: number;
  /** Since when its keys are rejected; absent if they are not. */
  readonly suspendedAt?: number;
  /** The end of the grace period of its deletion; absent without a deletion, and after it. */
  readonly deleteAt?: number;
  /** Whether its owner requested the deletion, and may cancel it. */
  readonly deletionByOwner?: true;
  /** When its owner confirmed its address, or opened a link of the operator. */
  readonly emailConfirmedAt?: number;
  /** Whether every member needs a second factor. */
  readonly secondFactorRequired?: true;
  /** When its personal data was deleted. */
  readonly deletedAt?: number;
  /** Whether it belongs to a key of the sandbox; the account ends with that key. */
  readonly sandbox?: true;
}

/** The properties of a new account. The plan is Free by default. */
export interface NewAccount extends Pick<Account, 'email' | 'name'>, Partial<Pick<Account, 'plan' | 'admin'>> {
  /** Whole requests, 1 to 10^9; required on Enterprise, not allowed on other plans. */
  readonly perMinute?: number;
  readonly perDay?: number;
}

/** The properties of an account that a change sets. */
export type AccountChange = Partial<NewAccount>;

/** @throws {UserError} with a sentence that describes valid values */
export function checkNewAccount({ plan = 'free', ...account }: NewAccount): void {
  checkChange({ ...account, plan });
  if (plan === 'enterprise' && (account.perMinute === undefined || account.perDay === undefined)) {
    throw new UserError('The plan enterprise needs both requests per minute and requests per day.');
  }
}

/**
 * Validates a change without reading the account.
 * @throws {UserError} with a sentence that describes valid values
 */
export function checkChange({ email, name, plan, perMinute, perDay }: AccountChange): void {
  if (email !== undefined && !isEmail(email)) {
    throw new UserError(
      `The e-mail address must look like name@example.org, without spaces, with at most ${EMAIL_LENGTH_MAX} characters.`,
    );
  }
  const error = name === undefined ? undefined : nameError(name);
  if (error !== undefined) throw new UserError(`The account's name ${error}.`);
  if (plan !== undefined && !Object.hasOwn(plans, plan)) {
    throw new UserError(`There is no such plan. The plans are ${Object.keys(plans).join(', ')}.`);
  }
  if (plan !== undefined && plan !== 'enterprise' && (perMinute !== undefined || perDay !== undefined)) {
    throw new UserError(`The plan ${plan} has fixed limits; only enterprise accepts requests per minute and per day.`);
  }
  checkLimit('minute', perMinute);
  checkLimit('day', perDay);
}

/**
 * Returns the properties of an account after a change. Only Enterprise accounts have individual limits.
 * @throws {UserError} with a sentence that describes valid values
 */
export function changedProperties(account: Account, change: AccountChange): NewAccount {
  const { email, name, plan, admin, perMinute, perDay } = { ...account, ...change };
  const limits = plan === 'enterprise' ? { perMinute, perDay } : change;
  const after: NewAccount = {
    ...{ email, name, plan, admin },
    ...(limits.perMinute != null && { perMinute: limits.perMinute }),
    ...(limits.perDay != null && { perDay: limits.perDay }),
  };
  checkNewAccount(after);
  return after;
}

/** Returns the limits of an account: those of its plan, or the individual ones of an Enterprise account. */
export function limitsOfAccount({ plan, perMinute, perDay }: Pick<Account, 'plan' | 'perMinute' | 'perDay'>): Limits {
  return limitsOf({ plan, per_minute: perMinute, per_day: perDay });
}

function checkLimit(window: 'minute' | 'day', limit: number | undefined): void {
  if (limit !== undefined && (!Number.isInteger(limit) || limit < 1 || limit > LIMIT_MAX)) {
    throw new UserError(`The requests per ${window} must be a whole number from 1 to ${countText(LIMIT_MAX)}.`);
  }
}
