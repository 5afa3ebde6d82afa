import * as audit from '../access/audit/routes.ts';
import type { Deployment } from '../access/deployment.ts';
import * as deliveries from '../events/deliveries/routes.ts';
import * as events from '../events/public/routes.ts';
import * as webhooks from '../events/webhooks/routes.ts';
import type { Method, Operation, Route } from '../lib/http/route.ts';
import { nouns, type TaggedNoun } from '../model/nouns.ts';
import type { Scope } from '../model/scopes.ts';
import * as usage from '../operate/usage/routes.ts';
import * as categories from '../store/categories/routes.ts';
import * as categoryMerge from '../store/category-merge/routes.ts';
import * as exports from '../store/exports/routes.ts';
import * as holds from '../store/holds/routes.ts';
import * as imports from '../store/imports/routes.ts';
import * as messages from '../store/messages/routes.ts';
import * as orders from '../store/orders/routes.ts';
import * as organizations from '../store/organizations/routes.ts';
import * as attributes from '../store/pets/attributes-route.ts';
import * as petFacets from '../store/pets/facets-route.ts';
import * as inventory from '../store/pets/inventory.ts';
import * as petList from '../store/pets/list-route.ts';
import * as pets from '../store/pets/routes.ts';
import * as photos from '../store/photos/routes.ts';
import * as account from './account/routes.ts';

/** The version of the API (contract, Versioning). */
export const interfaceVersion = '1.0.0';

