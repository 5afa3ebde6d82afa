import type { Caller } from '../lib/http/route.ts';
import type { Exchange } from '../lib/http/server/exchange.ts';
import type { Outcome } from '../lib/http/server/options.ts';
import type { DeploymentName } from '../schema.ts';
import type { NewLoggedRequest } from './logged-request.ts';
import { shownPath } from './shown-path.ts';

/** A request that waits to be written. It holds nothing of the connection. */
export interface Line {
  readonly caller: Caller;
  readonly prefix: string;
  readonly route: Outcome['route'];
  readonly method: string;
  readonly path: string;
  readonly parameters: Exchange['parameters'];
  readonly search: string;
  readonly requestId: string;
  readonly at: number;
  readonly status: number;
  readonly code: string;
  readonly durationMs: number;
}

/** Returns the line of a request. @param now the time of its response, in milliseconds since the Unix epoch */
export function lineOf(prefix: string, exchange: Exchange, outcome: Outcome, caller: Caller, now: number): Line {
  const { request, path, parameters, search, requestId } = exchange;
  const { route, status, code, durationMs } = outcome;
  const at = Math.floor(now);
  return {
    caller,
    prefix,
    route,
    method: request.method!,
    path,
    parameters,
    search,
    requestId,
    at,
    status,
    code,
    durationMs,
  };
}

/** Returns a request as it is stored. */
export function rowOf({ caller, route, ...line }: Line): NewLoggedRequest {
  const { keyId, accountId, deployment } = caller;
  return {
    ...{ keyId, accountId, deployment: deployment as DeploymentName },
    requestId: line.requestId,
    time: line.at,
    method: line.method,
    path: route === undefined ? null : shownPath({ ...line, route }),
    operation: route?.operationId ?? null,
    status: line.status,
    code: line.code === '' ? null : line.code,
    durationMs: Math.round(line.durationMs * 1000),
  };
}
