import type { Limits } from '../plans/plan.ts';
import type { DeploymentName } from '../schema.ts';
import { DayCount } from './day-counts.ts';
import { MinuteWindow } from './minute-window.ts';
import { policyOf } from './verdict.ts';
import { Violations } from './violations.ts';

/** What one account has counted on one deployment, as one process knows it. */
export class AccountCounts {
  readonly minute = new MinuteWindow();
  readonly day: DayCount;
  /** What this process may let through: the account's limits, or its share of them. */
  limits: Limits = { perMinute: 0, perDay: 0 };
  policy = '';
  /** Where what is on disk is being read. */
  reading: Promise<void> | undefined;
  /** When the reading that failed is tried again (milliseconds), and until when nobody waits for it; 0 when none did. */
  unreadUntil = 0;
  /** The outage of the shared counts for which `day` knows the other nodes' counts. */
  outage = 0;
  #agreed: Limits | undefined;
  #nodes = 0;
  #violations: Map<string, Violations> | undefined;

  constructor(id: number, deployment: DeploymentName, node: string, day: number) {
    this.day = new DayCount(id, deployment, node, day);
  }

  /** Takes the limits in force, of which this process may use one of `nodes` equal parts. */
  agree(agreed: Limits, nodes: number): void {
    if (agreed === this.#agreed && nodes === this.#nodes) return;
    this.#agreed = agreed;
    this.#nodes = nodes;
    this.limits = shareOf(agreed, nodes);
    this.policy = policyOf(this.limits.perMinute, this.limits.perDay);
    this.day.limits = agreed;
  }

  /** What is used of this process's part of the day. */
  get usedOfDay(): number {
    return Math.ceil(this.day.others / this.#nodes) + this.day.own;
  }

  /** How a key of the account takes being refused. */
  violationsOf(keyId: string): Violations {
    this.#violations ??= new Map();
    let violations = this.#violations.get(keyId);
    if (violations === undefined) {
      violations = new Violations();
      this.#violations.set(keyId, violations);
    }
    return violations;
  }

  /** Ends the episode of a key, whose request was accepted. */
  accepted(keyId: string, now: number): void {
    if (this.#violations === undefined) return;
    if (this.#violations.get(keyId)?.accepted(now)) this.forget(keyId);
  }

  /** Forgets how a key took being refused. */
  forget(keyId: string): void {
    this.#violations?.delete(keyId);
    if (this.#violations?.size === 0) this.#violations = undefined;
  }
}

/** One of `nodes` equal parts of the limits, rounded down, but never nothing. */
export function shareOf(limits: Limits, nodes: number): Limits {
  if (nodes === 1) return limits;
  return {
    perMinute: Math.max(1, Math.floor(limits.perMinute / nodes)),
    perDay: Math.max(1, Math.floor(limits.perDay / nodes)),
  };
}
