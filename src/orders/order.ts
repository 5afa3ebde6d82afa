import Type, { type Static } from 'typebox';
import { NOTE_LENGTH_MAX, noteFault } from '../lib/note.ts';
import { formatTime, parseTime } from '../lib/time.ts';
import { Price } from '../pets/pet.ts';

/** How far an order is. */
export const OrderStatus = Type.Enum(['placed', 'approved', 'delivered', 'returned', 'cancelled', 'expired'], {
  title: 'OrderStatus',
  description:
    'How far the order is: placed, approved, delivered, returned; or cancelled before it was delivered; or expired, ' +
    'because nobody approved it in time.',
});

/** The id of an order: assigned by the service from 1 upward, never given twice. */
export const OrderId = id('Assigned by the service when the order is placed.');

const Note = Type.Refine(
  Type.String({
    minLength: 1,
    maxLength: NOTE_LENGTH_MAX,
    description: 'What is to be remembered with it: 1–1,000 characters, stored as sent; line breaks may be in it.',
  }),
  value => noteFault(value) === undefined,
  value => noteFault(value) ?? '',
);

const ShipDate = Type.Refine(
  time('When the animal is to leave the store (RFC 3339).'),
  value => isShown(parseTime(value)),
  () => 'must be a time as RFC 3339 has it, such as 2026-11-24T09:00:00Z',
);

/** What is sent to order an animal. What else classic pet stores send (`id`, `status`, `complete`) is ignored. */
export const NewOrder = Type.Object(
  {
    petId: id('The animal that is ordered.'),
    holdId: Type.Optional(id('Your hold that the animal is in, where it is on hold for you.')),
    quantity: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 1,
        default: 1,
        description: 'How many animals: there is only one of each, so this is always 1.',
      }),
    ),
    shipDate: Type.Optional(ShipDate),
    note: Type.Optional(Note),
  },
  { title: 'NewOrder', description: 'An order to place.' },
);
export type NewOrder = Static<typeof NewOrder>;

/** What is sent with a step of an order. */
export const NewOrderStep = Type.Object(
  { note: Type.Optional(Note) },
  { title: 'NewOrderStep', description: 'What is said with a step of an order; nothing has to be.' },
);
export type NewOrderStep = Static<typeof NewOrderStep>;

/** What is sent when an animal comes back. */
export const NewOrderReturn = Type.Object(
  {
    note: Type.Optional(Note),
    ready: Type.Optional(
      Type.Boolean({
        default: true,
        description: 'Whether the animal is available at once; else it is pending until its owner says more.',
      }),
    ),
  },
  { title: 'NewOrderReturn', description: 'What is said when an animal comes back; nothing has to be.' },
);
export type NewOrderReturn = Static<typeof NewOrderReturn>;

/** A step that an order has taken. */
export const OrderStep = Type.Object(
  {
    at: time('When it was taken.'),
    accountId: Type.Optional(id('Who took it: shown to that account, to the owner of the animal and to admins.')),
    note: Type.Optional(Note),
  },
  { title: 'OrderStep', description: 'A step that an order has taken.' },
);
export type OrderStep = Static<typeof OrderStep>;

/** An order as it is answered. */
export const Order = Type.Object(
  {
    id: OrderId,
    petId: id('The animal that was ordered.'),
    quantity: Type.Integer({ description: 'Always 1.' }),
    shipDate: Type.Optional(time('When the animal is to leave the store.')),
    status: OrderStatus,
    complete: Type.Boolean({ description: 'Whether the animal was delivered.' }),
    note: Type.Optional(Note),
    price: Type.Optional(Price),
    holdId: Type.Optional(id('The hold that it was placed from.')),
    accountId: id('The account that placed it.'),
    createdAt: time('When it was placed.'),
    updatedAt: time('When it was changed last.'),
    expiresAt: Type.Optional(time('When it runs out without approval, or ran out.')),
    approval: Type.Optional(OrderStep),
    delivery: Type.Optional(OrderStep),
    cancellation: Type.Optional(OrderStep),
    return: Type.Optional(OrderStep),
  },
  { title: 'Order', description: 'An order of one animal, with the price that the animal had when it was placed.' },
);
export type Order = Static<typeof Order>;

/** A page of orders. */
export const Orders = Type.Array(Order, { title: 'Orders', description: 'Orders.' });

function id(description: string) {
  return Type.Integer({ format: 'int64', minimum: 1, maximum: Number.MAX_SAFE_INTEGER, description });
}

function time(description: string) {
  return Type.String({ format: 'date-time', description });
}

/** Whether a time can be written as RFC 3339 has it: with four digits for the year. */
function isShown(ms: number | undefined): boolean {
  return ms !== undefined && formatTime(ms).length === '2026-11-24T09:00:00.000Z'.length;
}
