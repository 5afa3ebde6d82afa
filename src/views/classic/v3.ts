import { randomInt } from 'node:crypto';
import type { Problem } from '../../lib/http/problem.ts';
import type { ViewRequest, ViewResponse } from '../../lib/http/server/view.ts';
import type { ClassicOperationId } from './operations.ts';
import { bodyType, InputError, idIn, listParameter, readBodyItem, readBodyItems } from './requests.ts';
import {
  type ClassicContent,
  type ClassicHandler,
  type ClassicResponse,
  JSON_TYPE,
  loginExpiry,
  loginRate,
  petsWithStatus,
  petsWithTags,
  sumsByName,
} from './responses.ts';
import { apiResponse, type ClassicShape, type Item, order, pet, user } from './shapes.ts';
import type { XmlFormat } from './xml.ts';

export const format: XmlFormat = {
  sorted: false,
  formatDate: date => date.toISOString().replace('Z', '+00:00'),
};

const STATUSES = ['available', 'pending', 'sold'];

/** Returns a text, which the original marks as JSON although it is none. */
function text(status: number, bytes: string): ViewResponse {
  return { status, contentType: JSON_TYPE, bytes, ...(status >= 400 && { code: 'classic_error' }) };
}

const missing = (name: string) => text(400, `No ${name} provided. Try again?`);

/** Returns an error of the original's framework. */
function error(status: number, message: string, type?: string): ClassicContent {
  const code = status === 400 ? 'invalid_body' : 'classic_error';
  return { status, shape: apiResponse, value: { code: status, type, message }, root: 'ApiError', code };
}

function internalError({ requestId }: ViewRequest): ClassicContent {
  return error(500, `There was an error processing your request. It has been logged (ID: ${requestId})`);
}

/** Returns the response to a request with an id or a body that its operation cannot use. */
export function respondToInputError({ fault, subject }: InputError): ClassicResponse {
  if (fault === 'unsupported') return error(415, 'HTTP 415 Unsupported Media Type');
  if (fault === 'missing') return missing(subject);
  if (fault === 'id')
    return error(400, `Input error: couldn't convert \`${subject}\` to type \`class java.lang.Long\``);
  return error(400, `Input error: unable to convert input to io.swagger.petstore.model.${subject}`);
}

/** Returns the response that states a problem. */
export function respondToProblem({ code, status, message }: Problem, request: ViewRequest): ClassicContent {
  if (code === 'route_not_found') return error(404, 'HTTP 404 Not Found');
  if (code === 'method_not_allowed') return error(405, 'HTTP 405 Method Not Allowed');
  if (code === 'internal_error') return internalError(request);
  return error(status, message, 'error');
}

function found(shape: ClassicShape, value: Item | undefined): ClassicResponse {
  return value === undefined ? text(404, `${shape.name} not found`) : { shape, value };
}

// The original fails if a pet has no id, or a user no name.
export const handlers: Readonly<Record<Exclude<ClassicOperationId, 'createUsersWithArrayInput'>, ClassicHandler>> = {
  async addPet(request, store) {
    const value = readBodyItem(request, pet);
    if (value['id'] === undefined) return internalError(request);
    await store.put('pet', value);
    return { shape: pet, value };
  },

  async updatePet(request, store) {
    const value = readBodyItem(request, pet);
    if (value['id'] === undefined) return internalError(request);
    return found(pet, await store.change('pet', value['id'] as bigint, () => value));
  },

  findPetsByStatus(request, store) {
    const statuses = listParameter(request, 'status');
    if (statuses.length === 0) return missing('status');
    const unknown = statuses.find(status => !STATUSES.includes(status));
    if (unknown === undefined) return petsWithStatus(store, statuses);
    const allowed = `[${STATUSES.join(', ')}]`;
    const message = `query parameter \`status value \`${unknown}\` is not in the allowable values \`${allowed}\``;
    return error(400, `Input error: ${message}`);
  },

  findPetsByTags(request, store) {
    const tags = listParameter(request, 'tags');
    return tags.length === 0 ? missing('tags') : petsWithTags(store, tags);
  },

  getPetById: async (request, store) => found(pet, await store.find('pet', idIn(request, 'petId'))),

  async updatePetWithForm(request, store) {
    const id = idIn(request, 'petId');
    const query = new URLSearchParams(request.search);
    const [name, status] = [query.get('name'), query.get('status')];
    if (name === null) return missing('Name');
    // Without a status, the pet loses its own.
    const changed = await store.change('pet', id, ({ status: _, ...one }) => ({
      ...one,
      name,
      ...(status && { status }),
    }));
    return found(pet, changed);
  },

  async deletePet(request, store) {
    await store.remove('pet', idIn(request, 'petId'));
    return text(200, 'Pet deleted');
  },

  async uploadFile(request, store) {
    const id = idIn(request, 'petId');
    if (request.body.length === 0) return text(400, 'No file uploaded');
    if (bodyType(request) !== 'application/octet-stream') throw new InputError('unsupported');
    const path = `/tmp/inflector${randomInt(2 ** 47)}.tmp`;
    const changed = await store.change('pet', id, one => ({
      ...one,
      photoUrls: [...((one['photoUrls'] ?? []) as readonly string[]), path],
    }));
    return found(pet, changed);
  },

  async getInventory(_, store) {
    const orders = await store.list('order');
    return sumsByName(orders.map(({ status = '', quantity }) => [status as string, quantity as number]));
  },

  async placeOrder(request, store) {
    const value = readBodyItem(request, order);
    await store.put('order', value);
    return { shape: order, value };
  },

  getOrderById: async (request, store) => found(order, await store.find('order', idIn(request, 'orderId'))),

  async deleteOrder(request, store) {
    await store.remove('order', idIn(request, 'orderId'));
    return text(200, '');
  },

  async createUser(request, store) {
    const value = readBodyItem(request, user);
    if (value['username'] === undefined) return internalError(request);
    await store.put('user', value);
    return { shape: user, value };
  },

  async createUsersWithListInput(request, store) {
    const value = readBodyItems(request, user);
    if (value.length === 0) return missing('User');
    if (value.some(one => one['username'] === undefined)) return internalError(request);
    await store.put('user', ...value);
    return { shape: user, value, root: 'users' };
  },

  loginUser(_, store) {
    const response = text(200, `Logged in user session: ${randomInt(2 ** 47)}`);
    return { ...response, headers: [...loginRate, ...loginExpiry(store.now())] };
  },

  logoutUser: () => text(200, 'User logged out'),
  getUserByName: async (request, store) => found(user, await store.find('user', request.parameters['username']!)),

  async updateUser(request, store) {
    const value = readBodyItem(request, user);
    if (value['username'] === undefined) return internalError(request);
    return found(user, await store.change('user', request.parameters['username']!, () => value));
  },

  async deleteUser(request, store) {
    await store.remove('user', request.parameters['username']!);
    return text(200, '');
  },
};
