import type { CountedCaller, Verdict } from '../../src/access/limits/limiter.ts';
import { accountSubject, keySubject, sandboxAccountSubject, sandboxSubject } from '../../src/access/limits/subject.ts';
import { type Budget, type Limits, plans } from '../../src/model/plan.ts';
import type { DeploymentName } from '../../src/model/schema.ts';

/** The caller of a request as the limiter sees it. */
export interface CallerOptions {
  readonly keyId?: string;
  readonly accountId?: number;
  readonly deployment?: DeploymentName;
  readonly limits?: Limits;
  readonly budget?: Budget | undefined;
  /** The requests a minute of all sandbox accounts together, if the account is one of them. */
  readonly sandboxPerMinute?: number | undefined;
}

/** Returns a caller; by default with the key `key` of account 1, on production and the plan Free. */
export function countedCaller(options: CallerOptions = {}): CountedCaller {
  const { keyId = 'key', accountId = 1, deployment = 'production', limits = plans.free.limits } = options;
  const { budget, sandboxPerMinute } = options;
  if (sandboxPerMinute !== undefined) {
    const sandbox = sandboxSubject(deployment, sandboxPerMinute);
    return { keyId, account: sandboxAccountSubject(sandbox, accountId, limits), budget: sandbox };
  }
  const account = accountSubject(deployment, accountId, limits);
  return { keyId, account, budget: budget && keySubject(account, keyId, budget) };
}

/** Returns the outcome of a verdict, and its headers by name. */
export function verdictFields({ outcome, headers }: Verdict): Record<string, string> {
  const named: Record<string, string> = { outcome };
  for (let i = 0; i < headers.length; i += 2) named[headers[i]!] = headers[i + 1]!;
  return named;
}
