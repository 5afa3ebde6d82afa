import { field, type InsertRowOf, json, type RowOf, type StateOf, time } from '../lib/fields/field.ts';
import { fullSchema, newSchema, recordedSchema } from '../lib/fields/schemas.ts';
import { eitherRule, idSchema, Note, requestTimeSchema, timeSchema } from '../lib/schemas.ts';
import { sql } from '../lib/storage/query.ts';
import { durationIn } from '../lib/time.ts';
import { type Static, Type } from '../lib/type.ts';
import { differences, type Noun } from './noun.ts';
import { Price } from './pet.ts';
import { BONDED_MAX } from './profile.ts';
import { APPROVAL_PERIOD_MS } from './rules.ts';

/** All statuses of an order, in the order in which they occur. */
export const orderStatuses = ['placed', 'approved', 'delivered', 'returned', 'cancelled', 'expired'] as const;
export type OrderStatus = (typeof orderStatuses)[number];

/**
 * The steps of an order: the statuses from which each starts, the resulting status, and whether the placer can take it.
 */
export const orderSteps = {
  approval: { from: ['placed'], to: 'approved', byPlacer: false },
  delivery: { from: ['approved'], to: 'delivered', byPlacer: false },
  cancellation: { from: ['placed', 'approved'], to: 'cancelled', byPlacer: true },
  return: { from: ['delivered'], to: 'returned', byPlacer: false },
} as const satisfies Record<string, { from: readonly OrderStatus[]; to: OrderStatus; byPlacer: boolean }>;
export type StepName = keyof typeof orderSteps;

export const OrderStatus = Type.Enum([...orderStatuses], {
  title: 'OrderStatus',
  description:
    'An order is placed, approved, delivered and maybe returned. It may be cancelled before delivery, and expires if ' +
    'nobody approves it in time.',
});

/** The id of an order: assigned by the database from 1 upward, never reused. */
export const OrderId = idSchema('The id of the order, assigned by the service.');

const ShipDate = requestTimeSchema('When the animal is due to leave the store (RFC 3339).', '2026-11-24T09:00:00Z');

const Quantity = Type.Integer({
  minimum: 1,
  maximum: 1,
  default: 1,
  description: 'Always 1, because each animal is unique.',
});

const NewPetIds = Type.Array(idSchema('The id of an animal.'), {
  minItems: 1,
  maxItems: BONDED_MAX,
  uniqueItems: true,
  examples: [[1, 2]],
  description:
    'Bonded animals to order together, instead of `petId`: all of `group.petIds` of their full view. The order gets all of them or fails.',
});
const PetIds = Type.Array(idSchema('The id of an animal.'), {
  maxItems: BONDED_MAX,
  description: 'The animals that were ordered together, sorted by id; absent for an order of one animal.',
});

/** An SQL expression of the status of an order as of a time. No index covers it. */
export const statusAt = (now: unknown) =>
  sql<OrderStatus>`case when ${isExpiredAt(now)} then 'expired' else status end`;

const isExpiredAt = (now: unknown) => sql`status = 'placed' and expires_at <= ${now}`;

/**
 * The fields of an order, one entry each. Schemas, table, queries, events and documentation derive from them.
 *
 * A placed order expires at `expires_at`. From then on, every read shows it as expired and with another version, even
 * if its row does not record that yet.
 */
