import { isDeepStrictEqual } from 'node:util';
import { formatTime } from '../../lib/time.ts';
import { type Account, limitsOfAccount } from '../../model/account.ts';
import type { NewEvent } from '../../model/log/event.ts';
import type { ActionOf } from '../../model/nouns.ts';
import type { DeploymentName } from '../../model/schema.ts';

export interface AccountEventData {
  readonly account: State;
  /** The previous values of the changed members; `null` for absent ones. */
  readonly was?: State;
  readonly ownerId: number;
  /** The account that received its animals. */
  readonly toAccountId?: number;
}

/**
 * Returns the event for a change of an account or of its members. It has no e-mail address, because events cannot be
 * deleted.
 * @param before the account before the change; absent for a new account
 */
export function accountEvent(
  action: ActionOf<'account'>,
  account: Account,
  before?: Account,
  { member, ...more }: Pick<AccountEventData, 'toAccountId'> & { readonly member?: State } = {},
): NewEvent {
  const state = stateOf(account);
  const was = before && changesOf(stateOf(before), state);
  const data: AccountEventData = {
    account: { ...state, ...member },
    ...(was && { was }),
    ...more,
    ownerId: account.id,
  };
  return { kind: 'account', action, subjectId: account.id, accountId: null, data };
}

/** Returns the event that an account has used `threshold` percent of its requests of a day to a deployment. */
export function usageAlertEvent(account: Account, deployment: DeploymentName, threshold: number): NewEvent {
  const data: AccountEventData = { account: { ...stateOf(account), deployment, threshold }, ownerId: account.id };
  return { kind: 'account', action: 'usage_alert', subjectId: account.id, accountId: null, data, automatic: true };
}

type State = Readonly<Record<string, unknown>>;

function stateOf(account: Account): State {
  const { name, plan, admin, createdAt, suspendedAt, deleteAt, secondFactorRequired } = account;
  return {
    ...{ name, plan, limits: limitsOfAccount(account), admin },
    createdAt: formatTime(createdAt),
    ...(suspendedAt !== undefined && { suspendedAt: formatTime(suspendedAt) }),
    ...(deleteAt !== undefined && { deleteAt: formatTime(deleteAt) }),
    ...(secondFactorRequired && { secondFactorRequired }),
  };
}

/** Returns the previous values of the changed members, `null` for absent ones; `undefined` if none changed. */
function changesOf(before: State, after: State): State | undefined {
  const names = Object.keys({ ...before, ...after }).filter(name => !isDeepStrictEqual(before[name], after[name]));
  return names.length === 0 ? undefined : Object.fromEntries(names.map(name => [name, before[name] ?? null]));
}
