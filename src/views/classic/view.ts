import type { AdmittedViewRequest, HttpView, ViewOperation } from '../../lib/http/server/view.ts';
import { problem } from '../../model/errors.ts';
import { accountSandbox, type ClassicSandbox } from '../../store/classic/sandboxes.ts';
import { documentsOf } from './documents.ts';
import {
  type ClassicOperation,
  type ClassicOperationId,
  type ClassicVersion,
  classicOperations,
} from './operations.ts';
import { InputError } from './requests.ts';
import { type ClassicHandler, encode } from './responses.ts';
import { ClassicStore } from './store.ts';
import * as v2 from './v2.ts';
import * as v3 from './v3.ts';
import { type ClassicViewDeps, Visitors } from './visitors.ts';

const BODY_BYTES_MAX = 64 * 1024;
const UPLOAD_BYTES_MAX = 4 * 1024 * 1024;

/** Returns a version of the classic Swagger Petstore, whose documents are in sandboxes. @param prefix of its paths */
export function classicView(version: ClassicVersion, prefix: string, deps: ClassicViewDeps): HttpView {
  const { deployment } = deps;
  const { format, handlers, respondToInputError, respondToProblem } = version === 'v2' ? v2 : v3;
  const visitors = new Visitors(deps);
  const served = Object.entries(handlers) as [ClassicOperationId, ClassicHandler][];
  const ids = served.map(([id]) => id);

  function bind([id, handle]: [ClassicOperationId, ClassicHandler]): ViewOperation {
    const { method, path, body }: ClassicOperation = classicOperations[id];
    return {
      ...{ operationId: `classic.${version}.${id}`, method, path },
      ...(body !== undefined && { bytesMax: body === 'file' ? UPLOAD_BYTES_MAX : BODY_BYTES_MAX }),
      async handle(request) {
        try {
          const response = await handle(request, new ClassicStore(deployment, sandboxOf(request)));
          return encode(request, format, response);
        } catch (error) {
          if (error instanceof InputError) return encode(request, format, respondToInputError(error));
          throw error;
        }
      },
    };
  }

  return {
    operations: [...served.map(bind), ...documentsOf(version, prefix, ids)],
    chunked: true,
    authenticate: request => visitors.authenticate(request),
    problemResponse: (error, request) => encode(request, format, respondToProblem(error, request)),
  };
}

/** Returns the sandbox of the account, or the one with the name that the request sends, or that of the network. */
function sandboxOf({ caller, visitor, header }: AdmittedViewRequest): ClassicSandbox {
  if (caller !== undefined) return accountSandbox(caller.accountId);
  const network = visitor!;
  const name = header('x-sandbox');
  if (name === undefined) return { name: `network ${network}`, network };
  if (/^[\x20-\x7e]{1,64}$/.test(name)) return { name: `name ${name}`, network };
  throw problem('invalid_parameter', 'X-Sandbox must have 1 to 64 characters of ASCII.');
}
