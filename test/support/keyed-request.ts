import type { withIdempotency } from '../../src/access/idempotency/idempotency.ts';
import type { Clock } from '../../src/lib/clock.ts';
import type { BoundSettings } from '../../src/model/plan.ts';
import type { Database } from '../../src/model/schema.ts';

/** Returns a request with what `withIdempotency` reads of it. An empty key omits the header. */
export function requestWithKey(
  key: string,
  { database, clock, accountId, body, bounds = {} }: KeyedRequest,
): Parameters<typeof withIdempotency>[0] {
  const request = {
    context: { name: 'production', database, clock, bounds },
    caller: { accountId, plan: 'free', admin: false },
    ...{ body, path: {}, query: {}, operationId: 'aChange', origin: undefined },
    headers: key === '' ? {} : { 'idempotency-key': key },
  };
  return request as unknown as Parameters<typeof withIdempotency>[0];
}

interface KeyedRequest {
  readonly database: Database;
  readonly clock: Clock;
  readonly accountId: number;
  readonly body?: unknown;
  readonly bounds?: BoundSettings;
}
