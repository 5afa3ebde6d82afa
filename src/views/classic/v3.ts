import { randomInt } from 'node:crypto';
import type { Problem } from '../../lib/http/problem.ts';
import type { AdmittedViewRequest, ViewRequest, ViewResponse } from '../../lib/http/server/view.ts';
import type { ClassicOperationId } from './operations.ts';
import { BodyError, bodyType, listParameter, readBodyItem, readBodyItems } from './requests.ts';
import {
  type ClassicHandler,
  JSON_TYPE,
  javaDate,
  LOGIN_MS,
  LOGIN_RATE,
  respond,
  respondNumbers,
  respondPets,
  withStatus,
  withTags,
} from './responses.ts';
import { apiResponse, type ClassicShape, type Item, order, parseLong, pet, user } from './shapes.ts';
import type { XmlFormat } from './xml.ts';

const format: XmlFormat = {
  sorted: false,
  formatDate: date => date.toISOString().replace('Z', '+00:00'),
};

const STATUSES = ['available', 'pending', 'sold'];

/** Returns a text, which the original marks as JSON although it is none. */
function text(status: number, bytes: string): ViewResponse {
  return { status, contentType: JSON_TYPE, bytes, ...(status >= 400 && { code: 'classic_error' }) };
}

/** Returns an error of the original's framework. */
function error(request: ViewRequest, status: number, message: string): ViewResponse {
  const response = respond(request, format, {
    ...{ status, shape: apiResponse, value: { code: status, message }, root: 'ApiError' },
  });
  return { ...response, code: status === 400 ? 'invalid_body' : 'classic_error' };
}

function internalError(request: ViewRequest): ViewResponse {
  const logged = `It has been logged (ID: ${request.requestId})`;
  return error(request, 500, `There was an error processing your request. ${logged}`);
}

/** An error response, which handlers throw. */
class Failure extends Error {
  readonly response: ViewResponse;

  constructor(response: ViewResponse) {
    super();
    this.response = response;
  }
}

/** Returns the response for an error that a handler threw. @throws any other error */
export function respondToError(request: ViewRequest, thrown: unknown): ViewResponse {
  if (thrown instanceof Failure) return thrown.response;
  if (thrown instanceof BodyError && thrown.fault === 'unsupported') {
    return error(request, 415, 'HTTP 415 Unsupported Media Type');
  }
  throw thrown;
}

/** Returns the response that states a problem. */
export function respondToProblem({ code, status, message }: Problem, request: ViewRequest): ViewResponse {
  if (code === 'route_not_found') return error(request, 404, 'HTTP 404 Not Found');
  if (code === 'method_not_allowed') return error(request, 405, 'HTTP 405 Method Not Allowed');
  if (code === 'internal_error') return internalError(request);
  const value = { code: status, type: 'error', message };
  return respond(request, format, { status, shape: apiResponse, value, root: 'ApiError' });
}

/** Returns the id in a path. @throws {Failure} */
function idIn(request: ViewRequest, name: 'petId' | 'orderId'): bigint {
  const sent = request.parameters[name]!;
  const id = parseLong(sent);
  if (id !== undefined) return id;
  throw new Failure(error(request, 400, `Input error: couldn't convert \`${sent}\` to type \`class java.lang.Long\``));
}

/** Returns what `read` finds in a body. @throws {Failure} */
function bodyOf<T>(
  request: AdmittedViewRequest,
  shape: ClassicShape,
  read: typeof readBodyItem | typeof readBodyItems,
): T {
  try {
    return read(request, shape) as T;
  } catch (thrown) {
    if (!(thrown instanceof BodyError) || thrown.fault === 'unsupported') throw thrown;
    if (thrown.fault === 'missing') throw new Failure(text(400, `No ${shape.name} provided. Try again?`));
    const type = `io.swagger.petstore.model.${shape.name}`;
    throw new Failure(error(request, 400, `Input error: unable to convert input to ${type}`));
  }
}

/** Returns the pet in a body. @throws {Failure} if it has no id, as the original fails then */
function petOf(request: AdmittedViewRequest): Item {
  const value = bodyOf<Item>(request, pet, readBodyItem);
  if (value['id'] === undefined) throw new Failure(internalError(request));
  return value;
}

function respondFound(request: ViewRequest, shape: ClassicShape, value: Item | undefined): ViewResponse {
  return value === undefined ? text(404, `${shape.name} not found`) : respond(request, format, { shape, value });
}

