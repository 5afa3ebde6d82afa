import { nameFault } from '../lib/name.ts';
import { UserError } from '../lib/user-error.ts';
import { type PlanName, plans } from '../plans/plan.ts';

/** The most requests a minute or a day that an enterprise plan can agree on. */
export const AGREED_MAX = 1_000_000_000;

/** Who is registered: owns animals and keys, and has a plan. */
export interface Account {
  readonly id: number;
  /** In lower case; no two accounts have the same one. */
  readonly email: string;
  readonly name: string;
  readonly plan: PlanName;
  /** Requests a minute that were agreed; `null` on every plan but enterprise. */
  readonly perMinute: number | null;
  /** Requests a day that were agreed; `null` on every plan but enterprise. */
  readonly perDay: number | null;
  /** Whether its keys may change what belongs to others. */
  readonly admin: boolean;
  /** Milliseconds since the Unix epoch. */
  readonly createdAt: number;
}

/** What is needed to register. */
export interface NewAccount {
  readonly email: string;
  readonly name: string;
  /** Free where left out. */
  readonly plan?: PlanName;
  /** Whole requests, 1 to 10^9; with enterprise always, with other plans never. */
  readonly perMinute?: number;
  readonly perDay?: number;
  readonly admin?: boolean;
}

/**
 * Refuses what cannot be an account.
 * @throws {UserError} with a sentence that says what would be right
 */
export function checkNewAccount(account: NewAccount): void {
  checkEmail(account.email);
  const fault = nameFault(account.name);
  if (fault !== undefined) throw new UserError(`The account's name ${fault}.`);
  const plan = account.plan ?? 'free';
  if (!Object.hasOwn(plans, plan)) {
    throw new UserError(`There is no such plan; the plans are ${Object.keys(plans).join(', ')}.`);
  }
  if (plan === 'enterprise') {
    checkAgreed('minute', account.perMinute);
    checkAgreed('day', account.perDay);
  } else if (account.perMinute !== undefined || account.perDay !== undefined) {
    throw new UserError(`The plan ${plan} has its own limits; only enterprise takes requests per minute and per day.`);
  }
}

/** The most characters that an e-mail address has. */
export const EMAIL_LENGTH_MAX = 254;

/** Whether a text is an e-mail address as browsers take one: ASCII, without white space and control characters. */
export function isEmail(text: string): boolean {
  return emailForm.test(text) && text.length <= EMAIL_LENGTH_MAX && text.indexOf('@') <= 64;
}

function checkEmail(email: string): void {
  if (!isEmail(email)) {
    throw new UserError('The e-mail address must be like name@example.org, without spaces, 254 characters at most.');
  }
}

/** The form that browsers take in a form field (HTML Standard, "valid email address"). */
const emailForm =
  /^[\w.!#$%&'*+/=?^`{|}~-]+@[a-z\d](?:[a-z\d-]{0,61}[a-z\d])?(?:\.[a-z\d](?:[a-z\d-]{0,61}[a-z\d])?)*$/i;

function checkAgreed(window: 'minute' | 'day', agreed: number | undefined): void {
  if (agreed === undefined) {
    throw new UserError(`The plan enterprise needs both agreed numbers: requests per minute and requests per day.`);
  }
  if (!Number.isInteger(agreed) || agreed < 1 || agreed > AGREED_MAX) {
    throw new UserError(`The requests per ${window} must be a whole number from 1 to 1,000,000,000.`);
  }
}
