import type { Limits } from '../plans/plan.ts';
import type { DeploymentName } from '../schema.ts';
import { DayCount } from './day-counts.ts';
import { MinuteWindow } from './minute-window.ts';
import { policyOf } from './verdict.ts';
import { Violations } from './violations.ts';

/** The counts of one account on one deployment, as this process knows them. */
export class AccountCounts {
  readonly minute = new MinuteWindow();
  readonly day: DayCount;
  /** The limits that this process enforces: the account's limits, or its share of them. */
  limits: Limits = { perMinute: 0, perDay: 0 };
  policy = '';
  /** The read of the stored counts in progress. */
  reading: Promise<void> | undefined;
  /** When to retry a failed read (milliseconds); until then no request waits for it. 0 if none failed. */
  retryReadAt = 0;
  /** The Valkey outage for which `day` knows the counts of the other nodes. */
  outage = 0;
  #agreed: Limits | undefined;
  #nodes = 0;
  #violations: Map<string, Violations> | undefined;

  constructor(id: number, deployment: DeploymentName, node: string, day: number) {
    this.day = new DayCount(id, deployment, node, day);
  }

  /** Sets the current limits, of which this process may use one of `nodes` equal shares. */
  setLimits(agreed: Limits, nodes: number): void {
    if (agreed === this.#agreed && nodes === this.#nodes) return;
    this.#agreed = agreed;
    this.#nodes = nodes;
    this.limits = shareOf(agreed, nodes);
    this.policy = policyOf(this.limits.perMinute, this.limits.perDay);
    this.day.limits = agreed;
  }

  /** The used part of this process's share of the day. */
  get usedToday(): number {
    return Math.ceil(this.day.others / this.#nodes) + this.day.own;
  }

  /** Returns the violations of a key of the account. */
  violationsOf(keyId: string): Violations {
    this.#violations ??= new Map();
    let violations = this.#violations.get(keyId);
    if (violations === undefined) {
      violations = new Violations();
      this.#violations.set(keyId, violations);
    }
    return violations;
  }

  /** Ends the run of rejections of a key whose request was accepted. */
  recordAccepted(keyId: string, now: number): void {
    if (this.#violations === undefined) return;
    if (this.#violations.get(keyId)?.recordAccepted(now)) this.clearViolations(keyId);
  }

  /** Forgets the violations of a key. */
  clearViolations(keyId: string): void {
    this.#violations?.delete(keyId);
    if (this.#violations?.size === 0) this.#violations = undefined;
  }
}

/** Returns one of `nodes` equal shares of the limits, rounded down, at least 1. */
export function shareOf(limits: Limits, nodes: number): Limits {
  if (nodes === 1) return limits;
  return {
    perMinute: Math.max(1, Math.floor(limits.perMinute / nodes)),
    perDay: Math.max(1, Math.floor(limits.perDay / nodes)),
  };
}
