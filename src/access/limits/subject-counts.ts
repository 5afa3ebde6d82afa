import type { Limits } from '../../model/plan.ts';
import { DayCount, READ_MS, readReserved } from './day-counts.ts';
import type { LimiterDeps } from './limiter.ts';
import { MinuteWindow, secondOf } from './minute-window.ts';
import type { Subject } from './subject.ts';
import { policyOf, type WindowState } from './verdict.ts';
import { KeyUse, type Violations } from './violations.ts';

/** The counts of one subject, as this process knows them. */
export class SubjectCounts {
  readonly minute: MinuteWindow;
  readonly day: DayCount;
  /** The violations of an account's keys. */
  readonly violations = new Map<string, Violations>();
  /** The use of an account by its keys. */
  readonly keyUse = new KeyUse();
  /** The limits of the subject, of which this process enforces one of `#nodes` equal shares. */
  #fullLimits: Limits | undefined;
  #nodes = 1;
  /** The read of the stored counts in progress. */
  #reading: Promise<void> | undefined;
  /** When to retry a failed read (milliseconds); until then, no request waits for it. 0 without a failed read. */
  #retryReadAt = 0;
  /** The Valkey outage whose counts of other nodes `day` includes. */
  #outage = 0;
  #limits: Limits = { perMinute: 0, perDay: 0 };
  #prefix: Subject['prefix'] = '';
  #policy = '';

  /** @param firstSecond the first second in which this process counts */
  constructor(name: string, node: string, day: number, firstSecond: number) {
    this.minute = new MinuteWindow(firstSecond);
    this.day = new DayCount(name, node, day);
  }

  /** Sets the limits of the subject. A share is rounded down, and at least 1. */
  #setLimits({ limits, prefix }: Subject, nodes: number): void {
    this.#fullLimits = limits;
    this.#nodes = nodes;
    this.day.setLimit(limits.perDay, nodes);
    this.#limits = {
      perMinute: Math.max(1, Math.floor(limits.perMinute / nodes)),
      perDay: Math.max(1, Math.floor(limits.perDay / nodes)),
    };
    this.#prefix = prefix;
    this.#policy = policyOf(this.#limits, prefix);
  }

  /**
   * Reads the stored counts of the day unless they are known, for the latest Valkey outage. Returns a promise if a
   * request has to wait for them, for at most a second. If the read fails, counting continues in memory. The promise
   * never rejects.
   */
  load(deps: LimiterDeps, outage: number, now: number): Promise<void> | undefined {
    if (this.day.loaded && this.#outage === outage) return undefined;
    if (this.#retryReadAt !== 0 && now < this.#retryReadAt) return undefined;
    this.#reading ??= this.#read(deps, outage).finally(() => {
      this.#reading = undefined;
    });
    return this.#retryReadAt === 0 ? this.#reading : undefined;
  }

  /** Shifts the minute and the violations by a number of seconds, because the clock was set. */
  shift(seconds: number): void {
    this.minute.shift(seconds);
    this.keyUse.shift(seconds);
    for (const violations of this.violations.values()) violations.shift(seconds);
  }

  async #read(deps: LimiterDeps, outage: number): Promise<void> {
    const { day } = this;
    const date = day.day;
    const read = await readReserved(deps, day, rows => {
      if (day.day !== date) return;
      day.load(rows);
      this.#outage = outage;
      this.#retryReadAt = 0;
    });
    if (!read) this.#retryReadAt = deps.clock.now() + READ_MS;
  }

  /**
   * Returns the state of this process's share of the windows, as of the last `expire` of the minute.
   * @param subject the subject with its current limits; each of `nodes` enforces an equal share of them
   */
  windows(subject: Subject, nodes: number, now: number): WindowState {
    if (subject.limits !== this.#fullLimits || nodes !== this.#nodes) this.#setLimits(subject, nodes);
    const { minute, day } = this;
    const limits = this.#limits;
    return {
      now,
      limits,
      prefix: this.#prefix,
      policy: this.#policy,
      minuteLeft: limits.perMinute - minute.total,
      minuteReset: minute.reset(limits.perMinute, secondOf(now)),
      dayLeft: limits.perDay - Math.ceil(day.others / nodes) - day.own,
      dayReset: day.end,
    };
  }
}