const storeUsers: ClassicHandler = async (request, store) => {
  const value = bodyOf<Item[]>(request, user, readBodyItems);
  if (value.length === 0) return text(400, 'No User provided. Try again?');
  if (value.some(one => one['username'] === undefined)) return internalError(request);
  await store.put('user', ...value);
  return respond(request, format, { shape: user, value, root: 'users' });
};

export const handlers: Readonly<Record<ClassicOperationId, ClassicHandler>> = {
  async addPet(request, store) {
    const value = petOf(request);
    await store.put('pet', value);
    return respond(request, format, { shape: pet, value });
  },

  async updatePet(request, store) {
    const value = petOf(request);
    return respondFound(request, pet, await store.change('pet', value['id'] as bigint, () => value));
  },

  async findPetsByStatus(request, store) {
    const statuses = listParameter(request, 'status');
    if (statuses === undefined) return text(400, 'No status provided. Try again?');
    const unknown = statuses.find(status => !STATUSES.includes(status));
    if (unknown !== undefined) {
      const values = `[${STATUSES.join(', ')}]`;
      const message = `Input error: query parameter \`status value \`${unknown}\` is not in the allowable values \`${values}\``;
      return error(request, 400, message);
    }
    return respondPets(request, format, withStatus(await store.list('pet'), statuses));
  },

  async findPetsByTags(request, store) {
    const tags = listParameter(request, 'tags');
    if (tags === undefined) return text(400, 'No tags provided. Try again?');
    return respondPets(request, format, withTags(await store.list('pet'), tags));
  },

  async getPetById(request, store) {
    return respondFound(request, pet, await store.find('pet', idIn(request, 'petId')));
  },

  async updatePetWithForm(request, store) {
    const id = idIn(request, 'petId');
    const query = new URLSearchParams(request.search);
    const name = query.get('name');
    if (name === null) return text(400, 'No Name provided. Try again?');
    // Without a status, the pet loses its own.
    const status = query.get('status') ?? undefined;
    const value = await store.change('pet', id, ({ status: _, ...one }) => ({
      ...one,
      name,
      ...(status && { status }),
    }));
    return respondFound(request, pet, value);
  },

  async deletePet(request, store) {
    await store.remove('pet', idIn(request, 'petId'));
    return text(200, 'Pet deleted');
  },

  async uploadFile(request, store) {
    const id = idIn(request, 'petId');
    if (bodyType(request) !== 'application/octet-stream' && request.body.length > 0) throw new BodyError('unsupported');
    if (request.body.length === 0) return text(400, 'No file uploaded');
    const path = `/tmp/inflector${randomInt(2 ** 47)}.tmp`;
    const value = await store.change('pet', id, one => ({
      ...one,
      photoUrls: [...((one['photoUrls'] ?? []) as readonly string[]), path],
    }));
    return respondFound(request, pet, value);
  },

  async getInventory(_, store) {
    const numbers = new Map<string, bigint>();
    for (const { status, quantity } of await store.list('order')) {
      const name = String(status ?? '');
      numbers.set(name, (numbers.get(name) ?? 0n) + BigInt(quantity as number));
    }
    return respondNumbers(numbers);
  },

  async placeOrder(request, store) {
    const value = bodyOf<Item>(request, order, readBodyItem);
    await store.put('order', value);
    return respond(request, format, { shape: order, value });
  },

  async getOrderById(request, store) {
    return respondFound(request, order, await store.find('order', idIn(request, 'orderId')));
  },

  async deleteOrder(request, store) {
    await store.remove('order', idIn(request, 'orderId'));
    return text(200, '');
  },

  async createUser(request, store) {
    const value = bodyOf<Item>(request, user, readBodyItem);
    if (value['username'] === undefined) return internalError(request);
    await store.put('user', value);
    return respond(request, format, { shape: user, value });
  },

  createUsersWithArrayInput: storeUsers,
  createUsersWithListInput: storeUsers,

  loginUser(_, store) {
    const expires = javaDate(store.now() + LOGIN_MS);
    return {
      ...text(200, `Logged in user session: ${randomInt(2 ** 47)}`),
      headers: ['X-Rate-Limit', LOGIN_RATE, 'X-Expires-After', expires],
    };
  },

  logoutUser: () => text(200, 'User logged out'),

  async getUserByName(request, store) {
    return respondFound(request, user, await store.find('user', request.parameters['username']!));
  },

  async updateUser(request, store) {
    const value = bodyOf<Item>(request, user, readBodyItem);
    if (value['username'] === undefined) return internalError(request);
    return respondFound(request, user, await store.change('user', request.parameters['username']!, () => value));
  },

  async deleteUser(request, store) {
    await store.remove('user', request.parameters['username']!);
    return text(200, '');
  },
};
