import type { NewEvent } from '../events/event.ts';
import { formatTime } from '../lib/time.ts';
import { type Limits, limitsOf } from '../plans/plan.ts';
import type { Account } from './account.ts';

/** An account as the log has it: never its e-mail address, which nobody could take out of the log again. */
export interface AccountState extends Pick<Account, 'name' | 'plan' | 'admin'> {
  /** What its plan allows, or what was agreed. */
  readonly limits: Limits;
  readonly createdAt: string;
}

/** What the log says of an account. */
export interface AccountEventData {
  /** The account after the change. */
  readonly account: AccountState;
  /** Whom it concerns: the account itself. */
  readonly ownerId: number;
}

/** What is written down when the operator has registered an account. */
export function accountEvent(account: Account): NewEvent {
  const { id, name, plan, perMinute, perDay, admin, createdAt } = account;
  const limits = limitsOf({ plan, per_minute: perMinute, per_day: perDay });
  const data: AccountEventData = {
    account: { name, plan, limits, admin, createdAt: formatTime(createdAt) },
    ownerId: id,
  };
  return { kind: 'account', action: 'created', subjectId: id, accountId: null, data };
}
