import type { Problem } from '../../lib/http/problem.ts';
import type { ViewRequest, ViewResponse } from '../../lib/http/server/view.ts';
import type { ClassicOperationId } from './operations.ts';
import {
  BodyError,
  type BodyFault,
  listParameter,
  readBodyItem,
  readBodyItems,
  readForm,
  readUpload,
} from './requests.ts';
import {
  type ClassicHandler,
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
import { type ClassicStore, newId } from './store.ts';
import type { XmlFormat } from './xml.ts';

const format: XmlFormat = {
  sorted: true,
  formatDate: date => date.toISOString().replace('Z', '+0000'),
};

/** The type of a message by its code; see `ApiResponse` of the original. */
const typeOf = (code: number) => (code === 1 ? 'error' : 'unknown');

/** The shape of messages in XML, which lacks the code. */
const messageShape = { ...apiResponse, members: { type: 'text', message: 'text' } } as const;

/** Returns a message. @param code the status by default; 1 for an error of the original's code */
function message(request: ViewRequest, status: number, text: string | undefined, code = status): ViewResponse {
  const value = { code, type: typeOf(code), ...(text !== undefined && { message: text }) };
  return respond(request, format, { status, shape: messageShape, value, root: 'apiResponse' });
}

/** An error response, which handlers throw. */
class Failure extends Error {
  readonly status: number;
  readonly code: number;

  constructor(status: number, text: string, code = status) {
    super(text);
    this.status = status;
    this.code = code;
  }
}

const faults: Readonly<Record<BodyFault, readonly [status: number, text: string | undefined]>> = {
  missing: [405, 'no data'],
  unsupported: [415, undefined],
  malformed: [400, 'bad input'],
  misfit: [500, 'something bad happened'],
};

/** Returns the response for an error that a handler threw. @throws any other error */
export function respondToError(request: ViewRequest, error: unknown): ViewResponse {
  if (error instanceof Failure) {
    return { ...message(request, error.status, error.message, error.code), code: 'classic_error' };
  }
  if (error instanceof BodyError) return { ...message(request, ...faults[error.fault]), code: 'invalid_body' };
  throw error;
}

/** Returns the response that states a problem. */
export function respondToProblem({ code, status, message: text }: Problem, request: ViewRequest): ViewResponse {
  if (code === 'route_not_found') return message(request, 404, `null for uri: ${request.publicUrl}${request.path}`);
  if (code === 'method_not_allowed') return message(request, 405, undefined);
  if (code === 'internal_error') return message(request, 500, 'something bad happened');
  const value = { code: status, type: 'error', message: text };
  return respond(request, format, { status, shape: messageShape, value, root: 'apiResponse' });
}

/** Returns the id in a path. @throws {Failure} */
function idIn({ parameters }: ViewRequest, name: 'petId' | 'orderId'): bigint {
  const text = parameters[name]!;
  const id = parseLong(text);
  if (id === undefined) throw new Failure(404, `java.lang.NumberFormatException: For input string: "${text}"`);
  return id;
}

/** Returns the item with an id: a new one if the client chose none. */
function withId(item: Item): Item {
  return ((item['id'] ?? 0n) as bigint) < 1n ? { ...item, id: newId() } : item;
}

const empty = (status: number): ViewResponse => ({ status, bytes: '', code: 'classic_error' });

/** @throws {Failure} if there is no item */
function respondFound(request: ViewRequest, shape: ClassicShape, value: Item | undefined): ViewResponse {
  if (value === undefined) throw new Failure(404, `${shape.name} not found`, 1);
  return respond(request, format, { shape, value });
}

const storePet: ClassicHandler = async (request, store) => {
  const value = withId(readBodyItem(request, pet));
  await store.put('pet', value);
  return respond(request, format, { shape: pet, value });
};

const storeUsers: ClassicHandler = async (request, store) => {
  const users = readBodyItems(request, user).filter(one => one['username'] !== undefined);
  await store.put('user', ...users.map(withId));
  return message(request, 200, 'ok');
};

/** Stores a user. One without a name is not stored, as in the original. */
async function storeUser(store: ClassicStore, item: Item): Promise<bigint> {
  if (item['username'] === undefined) return item['id'] as bigint;
  const stored = withId(item);
  await store.put('user', stored);
  return stored['id'] as bigint;
}

export const handlers: Readonly<Record<ClassicOperationId, ClassicHandler>> = {
  addPet: storePet,
  updatePet: storePet,

  async findPetsByStatus(request, store) {
    const statuses = listParameter(request, 'status') ?? [];
    return respondPets(request, format, withStatus(await store.list('pet'), statuses));
  },

  async findPetsByTags(request, store) {
    const tags = listParameter(request, 'tags') ?? [];
    return respondPets(request, format, withTags(await store.list('pet'), tags));
  },

  async getPetById(request, store) {
    return respondFound(request, pet, await store.find('pet', idIn(request, 'petId')));
  },

  async updatePetWithForm(request, store) {
    const id = idIn(request, 'petId');
    const form = readForm(request);
    const [name, status] = [form.get('name'), form.get('status')];
    const changed = await store.change('pet', id, one => ({
      ...one,
      ...(name && { name }),
      ...(status && { status }),
    }));
    if (changed === undefined) throw new Failure(404, 'not found');
    return message(request, 200, String(id));
  },

  async deletePet(request, store) {
    const id = idIn(request, 'petId');
    return (await store.remove('pet', id)) ? message(request, 200, String(id)) : empty(404);
  },

  async uploadFile(request) {
    idIn(request, 'petId');
    const { fields, file } = readUpload(request);
    // The original dereferences the missing file.
    if (file === undefined) return empty(500);
    const metadata = fields.get('additionalMetadata') ?? 'null';
    const text = `additionalMetadata: ${metadata}\nFile uploaded to ./${file.name}, ${file.bytes} bytes`;
    return message(request, 200, text);
  },

  async getInventory(_, store) {
    const numbers = new Map<string, bigint>();
    for (const { status } of await store.list('pet')) {
      if (status) numbers.set(status as string, (numbers.get(status as string) ?? 0n) + 1n);
    }
    return respondNumbers(numbers);
  },

  async placeOrder(request, store) {
    if (request.body.length === 0) throw new Failure(400, 'No data', 1);
    const value = withId(readBodyItem(request, order));
    await store.put('order', value);
    return respond(request, format, { shape: order, value });
  },

  async getOrderById(request, store) {
    return respondFound(request, order, await store.find('order', idIn(request, 'orderId')));
  },

  async deleteOrder(request, store) {
    const id = idIn(request, 'orderId');
    if (!(await store.remove('order', id))) throw new Failure(404, 'Order Not Found');
    return message(request, 200, String(id));
  },

  async createUser(request, store) {
    return message(request, 200, String(await storeUser(store, readBodyItem(request, user))));
  },

  createUsersWithArrayInput: storeUsers,
  createUsersWithListInput: storeUsers,

  loginUser(request, store) {
    const now = store.now();
    return {
      ...message(request, 200, `logged in user session:${now}`),
      headers: ['X-Expires-After', javaDate(now + LOGIN_MS), 'X-Rate-Limit', LOGIN_RATE],
    };
  },

  logoutUser: request => message(request, 200, 'ok'),

  async getUserByName(request, store) {
    return respondFound(request, user, await store.find('user', request.parameters['username']!));
  },

  async updateUser(request, store) {
    const body = readBodyItem(request, user);
    if (body['username'] === undefined) return message(request, 200, String(body['id']));
    const value = withId(body);
    // Replaces the user with this name, also by one with another name.
    const changed = await store.change('user', request.parameters['username']!, () => value);
    if (changed === undefined) await store.put('user', value);
    return message(request, 200, String(value['id']));
  },

  async deleteUser(request, store) {
    const name = request.parameters['username']!;
    return (await store.remove('user', name)) ? message(request, 200, name) : empty(404);
  },
};
