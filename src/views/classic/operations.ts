import type { Method } from '../../lib/http/route.ts';

/** The versions of the interface that are served. */
export type ClassicVersion = 'v2' | 'v3';

/** An operation, as the documents describe it. */
export interface ClassicOperation {
  readonly method: Method;
  readonly path: string;
  readonly summary: string;
  /** The name of the shape of the body, or of its items; `form` and `file` differ between the versions. */
  readonly body?: 'Pet' | 'Order' | 'User' | 'Users' | 'form' | 'file';
  /** The query parameters, besides those that only one version has. */
  readonly query?: readonly string[];
  /** The name of the shape of a successful response in version 3, where it has one. */
  readonly returns?: 'Pet' | 'Pets' | 'Order' | 'User' | 'Users' | 'Inventory';
}

const lists = 'Creates a list of users from the given array.';

/** The operations of both versions, by their ids. Static paths come before those with parameters. */
export const classicOperations = {
  addPet: { method: 'POST', path: '/pet', summary: 'Adds a pet to the store.', body: 'Pet', returns: 'Pet' },
  updatePet: { method: 'PUT', path: '/pet', summary: 'Updates a pet.', body: 'Pet', returns: 'Pet' },
  findPetsByStatus: {
    ...{ method: 'GET', path: '/pet/findByStatus', summary: 'Finds pets by status: several are separated by commas.' },
    ...{ query: ['status'], returns: 'Pets' },
  },
  findPetsByTags: {
    ...{ method: 'GET', path: '/pet/findByTags', summary: 'Finds pets by tags: several are separated by commas.' },
    ...{ query: ['tags'], returns: 'Pets' },
  },
  getPetById: { method: 'GET', path: '/pet/{petId}', summary: 'Finds a pet by its id.', returns: 'Pet' },
  updatePetWithForm: {
    ...{ method: 'POST', path: '/pet/{petId}', summary: 'Updates the name and status of a pet.', body: 'form' },
    returns: 'Pet',
  },
  deletePet: { method: 'DELETE', path: '/pet/{petId}', summary: 'Deletes a pet.' },
  uploadFile: {
    ...{ method: 'POST', path: '/pet/{petId}/uploadImage', summary: 'Uploads an image of a pet.', body: 'file' },
    returns: 'Pet',
  },
  getInventory: {
    ...{ method: 'GET', path: '/store/inventory', summary: 'Returns numbers by status.', returns: 'Inventory' },
  },
  placeOrder: { method: 'POST', path: '/store/order', summary: 'Places an order.', body: 'Order', returns: 'Order' },
  getOrderById: {
    ...{ method: 'GET', path: '/store/order/{orderId}', summary: 'Finds an order by its id.', returns: 'Order' },
  },
  deleteOrder: { method: 'DELETE', path: '/store/order/{orderId}', summary: 'Deletes an order.' },
  createUser: { method: 'POST', path: '/user', summary: 'Creates a user.', body: 'User', returns: 'User' },
  createUsersWithArrayInput: { method: 'POST', path: '/user/createWithArray', summary: lists, body: 'Users' },
  createUsersWithListInput: {
    ...{ method: 'POST', path: '/user/createWithList', summary: lists, body: 'Users', returns: 'Users' },
  },
  loginUser: { method: 'GET', path: '/user/login', summary: 'Logs a user in.', query: ['username', 'password'] },
  logoutUser: { method: 'GET', path: '/user/logout', summary: 'Logs the user out.' },
  getUserByName: { method: 'GET', path: '/user/{username}', summary: 'Finds a user by name.', returns: 'User' },
  updateUser: { method: 'PUT', path: '/user/{username}', summary: 'Updates a user.', body: 'User', returns: 'User' },
  deleteUser: { method: 'DELETE', path: '/user/{username}', summary: 'Deletes a user.' },
} as const satisfies Readonly<Record<string, ClassicOperation>>;

export type ClassicOperationId = keyof typeof classicOperations;