export const orderFields = {
  id: field(OrderId, { column: 'id', generated: true, fixed: true }),
  petId: field(idSchema('The animal to order.'), {
    column: 'pet_id',
    write: 'required',
    shown: idSchema('The animal that was ordered; in an order of several animals, the first.'),
  }),
  petIds: field(NewPetIds, { column: 'pet_ids', codec: json<number[]>(), write: 'optional', shown: PetIds }),
  quantity: field(Quantity, {
    column: 'quantity',
    write: 'optional',
    default: 1,
    shown: Type.Integer({ description: 'The number of animals.' }),
  }),
  shipDate: field(ShipDate, {
    column: 'ship_date',
    codec: time,
    write: 'optional',
    shown: timeSchema('When the animal is due to leave the store.'),
  }),
  status: field(OrderStatus, { column: 'status', recorded: true, at: statusAt }),
  complete: field(Type.Boolean({ description: 'Whether the animal was delivered.' }), {
    derive: isComplete,
  }),
  note: field(Note, { column: 'note', write: 'optional' }),
  price: field(Price, {
    columns: { amount: 'price_amount', currency: 'price_currency' },
    nullable: true,
    recorded: true,
  }),
  holdId: field(idSchema('Your hold on the animal; required if the animal is on hold for you.'), {
    column: 'hold_id',
    write: 'optional',
    shown: idSchema('The hold that the animal was ordered from.'),
  }),
  accountId: field(idSchema('The account that placed the order.'), { column: 'account_id', recorded: true }),
  createdAt: field(timeSchema('When the order was placed.'), { column: 'created_at', codec: time }),
  updatedAt: field(timeSchema('When the order last changed.'), {
    column: 'updated_at',
    codec: time,
    at: now => sql`case when ${isExpiredAt(now)} then expires_at else updated_at end`,
  }),
  expiresAt: field(
    timeSchema('When the order expires unless it is approved, or when it expired. Absent after any step.'),
    {
      column: 'expires_at',
      codec: time,
      nullable: true,
      recorded: true,
    },
  ),
  version: field(Type.Integer(), {
    column: 'version',
    generated: true,
    view: 'row',
    at: now => sql`case when ${isExpiredAt(now)} then version + 1 else version end`,
  }),
  /** The owner of the pet when it was ordered. */
  ownerId: field(Type.Integer(), { column: 'owner_id', view: 'row' }),
};
type OrderFields = typeof orderFields;

/** An order as queries read it. Times are milliseconds since the Unix epoch. */
export type OrderRow = RowOf<OrderFields>;

export type NewOrderRow = InsertRowOf<OrderFields>;

/** An order as events store it. */
export type OrderState = StateOf<OrderFields>;

/** The body that places an order. Members of the classic pet store (`id`, `status`, `complete`) are ignored. */
export const NewOrder = orderSchema();
export type NewOrder = Static<typeof NewOrder>;

export const NewOrderStep = Type.Object(
  { note: Type.Optional(Note) },
  { title: 'NewOrderStep', description: 'A step of an order. All fields are optional.' },
);
export type NewOrderStep = Static<typeof NewOrderStep>;

/** The body that returns the pet of an order. */
export const NewOrderReturn = Type.Object(
  {
    note: Type.Optional(Note),
    ready: Type.Optional(
      Type.Boolean({
        default: true,
        description:
          'Whether the animal is `available` at once, which is the default. If false, the animal is `pending` until its owner changes the status.',
      }),
    ),
  },
  { title: 'NewOrderReturn', description: 'The return of an animal. All fields are optional.' },
);
export type NewOrderReturn = Static<typeof NewOrderReturn>;

export const OrderStep = Type.Object(
  {
    at: timeSchema('When the step was taken.'),
    accountId: Type.Optional(
      idSchema('The account that took the step. Visible to that account, to the owner of the animal and to admins.'),
    ),
    note: Type.Optional(Note),
  },
  { title: 'OrderStep', description: 'A step that the order has taken.' },
);
export type OrderStep = Static<typeof OrderStep>;

export const Order = fullSchema(
  orderFields,
  'Order',
  'An order of an animal or of bonded animals, at the price that they had when they were ordered.',
  {
    approval: Type.Optional(OrderStep),
    delivery: Type.Optional(OrderStep),
    cancellation: Type.Optional(OrderStep),
    return: Type.Optional(OrderStep),
  },
);
export type Order = Static<typeof Order>;

export const Orders = Type.Array(Order, { title: 'Orders', description: 'Orders.' });

/** Returns the schema of a new order, whose animals are in `petId` or `petIds`; see `requestedIds`. */
function orderSchema() {
  const { properties } = newSchema(orderFields, 'NewOrder', '');
  return Type.Object(
    { ...properties, petId: Type.Optional(properties.petId) },
    {
      title: 'NewOrder',
      description: 'An order to place, with either `petId` or `petIds`.',
      ...eitherRule('petId', 'petIds'),
    },
  );
}

/** Returns the pets of an order, by id ascending. */
export function petIdsOf({ petId, petIds }: Pick<OrderRow, 'petId' | 'petIds'>): readonly number[] {
  return petIds === null ? [petId] : (JSON.parse(petIds) as number[]);
}

/** Returns the steps that an order may have taken to reach a status, in order. */
export function stepsTo(status: OrderStatus): readonly StepName[] {
  const last = (Object.keys(orderSteps) as StepName[]).find(name => orderSteps[name].to === status);
  return last === undefined ? [] : [...orderSteps[last].from.flatMap(stepsTo), last];
}

