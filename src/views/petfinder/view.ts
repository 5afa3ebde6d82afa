import type { Deployment } from '../../access/deployment.ts';
import type { KeyAuthenticator } from '../../access/keys/authenticator.ts';
import type { AdmittedViewRequest, HttpView, ViewOperation } from '../../lib/http/server/view.ts';
import { problem } from '../../model/errors.ts';
import { boundOf } from '../../model/plan.ts';
import { AccessTokens, SCOPE } from './access-token.ts';
import { getAnimal, listAnimals } from './animals.ts';
import { problemResponse } from './errors.ts';
import { getOrganization, listOrganizations } from './organizations.ts';
import { PageNumbers } from './pages.ts';
import { getType, listBreeds, listTypes } from './types.ts';

/** The parts of a process that the view uses. */
interface PetfinderDeps {
  readonly deployment: Deployment;
  readonly authenticator: KeyAuthenticator;
}

/**
 * Returns the view for clients of Petfinder's API v2, which only reads.
 * @source the public clients of that API: `@petfinder/petfinder-js`, `petpy` and others
 */
export function petfinderView({ deployment, authenticator }: PetfinderDeps): HttpView {
  const { clock, database, bounds } = deployment;
  const pages = new PageNumbers({ clock, maxOf: caller => boundOf(bounds, caller, 'scans') });
  const tokens = new AccessTokens({ authenticator, clock });
  const deps = { database, pages };
  return {
    operations: [
      tokens.operation(),
      reading('petfinder.listAnimals', '/animals', request => listAnimals(request, deps)),
      reading('petfinder.getAnimal', '/animals/{id}', request => getAnimal(request, deps)),
      reading('petfinder.listTypes', '/types', listTypes),
      reading('petfinder.getType', '/types/{type}', getType),
      reading('petfinder.listBreeds', '/types/{type}/breeds', listBreeds),
      reading('petfinder.listOrganizations', '/organizations', request => listOrganizations(request, deps)),
      reading('petfinder.getOrganization', '/organizations/{id}', getOrganization),
    ],
    authenticate: request => tokens.authenticate(request),
    problemResponse,
  };
}

function reading(
  operationId: string,
  path: string,
  read: (request: AdmittedViewRequest) => Promise<object>,
): ViewOperation {
  return {
    ...{ operationId, method: 'GET', path },
    async handle(request) {
      // Not every reading calls an operation, which would check it.
      if (!request.caller!.scopes.has(SCOPE)) throw problem('insufficient_scope');
      return { status: 200, bytes: JSON.stringify(await read(request)) };
    },
  };
}
