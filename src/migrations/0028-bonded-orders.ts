import type { Migration } from '../lib/storage/migration.ts';

/** Lets an order have several pets. The orders of a pet are found by its reservations, which every order has. */
export const bondedOrders: Migration = {
  name: '0028-bonded-orders',
  up: ({ text }) => [
    `alter table orders add column pet_ids ${text}`,
    'drop index orders_by_pet',
    'create index reservations_by_pet_and_order on reservations (pet_id, order_id) where order_id is not null',
  ],
};