/** Reports whether an order in this status was delivered. */
function isComplete({ status }: { readonly status: unknown }): boolean {
  return status === 'delivered' || status === 'returned';
}

/** Reports whether a reservation is for a pet of its order; the list of ids is a text such as [1,2]. */
const isOrdered = sql`replace(replace(coalesce(pet_ids, '[' || orders.pet_id || ']'), '[', ','), ']', ',')
  like '%,' || reservations.pet_id || ',%'`;

export const order = {
  tag: { name: 'Store orders', description: 'Orders of pets, and the number of pets by status.', group: 'Store' },
  table: {
    name: 'orders',
    fields: orderFields,
    accounts: ['account_id', 'owner_id'],
    checks: {
      'reservations of orders': () => sql`
        select 'Animal ' || reservations.pet_id || ' is reserved by order ' || orders.id || ', which ' || case
          when not ${isOrdered} then 'is for another animal'
          when status not in ('placed', 'approved') then 'is ' || status else 'has another expiry' end || '.' as finding
        from reservations join orders on orders.id = order_id
        where active = 1 and (not ${isOrdered} or status not in ('placed', 'approved')
          or coalesce(expires_at, -1) <> coalesce(until, -1))`,
      'open orders': p => sql`
        select 'Order ' || id || ' is ' || status || ', but does not reserve ' ||
          case when pet_ids is null then 'animal ' || pet_id else 'each of the animals ' || pet_ids end || '.' as finding
        from orders where status in ('placed', 'approved') and (expires_at is null or expires_at > ${p.now})
          and quantity <> (select count(*) from reservations where order_id = orders.id and active = 1)`,
      'numbers of open orders': () =>
        differences(
          sql`select 'open orders of account ' || account_id as name, open as stored from order_counts`,
          sql`
            select 'open orders of account ' || account_id as name, count(*) as counted
            from orders where status in ('placed', 'approved') group by account_id`,
        ),
    },
  },
  events: {
    actions: {
      placed: 'creates',
      approved: 'changes',
      delivered: 'changes',
      returned: 'changes',
      cancelled: 'changes',
      expired: 'changes',
    },
    scopes: ['orders:read'],
    // The account that placed it, and the owner of its pet.
    visibleTo: 'parties',
    belongsTo: 'owners',
    data: recordedSchema(orderFields, 'OrderEventData', 'An order after the change, without its steps.', {
      id: orderFields.id.schema,
      complete: Type.Optional(orderFields.complete.schema),
    }),
    derived: status => ({ complete: isComplete({ status }) }),
  },
  exported: { orders: ['listOrders', {}] },
  deletion: ['orders', 'sales'],
  commands: {
    list: {
      account: 'Only the orders that this account placed and the orders of its animals; see `petstore account list`.',
      options: {
        role: {
          description:
            'With --account: only the orders that it placed (`placer`), or the orders of its animals (`owner`).',
        },
      },
      list: {
        columns: ['animal', 'accountId', 'status', 'price', 'createdAt', 'expiresAt'],
        noun: 'orders',
        hint: '`petstore order place --account ID --pet ID` places one.',
      },
      examples: {
        '--status placed': 'orders that wait for approval',
        '--status placed,approved': 'orders that are not delivered yet',
        '--account 2 --role placer': 'what an account ordered',
        '--pet 7 --json': 'for a program',
      },
    },
    show: { examples: { '12': 'its status and every step so far' } },
    place: {
      details: `The order waits ${durationIn('day', APPROVAL_PERIOD_MS, 'words')} for approval; the animal is pending meanwhile.`,
      account: 'The account that orders; see `petstore account list`.',
      flags: { quantity: null, petId: null, petIds: 'pet' },
      options: { pet: { description: 'The animal, or all animals of a bonded group.', required: true } },
      examples: {
        '--account 2 --pet 7 --note "by telephone"': 'for a customer on the telephone',
        '--account 2 --pet 7,8': 'two animals that are bonded',
      },
    },
    approve: { examples: { '12': 'an order that was checked' } },
    deliver: {
      examples: { '12 --note "fetched by her sister"': 'an animal that has left the store' },
    },
    cancel: { examples: { '12 --note "moved abroad"': 'the customer withdrew' } },
    return: {
      options: { 'not-ready': { description: 'Leave the animal pending; otherwise it is available at once.' } },
      examples: {
        '12': 'an animal that can be sold again at once',
        '12 --not-ready --note "to the vet first"': 'an animal that cannot be sold again yet',
      },
    },
  },
} as const satisfies Noun;
