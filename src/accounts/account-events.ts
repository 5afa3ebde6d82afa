import type { NewEvent } from '../events/event.ts';
import { formatTime } from '../lib/time.ts';
import { type Limits, limitsOf } from '../plans/plan.ts';
import type { Account } from './account.ts';

/** An account as events describe it: without its email address, because events cannot be deleted. */
export interface AccountState extends Pick<Account, 'name' | 'plan' | 'admin'> {
  /** The limits of its plan, or its own on Enterprise. */
  readonly limits: Limits;
  readonly createdAt: string;
}

/** The data of an account event. */
export interface AccountEventData {
  /** The account after the change. */
  readonly account: AccountState;
  /** The account itself. */
  readonly ownerId: number;
}

/** Returns the event for an account that the operator created. */
export function accountEvent(account: Account): NewEvent {
  const { id, name, plan, perMinute, perDay, admin, createdAt } = account;
  const limits = limitsOf({ plan, per_minute: perMinute, per_day: perDay });
  const data: AccountEventData = {
    account: { name, plan, limits, admin, createdAt: formatTime(createdAt) },
    ownerId: id,
  };
  return { kind: 'account', action: 'created', subjectId: id, accountId: null, data };
}
