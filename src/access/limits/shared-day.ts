import { dayOf } from '../../lib/time.ts';
import { DayCount } from './day-counts.ts';
import type { SubjectReply } from './shared-reply.ts';
import { valkeyName } from './subject.ts';

/** The node name under which requests counted by Valkey are reserved. */
const SHARED = 'shared';

/** The requests of a subject on one day that Valkey counts for all nodes, in the latest state known to this node. */
export class SharedDay extends DayCount {
  /** The keys of the subject's windows in Valkey. */
  readonly keys: readonly [minute: string, day: string];
  /** The requests that Valkey has counted, and those of them that it has reversed, in the latest known state. */
  counted = 0;
  returned = 0;

  constructor(subject: string, prefix: string, day: number) {
    super(subject, SHARED, day);
    this.keys = valkeyKeys(subject, prefix);
  }

  override startDay(day: number, loaded: boolean): void {
    super.startDay(day, loaded);
    this.counted = 0;
    this.returned = 0;
  }

  /** Applies a state of the day in Valkey at `now` (milliseconds); replies may arrive in another order. */
  follow(now: number, [, , counted, used, returned]: SubjectReply): void {
    if (dayOf(now) !== this.day) return;
    if (counted > this.counted || (counted === this.counted && returned > this.returned)) {
      this.counted = counted;
      this.returned = returned;
    }
    this.own = Math.max(this.own, counted - returned);
    this.others = used - (counted - returned);
  }
}

/** Returns the keys of a subject's minute and day in Valkey. */
export function valkeyKeys(subject: string, prefix: string): readonly [minute: string, day: string] {
  const name = prefix + valkeyName(subject);
  return [`${name} minute`, `${name} day`];
}
