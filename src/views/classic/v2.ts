import type { Problem } from '../../lib/http/problem.ts';
import type { ViewRequest, ViewResponse } from '../../lib/http/server/view.ts';
import type { ClassicOperationId } from './operations.ts';
import { type InputError, idIn, listParameter, readBodyItem, readBodyItems, readForm, readUpload } from './requests.ts';
import {
  type ClassicContent,
  type ClassicHandler,
  type ClassicResponse,
  loginExpiry,
  loginRate,
  petsWithStatus,
  petsWithTags,
  sumsByName,
} from './responses.ts';
import { apiResponse, type ClassicShape, type Item, order, pet, user } from './shapes.ts';
import { newId } from './store.ts';
import type { XmlFormat } from './xml.ts';

export const format: XmlFormat = {
  sorted: true,
  formatDate: date => date.toISOString().replace('Z', '+0000'),
};

/** The shape of messages in XML, which lacks the code. */
const messageShape = { ...apiResponse, members: { type: 'text', message: 'text' } } as const;

/** Returns a message. @param code 1 for an error of an operation, otherwise the status */
function message(
  status: number,
  text?: string,
  code = status,
  type = code === 1 ? 'error' : 'unknown',
): ClassicContent {
  return { status, shape: messageShape, value: { code, type, message: text }, root: 'apiResponse' };
}

/** Returns the message of an error. */
function failure(status: number, text: string, code?: number): ClassicContent {
  return { ...message(status, text, code), code: 'classic_error' };
}

const emptyFailure = (status: number): ViewResponse => ({ status, bytes: '', code: 'classic_error' });

/** Returns the response to a request with an id or a body that its operation cannot use. */
export function respondToInputError({ fault, subject }: InputError): ClassicContent {
  if (fault === 'id') return failure(404, `java.lang.NumberFormatException: For input string: "${subject}"`);
  return { ...bodyFailures[fault], code: 'invalid_body' };
}

const bodyFailures = {
  missing: message(405, 'no data'),
  unsupported: message(415),
  malformed: message(400, 'bad input'),
  mismatch: message(500, 'something bad happened'),
};

/** Returns the response that states a problem. */
export function respondToProblem({ code, status, message: text }: Problem, request: ViewRequest): ClassicContent {
  if (code === 'route_not_found') return message(404, `null for uri: ${request.publicUrl}${request.path}`);
  if (code === 'method_not_allowed') return message(405);
  if (code === 'internal_error') return message(500, 'something bad happened');
  return message(status, text, status, 'error');
}

/** Returns the item, with a new id if the client chose none. */
function withId(item: Item): Item {
  const { id, ...others } = item;
  // The id is the first member also if the client sent none.
  return ((id ?? 0n) as bigint) < 1n ? { id: newId(), ...others } : item;
}

function found(shape: ClassicShape, value: Item | undefined): ClassicResponse {
  return value === undefined ? failure(404, `${shape.name} not found`, 1) : { shape, value };
}

const storePet: ClassicHandler = async (request, store) => {
  const value = withId(readBodyItem(request, pet));
  await store.put('pet', value);
  return { shape: pet, value };
};

/** Stores a user, in the place of the one with the name in the path. One without a name is not stored. */
const storeUser: ClassicHandler = async (request, store) => {
  const body = readBodyItem(request, user);
  if (body['username'] === undefined) return message(200, String(body['id']));
  const value = withId(body);
  const { username } = request.parameters;
  const replaced = username === undefined ? undefined : await store.change('user', username, () => value);
  if (replaced === undefined) await store.put('user', value);
  return message(200, String(value['id']));
};

const storeUsers: ClassicHandler = async (request, store) => {
  const users = readBodyItems(request, user).filter(one => one['username'] !== undefined);
  await store.put('user', ...users.map(withId));
  return message(200, 'ok');
};

export const handlers: Readonly<Record<ClassicOperationId, ClassicHandler>> = {
  addPet: storePet,
  updatePet: storePet,
  findPetsByStatus: (request, store) => petsWithStatus(store, listParameter(request, 'status')),
  findPetsByTags: (request, store) => petsWithTags(store, listParameter(request, 'tags')),
  getPetById: async (request, store) => found(pet, await store.find('pet', idIn(request, 'petId'))),

  async updatePetWithForm(request, store) {
    const id = idIn(request, 'petId');
    const form = readForm(request);
    const [name, status] = [form.get('name'), form.get('status')];
    const changed = await store.change('pet', id, one => ({
      ...one,
      ...(name && { name }),
      ...(status && { status }),
    }));
    return changed === undefined ? failure(404, 'not found') : message(200, String(id));
  },

  async deletePet(request, store) {
    const id = idIn(request, 'petId');
    return (await store.remove('pet', id)) ? message(200, String(id)) : emptyFailure(404);
  },

  uploadFile(request) {
    idIn(request, 'petId');
    const { fields, file } = readUpload(request);
    // The original dereferences the missing file.
    if (file === undefined) return emptyFailure(500);
    const metadata = fields.get('additionalMetadata') ?? 'null';
    return message(200, `additionalMetadata: ${metadata}\nFile uploaded to ./${file.name}, ${file.bytes} bytes`);
  },

  async getInventory(_, store) {
    const pets = (await store.list('pet')).filter(({ status }) => status);
    return sumsByName(pets.map(({ status }) => [status as string, 1]));
  },

  async placeOrder(request, store) {
    if (request.body.length === 0) return failure(400, 'No data', 1);
    const value = withId(readBodyItem(request, order));
    await store.put('order', value);
    return { shape: order, value };
  },

  getOrderById: async (request, store) => found(order, await store.find('order', idIn(request, 'orderId'))),

  async deleteOrder(request, store) {
    const id = idIn(request, 'orderId');
    return (await store.remove('order', id)) ? message(200, String(id)) : failure(404, 'Order Not Found');
  },

  createUser: storeUser,
  createUsersWithArrayInput: storeUsers,
  createUsersWithListInput: storeUsers,

  loginUser(_, store) {
    const now = store.now();
    return { ...message(200, `logged in user session:${now}`), headers: [...loginExpiry(now), ...loginRate] };
  },

  logoutUser: () => message(200, 'ok'),
  getUserByName: async (request, store) => found(user, await store.find('user', request.parameters['username']!)),
  updateUser: storeUser,

  async deleteUser(request, store) {
    const name = request.parameters['username']!;
    return (await store.remove('user', name)) ? message(200, name) : emptyFailure(404);
  },
};
