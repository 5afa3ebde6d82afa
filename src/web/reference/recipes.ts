import { sandboxScopes } from '../../access/keys/sandbox.ts';
import type { Example, Route } from '../../lib/http/route.ts';
import { mainExample } from './operations.ts';

/** The resources that requests of “Try it” need, with the words that a visitor reads. */
export const resources = {
  pet: 'an animal of your own',
  hold: 'a hold of your own',
  order: 'an order of your own',
  approvedOrder: 'an approved order of your own',
  deliveredOrder: 'a delivered order of your own',
  message: 'a message of yours',
} as const;
type Resource = keyof typeof resources;

/** The way in which “Try it” fills in a request so that it succeeds with a trial key. */
interface Recipe {
  /** The resources whose ids are the values of path parameters. */
  readonly takes?: Readonly<Record<string, Resource>>;
  /**
   * The body that replaces that of the example. `{pet}` stands for the id of the resource, and `{tomorrow}` for a time.
   */
  readonly body?: unknown;
  /** The resource that a successful request creates; its id is in the response. */
  readonly gives?: Resource;
  /** The resource that no further request can use after a success. */
  readonly ends?: Resource;
}

/** Resources that a trial key cannot create, by the parameter with their id. */
const beyondSandbox = { photoId: 'photos', importId: 'imports', organizationId: 'organization' } as const;

const pet = { takes: { petId: 'pet' } } as const;
const hold = { takes: { holdId: 'hold' } } as const;
const order = { takes: { orderId: 'order' } } as const;

const recipes: Readonly<Record<string, Recipe>> = {
  createPet: { gives: 'pet' },
  getPet: pet,
  updatePet: { ...pet, body: { name: 'Minka', price: { amount: 9000, currency: 'EUR' } } },
  replacePet: pet,
  deletePet: { ...pet, ends: 'pet' },
  getPetHistory: pet,
  createHold: { body: { petIds: ['{pet}'], note: 'We come on Saturday.' }, gives: 'hold', ends: 'pet' },
  getHold: hold,
  extendHold: { ...hold, body: { expiresAt: '{tomorrow}' } },
  releaseHold: { ...hold, ends: 'hold' },
  placeOrder: { body: { petId: '{pet}' }, gives: 'order', ends: 'pet' },
  getOrder: order,
  approveOrder: { ...order, ends: 'order', gives: 'approvedOrder' },
  deliverOrder: { takes: { orderId: 'approvedOrder' }, ends: 'approvedOrder', gives: 'deliveredOrder' },
  cancelOrder: { ...order, ends: 'order' },
  returnOrder: { takes: { orderId: 'deliveredOrder' }, ends: 'deliveredOrder' },
  sendMessage: {
    body: { message: 'Does Minka get along with dogs?', petId: '{pet}', replyTo: 'jo@example.org' },
    gives: 'message',
  },
  getMessage: { takes: { messageId: 'message' } },
};

/** Returns the reason why a trial key cannot use an operation, as a sentence with backticks; `undefined` if it can. */
export function reasonAgainstSandbox({ operationId, access, notInSandbox, path }: Route<never>): string | undefined {
  if (notInSandbox !== undefined) return `A trial key cannot ${notInSandbox}.`;
  const missing = Object.entries(beyondSandbox).find(([name]) => path.includes(`{${name}}`));
  if (missing !== undefined) return `A trial key has no ${missing[1]}.`;
  if (access.scope !== undefined && !sandboxScopes.includes(access.scope))
    return `Trial keys do not have the scope \`${access.scope}\`.`;
  return operationId === 'mergeCategory' ? `\`${operationId}\` needs the key of an admin.` : undefined;
}

/** A request that “Try it” sends to create a resource for another request; the scripts of the page read it. */
interface Step extends Pick<Recipe, 'takes' | 'gives' | 'ends'> {
  readonly method: string;
  readonly url: string;
  readonly body?: unknown;
}

interface Plan {
  readonly takes: Readonly<Record<string, Resource>>;
  readonly gives: Resource | undefined;
  readonly ends: Resource | undefined;
  /** The requests that create each resource that the operation needs, directly or indirectly. */
  readonly steps: Readonly<Record<string, Step>>;
  readonly names: Readonly<Record<string, string>>;
}

/**
 * Returns the data that the scripts of the page use to fill in a request.
 * @param urlOf returns the base URL of a route
 */
export function planOf(
  route: Route<never>,
  routes: readonly Route<never>[],
  urlOf: (route: Route<never>) => string,
): Plan {
  const { takes = {}, gives, ends } = recipes[route.operationId] ?? {};
  const steps: Record<string, Step> = {};
  const names: Record<string, string> = {};
  const add = (needed: readonly Resource[]) => {
    for (const resource of needed) {
      if (steps[resource] !== undefined) continue;
      const source = routes.find(({ operationId }) => recipes[operationId]?.gives === resource)!;
      const { takes, ends } = recipes[source.operationId]!;
      const body = bodyOf(source);
      steps[resource] = {
        method: source.method,
        url: urlOf(source) + source.path,
        ...(body !== undefined && { body }),
        ...(takes && { takes }),
        ...(ends && { ends }),
      };
      names[resource] = resources[resource];
      add(neededBy(source));
    }
  };
  add(neededBy(route));
  return { takes, gives, ends, steps, names };
}

/** Returns the resources whose ids a request contains. */
export function neededBy(route: Route<never>): Resource[] {
  const inBody = [...(JSON.stringify(bodyOf(route)) ?? '').matchAll(/"\{(\w+)\}"/g)].map(([, name]) => name!);
  const inPath = Object.values(recipes[route.operationId]?.takes ?? {});
  return [...new Set([...inPath, ...inBody])].filter((name): name is Resource => Object.hasOwn(resources, name));
}

/** Returns the initial body of the form. */
export function bodyOf(route: Route<never>): unknown {
  return recipes[route.operationId]?.body ?? mainExample(route)?.body;
}

/** Returns the initial values of parameters: those of the example that exist in every store. */
export function valuesOf(route: Route<never>): Pick<Example, 'path' | 'query'> {
  const { path = {}, query = '' } = mainExample(route) ?? {};
  return { path: recipes[route.operationId]?.takes === undefined ? path : {}, query };
}
