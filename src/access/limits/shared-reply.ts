import { DAY_MS, dayOf } from '../../lib/time.ts';
import type { CountedCaller } from './limiter.ts';
import type { Subject } from './subject.ts';
import { policyOf, type Verdict, verdictOf, type WindowState } from './verdict.ts';

/** The result of `countScript` and `uncountScript`. */
export type Reply = [
  outcome: 'accepted' | 'limited' | 'banned' | 'newlyBanned' | 'unknownDay',
  sec: number,
  us: number,
  banUntil: number,
  bannedAt: number,
  account: SubjectReply,
  /** The key, if it has a budget, or all sandbox accounts together. */
  budget?: SubjectReply,
];

/**
 * The counts of one subject: `shared` by Valkey, `used` by all nodes, `returned` is the number that Valkey reversed.
 */
export type SubjectReply = [minuteLeft: number, minuteReset: number, shared: number, used: number, returned: number];

/** The result of `countAddressScript`. */
export type AddressReply = [
  outcome: 'accepted' | 'limited',
  sec: number,
  us: number,
  minuteLeft: number,
  minuteReset: number,
];

/** Converts the result of a script for a request of `caller`. */
export function verdictOfReply(reply: Reply, { account, budget }: Pick<CountedCaller, 'account' | 'budget'>): Verdict {
  const [outcome, sec, us, banUntil, , accountReply, budgetReply] = reply;
  const now = sec * 1000 + us / 1000;
  const windows = windowsOf(account, now, accountReply);
  const budgetWindows = budget && windowsOf(budget, now, budgetReply!);
  if (outcome === 'accepted' || outcome === 'limited') return verdictOf(outcome, windows, budgetWindows);
  return verdictOf('banned', windows, budgetWindows, banUntil / 1000);
}

/** Returns the state of a subject after a script. @param now Valkey's time in milliseconds */
export function windowsOf(
  { limits, prefix }: Subject,
  now: number,
  [minuteLeft, minuteReset, , used]: SubjectReply,
): WindowState {
  return {
    now,
    limits,
    prefix,
    policy: policyOf(limits, prefix),
    minuteLeft,
    minuteReset,
    dayLeft: limits.perDay - used,
    dayReset: (dayOf(now) + 1) * (DAY_MS / 1000),
  };
}