/** The operations of each noun, in the order of the documentation: method, path, name, scope, and definition. */
const groups = {
  pet: {
    'GET /pets': stable('listPets', 'pets:read', petList.list),
    'GET /pets/facets': beta('getPetFacets', 'pets:read', petFacets.facets),
    'POST /pets': stable('createPet', 'pets:write', pets.create),
    'GET /pets/{petId}': stable('getPet', 'pets:read', pets.get),
    'PATCH /pets/{petId}': stable('updatePet', 'pets:write', pets.update),
    'PUT /pets/{petId}': stable('replacePet', 'pets:write', pets.replace),
    'DELETE /pets/{petId}': stable('deletePet', 'pets:write', pets.remove),
    'GET /pets/{petId}/history': beta('getPetHistory', 'pets:read', pets.history),
    'POST /pets/{petId}/photos': beta('addPhoto', 'pets:write', photos.ofPets.add),
    'PATCH /pets/{petId}/photos/{photoId}': beta('updatePhoto', 'pets:write', photos.ofPets.update),
    'DELETE /pets/{petId}/photos/{photoId}': beta('deletePhoto', 'pets:write', photos.ofPets.remove),
    'GET /pets/{petId}/photos/{photoId}/original': beta('getPhotoOriginal', 'pets:read', photos.ofPets.original),
  },
  import: {
    'GET /exports/pets.csv': beta('exportPetsAsCsv', 'pets:read', exports.csv),
    'GET /exports/pets.ndjson': beta('exportPetsAsNdjson', 'pets:read', exports.ndjson),
    'POST /imports': beta('importPets', 'pets:write', imports.create),
    'GET /imports': beta('listImports', 'pets:write', imports.list),
    'GET /imports/{importId}': beta('getImport', 'pets:write', imports.get),
    'GET /imports/{importId}/errors': beta('getImportErrors', 'pets:write', imports.errors),
    'POST /imports/{importId}/cancellation': beta('cancelImport', 'pets:write', imports.cancel),
    'GET /statistics/shelter-animals-count': beta('getShelterAnimalsCount', 'pets:read', exports.shelterAnimalsCount),
  },
  category: {
    'GET /categories': stable('listCategories', 'pets:read', categories.list),
    'POST /categories': stable('createCategory', 'pets:write', categories.create),
    'GET /categories/{categoryId}': stable('getCategory', 'pets:read', categories.get),
    'GET /categories/{categoryId}/attributes': stable('getCategoryAttributes', 'pets:read', attributes.get),
    'PATCH /categories/{categoryId}': stable('updateCategory', 'pets:write', categories.update),
    'DELETE /categories/{categoryId}': stable('deleteCategory', 'pets:write', categories.remove),
    'POST /categories/{categoryId}/merge': stable('mergeCategory', 'pets:write', categoryMerge.merge),
  },
  organization: {
    'GET /organizations': stable('listOrganizations', 'pets:read', organizations.list),
    'GET /organizations/{organizationId}': stable('getOrganization', 'pets:read', organizations.get),
    'PUT /organizations/{organizationId}': stable('replaceOrganization', 'organizations:write', organizations.replace),
    'PATCH /organizations/{organizationId}': stable('updateOrganization', 'organizations:write', organizations.update),
    'DELETE /organizations/{organizationId}': stable('deleteOrganization', 'organizations:write', organizations.remove),
    'POST /organizations/{organizationId}/photos': beta(
      'addOrganizationPhoto',
      'organizations:write',
      photos.ofOrganizations.add,
    ),
    'PATCH /organizations/{organizationId}/photos/{photoId}': beta(
      'updateOrganizationPhoto',
      'organizations:write',
      photos.ofOrganizations.update,
    ),
    'DELETE /organizations/{organizationId}/photos/{photoId}': beta(
      'deleteOrganizationPhoto',
      'organizations:write',
      photos.ofOrganizations.remove,
    ),
    'GET /organizations/{organizationId}/photos/{photoId}/original': beta(
      'getOrganizationPhotoOriginal',
      'pets:read',
      photos.ofOrganizations.original,
    ),
  },
  hold: {
    'GET /holds': stable('listHolds', 'orders:read', holds.list),
    'POST /holds': stable('createHold', 'orders:write', holds.create),
    'GET /holds/{holdId}': stable('getHold', 'orders:read', holds.get),
    'POST /holds/{holdId}/extension': stable('extendHold', 'orders:write', holds.extend),
    'POST /holds/{holdId}/release': stable('releaseHold', 'orders:write', holds.release),
  },
  order: {
    'GET /store/orders': stable('listOrders', 'orders:read', orders.list),
    'POST /store/orders': stable('placeOrder', 'orders:write', orders.place),
    'GET /store/orders/{orderId}': stable('getOrder', 'orders:read', orders.get),
    'POST /store/orders/{orderId}/approval': stable('approveOrder', 'orders:write', orders.approve),
    'POST /store/orders/{orderId}/delivery': stable('deliverOrder', 'orders:write', orders.deliver),
    'POST /store/orders/{orderId}/cancellation': stable('cancelOrder', 'orders:write', orders.cancel),
    'POST /store/orders/{orderId}/return': stable('returnOrder', 'orders:write', orders.returnPet),
    'GET /store/inventory': stable('getInventory', 'pets:read', inventory.get),
  },
  event: {
    'GET /events': stable('listEvents', 'events:read', events.list),
    'GET /events/stream': stable('streamEvents', 'events:read', events.stream),
  },
  webhook: {
    'POST /webhooks': stable('createWebhook', 'webhooks:write', webhooks.create),
    'GET /webhooks': stable('listWebhooks', 'webhooks:read', webhooks.list),
    'GET /webhooks/{webhookId}': stable('getWebhook', 'webhooks:read', webhooks.get),
    'PATCH /webhooks/{webhookId}': stable('updateWebhook', 'webhooks:write', webhooks.update),
    'DELETE /webhooks/{webhookId}': stable('deleteWebhook', 'webhooks:write', webhooks.remove),
    'POST /webhooks/{webhookId}/activation': stable('activateWebhook', 'webhooks:write', deliveries.activate),
    'POST /webhooks/{webhookId}/deactivation': stable('deactivateWebhook', 'webhooks:write', webhooks.deactivate),
    'POST /webhooks/{webhookId}/secrets': stable('rotateWebhookSecret', 'webhooks:write', webhooks.rotate),
    'POST /webhooks/{webhookId}/test': stable('testWebhook', 'webhooks:write', deliveries.test),
    'GET /webhooks/{webhookId}/deliveries': stable('listDeliveries', 'webhooks:read', deliveries.list),
    'GET /webhooks/{webhookId}/deliveries/{deliveryId}': stable('getDelivery', 'webhooks:read', deliveries.get),
    'POST /webhooks/{webhookId}/redeliveries': stable('redeliverEvents', 'webhooks:write', deliveries.redeliver),
  },
  audit: {
    'GET /audit': beta('listAuditEntries', 'audit:read', audit.list),
    'GET /audit/refusals': beta('listRefusals', 'audit:read', audit.listRefused),
  },
  account: {
    'GET /account': beta('getAccount', 'account:read', account.get),
    'GET /account/usage': stable('getUsage', 'account:read', usage.usage),
    'GET /account/requests': beta('listRequests', 'account:read', usage.requests),
  },
  message: {
    'POST /messages': stable('sendMessage', 'messages:write', messages.send),
    'GET /messages': stable('listMessages', 'messages:read', messages.list),
    'GET /messages/{messageId}': stable('getMessage', 'messages:read', messages.get),
  },
} satisfies Readonly<Record<TaggedNoun, Group>>;

/** Every operation of a deployment. */
export const routes: readonly Route<Deployment>[] = Object.entries<Group>(groups).flatMap(([noun, lines]) =>
  Object.entries(lines).map(([line, operation]) => {
    const [method, path] = line.split(' ') as [Method, string];
    return { ...operation, method, path, tag: nouns[noun as TaggedNoun].tag.name };
  }),
);

/** The operations that the message address also serves. */
export const messageRoutes = routes.filter(({ tag }) => tag === nouns.message.tag.name);

type Line = Omit<Route<Deployment>, 'method' | 'path' | 'tag'>;
type Group = Readonly<Record<`${Method} /${string}`, Line>>;

function stable(operationId: string, scope: Scope, operation: Operation<Deployment>): Line {
  return { ...operation, operationId, access: { key: true, scope }, stability: 'stable' };
}

function beta(operationId: string, scope: Scope, operation: Operation<Deployment>): Line {
  return { ...operation, operationId, access: { key: true, scope }, stability: 'beta' };
}
