import type { Limits } from '../plans/plan.ts';
import type { DeploymentName } from '../schema.ts';
import { DayCount } from './day-counts.ts';
import { MinuteWindow } from './minute-window.ts';
import { policyOf, type WindowState } from './verdict.ts';
import type { Violations } from './violations.ts';

/** The counts of one account on one deployment, as this process knows them. */
export class AccountCounts {
  readonly minute = new MinuteWindow();
  readonly day: DayCount;
  /** The violations of the account's keys. */
  readonly violations = new Map<string, Violations>();
  /** The limits of the account, of which this process enforces one of `nodes` equal shares. */
  planLimits: Limits | undefined;
  nodes = 1;
  /** The read of the stored counts in progress. */
  reading: Promise<void> | undefined;
  /** When to retry a failed read (milliseconds); until then no request waits for it. 0 if none failed. */
  retryReadAt = 0;
  /** The Valkey outage for which `day` knows the counts of the other nodes. */
  outage = 0;
  #limits: Limits = { perMinute: 0, perDay: 0 };
  #policy = '';

  constructor(id: number, deployment: DeploymentName, node: string, day: number) {
    this.day = new DayCount(id, deployment, node, day);
  }

  /** Sets the limits of the account. A share of them is rounded down, and at least 1. */
  setLimits(planLimits: Limits, nodes: number): void {
    if (planLimits === this.planLimits && nodes === this.nodes) return;
    this.planLimits = planLimits;
    this.nodes = nodes;
    this.day.setLimit(planLimits.perDay, nodes);
    this.#limits = {
      perMinute: Math.max(1, Math.floor(planLimits.perMinute / nodes)),
      perDay: Math.max(1, Math.floor(planLimits.perDay / nodes)),
    };
    this.#policy = policyOf(this.#limits);
  }

  /** Returns the state of this process's share of the windows, as of the last `expire` of the minute. */
  windows(now: number, second: number): WindowState {
    const { minute, day } = this;
    const limits = this.#limits;
    return {
      now,
      limits,
      policy: this.#policy,
      minuteLeft: limits.perMinute - minute.total,
      minuteReset: minute.reset(limits.perMinute, second),
      dayLeft: limits.perDay - Math.ceil(day.others / this.nodes) - day.own,
      dayReset: day.end,
    };
  }
}
