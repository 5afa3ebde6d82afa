import * as categoryMerge from './categories/merge/routes.ts';
import * as categories from './categories/routes.ts';
import * as deliveries from './deliveries/routes.ts';
import type { Deployment } from './deployment.ts';
import * as events from './events/public/routes.ts';
import * as holds from './holds/routes.ts';
import * as inventory from './inventory/routes.ts';
import type { Scope } from './keys/key.ts';
import type { Method, Operation, Route, Stability } from './lib/http/route.ts';
import * as messages from './messages/routes.ts';
import * as orders from './orders/routes.ts';
import * as petList from './pets/list-route.ts';
import * as pets from './pets/routes.ts';
import * as webhooks from './webhooks/routes.ts';

/** Every operation of a deployment, in the order of the documentation: method, path, name, scope, and what it does. */
export const routes: readonly Route<Deployment>[] = [
  ...group('Pets', [
    stable('GET /pets', 'listPets', 'pets:read', petList.list),
    stable('POST /pets', 'createPet', 'pets:write', pets.create),
    stable('GET /pets/{petId}', 'getPet', 'pets:read', pets.get),
    stable('PATCH /pets/{petId}', 'updatePet', 'pets:write', pets.update),
    stable('PUT /pets/{petId}', 'replacePet', 'pets:write', pets.replace),
    stable('DELETE /pets/{petId}', 'deletePet', 'pets:write', pets.remove),
    beta('GET /pets/{petId}/history', 'getPetHistory', 'pets:read', pets.history),
  ]),
  ...group('Categories', [
    stable('GET /categories', 'listCategories', 'pets:read', categories.list),
    stable('POST /categories', 'createCategory', 'pets:write', categories.create),
    stable('GET /categories/{categoryId}', 'getCategory', 'pets:read', categories.get),
    stable('PATCH /categories/{categoryId}', 'updateCategory', 'pets:write', categories.update),
    stable('DELETE /categories/{categoryId}', 'deleteCategory', 'pets:write', categories.remove),
    stable('POST /categories/{categoryId}/merge', 'mergeCategory', 'pets:write', categoryMerge.merge),
  ]),
  ...group('Holds', [
    beta('GET /holds', 'listHolds', 'orders:read', holds.list),
    beta('POST /holds', 'createHold', 'orders:write', holds.create),
    beta('GET /holds/{holdId}', 'getHold', 'orders:read', holds.get),
    beta('POST /holds/{holdId}/extension', 'extendHold', 'orders:write', holds.extend),
    beta('POST /holds/{holdId}/release', 'releaseHold', 'orders:write', holds.release),
  ]),
  ...group('Store orders', [
    stable('GET /store/orders', 'listOrders', 'orders:read', orders.list),
    stable('POST /store/orders', 'placeOrder', 'orders:write', orders.place),
    stable('GET /store/orders/{orderId}', 'getOrder', 'orders:read', orders.get),
    beta('POST /store/orders/{orderId}/approval', 'approveOrder', 'orders:write', orders.approve),
    beta('POST /store/orders/{orderId}/delivery', 'deliverOrder', 'orders:write', orders.deliver),
    beta('POST /store/orders/{orderId}/cancellation', 'cancelOrder', 'orders:write', orders.cancel),
    beta('POST /store/orders/{orderId}/return', 'returnOrder', 'orders:write', orders.returnPet),
    stable('GET /store/inventory', 'getInventory', 'pets:read', inventory.get),
  ]),
  ...group('Events', [
    beta('GET /events', 'listEvents', 'events:read', events.list),
    beta('GET /events/stream', 'streamEvents', 'events:read', events.stream),
  ]),
  ...group('Webhooks', [
    beta('POST /webhooks', 'createWebhook', 'webhooks:write', webhooks.create),
    beta('GET /webhooks', 'listWebhooks', 'webhooks:write', webhooks.list),
    beta('GET /webhooks/{webhookId}', 'getWebhook', 'webhooks:write', webhooks.get),
    beta('PATCH /webhooks/{webhookId}', 'updateWebhook', 'webhooks:write', webhooks.update),
    beta('DELETE /webhooks/{webhookId}', 'deleteWebhook', 'webhooks:write', webhooks.remove),
    beta('POST /webhooks/{webhookId}/activation', 'activateWebhook', 'webhooks:write', deliveries.activate),
    beta('POST /webhooks/{webhookId}/deactivation', 'deactivateWebhook', 'webhooks:write', webhooks.deactivate),
    beta('POST /webhooks/{webhookId}/secrets', 'rotateWebhookSecret', 'webhooks:write', webhooks.rotate),
    beta('POST /webhooks/{webhookId}/test', 'testWebhook', 'webhooks:write', deliveries.test),
    beta('GET /webhooks/{webhookId}/deliveries', 'listDeliveries', 'webhooks:write', deliveries.list),
    beta('GET /webhooks/{webhookId}/deliveries/{deliveryId}', 'getDelivery', 'webhooks:write', deliveries.get),
    beta('POST /webhooks/{webhookId}/redeliveries', 'redeliverEvents', 'webhooks:write', deliveries.redeliver),
  ]),
];

/** The operations of the message address. */
export const messageRoutes: readonly Route<Deployment>[] = [
  ...group('Messages', [
    stable('POST /messages', 'sendMessage', 'messages:write', messages.send),
    beta('GET /messages', 'listMessages', 'messages:read', messages.list),
    beta('GET /messages/{messageId}', 'getMessage', 'messages:read', messages.get),
  ]),
];

/** Every operation: those of a deployment, then those of the message address. */
export const operations: readonly Route<Deployment>[] = [...routes, ...messageRoutes];

type Ungrouped = Omit<Route<Deployment>, 'tag'>;

function group(tag: string, routes: readonly Ungrouped[]): Route<Deployment>[] {
  return routes.map(route => ({ ...route, tag }));
}

function stable(line: `${Method} /${string}`, operationId: string, scope: Scope, operation: Operation<Deployment>) {
  return routeOf(line, operationId, scope, 'stable', operation);
}

function beta(line: `${Method} /${string}`, operationId: string, scope: Scope, operation: Operation<Deployment>) {
  return routeOf(line, operationId, scope, 'beta', operation);
}

function routeOf(
  line: string,
  operationId: string,
  scope: Scope,
  stability: Stability,
  operation: Operation<Deployment>,
): Ungrouped {
  const [method, path] = line.split(' ') as [Method, string];
  return { ...operation, method, path, operationId, access: { key: true, scope }, stability };
}
