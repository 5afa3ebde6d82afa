import { sandboxScopes } from '../../keys/sandbox.ts';
import type { Example, Route } from '../../lib/http/route.ts';
import { mainExample } from './operations.ts';

/** What requests of “Try it” need from earlier ones, by the words that a visitor reads. */
export const resources = {
  account: 'your account',
  pet: 'an animal of your own',
  category: 'a category of your own',
  organization: 'your organization',
  hold: 'a hold of your own',
  order: 'an order of your own',
  approvedOrder: 'an approved order of your own',
  deliveredOrder: 'a delivered order of your own',
  message: 'a message of yours',
} as const;
type Resource = keyof typeof resources;

/** How “Try it” fills in a request so that it succeeds with a trial key. */
interface Recipe {
  /** The resources whose ids are the values of path parameters. */
  readonly takes?: Readonly<Record<string, Resource>>;
  /**
   * The body instead of that of the example. `{pet}` stands for the id of the resource, `{tomorrow}` for a time and
   * `{random}` for a few letters.
   */
  readonly body?: unknown;
  /** The resource that a success creates; its id is in the response. */
  readonly gives?: Resource;
  /** The resource that another request can no longer take after a success. */
  readonly ends?: Resource;
}

/** The parameters of what a trial key cannot make, and the operations that only admins can use. */
const beyondSandbox = { parameters: ['photoId', 'importId'], operations: ['mergeCategory'] } as const;

const pet = { takes: { petId: 'pet' } } as const;
const category = { takes: { categoryId: 'category' } } as const;
const organization = { takes: { organizationId: 'organization' } } as const;
const hold = { takes: { holdId: 'hold' } } as const;
const order = { takes: { orderId: 'order' } } as const;

const recipes: Readonly<Record<string, Recipe>> = {
  createPet: { gives: 'pet' },
  getPet: pet,
  updatePet: { ...pet, body: { name: 'Minka', price: { amount: 9000, currency: 'EUR' } } },
  replacePet: pet,
  deletePet: { ...pet, ends: 'pet' },
  getPetHistory: pet,
  createCategory: { body: { name: 'Maine Coon {random}', parentId: 2 }, gives: 'category' },
  updateCategory: { ...category, body: { name: 'Maine Coons {random}', parentId: null } },
  deleteCategory: { ...category, ends: 'category' },
  replaceOrganization: { takes: { organizationId: 'account' }, gives: 'organization' },
  getOrganization: organization,
  updateOrganization: organization,
  deleteOrganization: { ...organization, ends: 'organization' },
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
  getAccount: { gives: 'account' },
  sendMessage: {
    body: { message: 'Does Minka get along with dogs?', petId: '{pet}', replyTo: 'jo@example.org' },
    gives: 'message',
  },
  getMessage: { takes: { messageId: 'message' } },
};

/** Reports whether a trial key can use an operation. */
export function isInSandbox({ operationId, access, upload, streams, path }: Route<never>): boolean {
  if (upload || streams || (beyondSandbox.operations as readonly string[]).includes(operationId)) return false;
  const isAllowed = access.scope === undefined || sandboxScopes.includes(access.scope);
  return isAllowed && !beyondSandbox.parameters.some(name => path.includes(`{${name}}`));
}

/** A request that “Try it” sends itself to get a resource that another one needs; the scripts of the page read it. */
export interface Step extends Pick<Recipe, 'takes' | 'gives' | 'ends'> {
  readonly method: string;
  readonly url: string;
  readonly body?: unknown;
}

export interface Plan {
  readonly takes: Readonly<Record<string, Resource>>;
  readonly gives: Resource | undefined;
  readonly ends: Resource | undefined;
  /** How to get each resource that the operation needs, directly or not. */
  readonly steps: Readonly<Record<string, Step>>;
  readonly names: Readonly<Record<string, string>>;
}

/** Returns what the scripts of the page need to fill in a request. @param urlOf the base URL of a route */
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

/** Returns the resources whose ids a request has. */
export function neededBy(route: Route<never>): Resource[] {
  const inBody = [...(JSON.stringify(bodyOf(route)) ?? '').matchAll(/"\{(\w+)\}"/g)].map(([, name]) => name!);
  const inPath = Object.values(recipes[route.operationId]?.takes ?? {});
  return [...new Set([...inPath, ...inBody])].filter((name): name is Resource => Object.hasOwn(resources, name));
}

/** Returns the body that the form begins with. */
export function bodyOf(route: Route<never>): unknown {
  return recipes[route.operationId]?.body ?? mainExample(route)?.body;
}

/** Returns the values of parameters that the form begins with: those of the example that exist in every store. */
export function valuesOf(route: Route<never>): Pick<Example, 'path' | 'query'> {
  const { path = {}, query = '' } = mainExample(route) ?? {};
  return { path: recipes[route.operationId]?.takes === undefined ? path : {}, query };
}
