import type { AdmittedViewRequest, HttpView, ViewOperation, ViewResponse } from '../../lib/http/server/view.ts';
import { problem } from '../../model/errors.ts';
import { accountSandbox, type ClassicSandbox } from '../../store/classic/sandboxes.ts';
import { documentsOf } from './documents.ts';
import {
  type ClassicOperation,
  type ClassicOperationId,
  type ClassicVersion,
  classicOperations,
  onlyInV2,
} from './operations.ts';
import type { ClassicHandler } from './responses.ts';
import { ClassicStore } from './store.ts';
import * as v2 from './v2.ts';
import * as v3 from './v3.ts';
import { type ClassicViewDeps, Visitors } from './visitors.ts';

const BODY_BYTES_MAX = 64 * 1024;
const UPLOAD_BYTES_MAX = 4 * 1024 * 1024;

/** Returns a version of the classic Swagger Petstore, whose documents are in sandboxes. @param prefix of its paths */
export function classicView(version: ClassicVersion, prefix: string, deps: ClassicViewDeps): HttpView {
  const { deployment } = deps;
  const { handlers, respondToError, respondToProblem } = version === 'v2' ? v2 : v3;
  const visitors = new Visitors(deps);
  const ids = Object.keys(handlers) as ClassicOperationId[];
  const operations = ids
    .filter(id => version === 'v2' || !onlyInV2.includes(id))
    .map(id => bind(`classic.${version}.${id}`, classicOperations[id], handlers[id]));

  function bind(operationId: string, { method, path, body }: ClassicOperation, handle: ClassicHandler): ViewOperation {
    return {
      ...{ operationId, method, path },
      ...(body !== undefined && { bytesMax: body === 'file' ? UPLOAD_BYTES_MAX : BODY_BYTES_MAX }),
      async handle(request) {
        try {
          return withCors(await handle(request, new ClassicStore(deployment, sandboxOf(request))));
        } catch (error) {
          return withCors(respondToError(request, error));
        }
      },
    };
  }

  return {
    operations: [...operations, ...documentsOf(version, prefix)],
    chunked: true,
    authenticate: request => visitors.authenticate(request),
    problemResponse: (error, request) => withCors(respondToProblem(error, request)),
  };
}

/** Adds the headers that every response of the original has. */
function withCors(response: ViewResponse): ViewResponse {
  return { ...response, headers: [...(response.headers ?? []), ...cors] };
}

const cors = [
  ...['Access-Control-Allow-Methods', 'GET, POST, DELETE, PUT'],
  ...['Access-Control-Allow-Headers', 'Content-Type, api_key, Authorization'],
];

/** Returns the sandbox of the account, or the one with the name that the request sends, or that of the network. */
function sandboxOf({ caller, visitor, header }: AdmittedViewRequest): ClassicSandbox {
  if (caller !== undefined) return accountSandbox(caller.accountId);
  const network = visitor!;
  const name = header('x-sandbox');
  if (name === undefined) return { name: `network ${network}`, network };
  if (/^[\x20-\x7e]{1,64}$/.test(name)) return { name: `name ${name}`, network };
  throw problem('invalid_parameter', 'X-Sandbox must have 1 to 64 characters of ASCII.');
}
