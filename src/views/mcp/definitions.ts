import { durationIn } from '../../lib/time.ts';
import { HOLD_DEFAULT_MS } from '../../model/rules.ts';

/** A tool, as the table below describes it. */
export interface ToolDefinition {
  /** The operation of the API that it calls; absent if it calls none. */
  readonly operationId?: string;
  readonly description: string;
  /** The arguments with their descriptions: parameters and members of the body of the operation. */
  readonly input: Readonly<Record<string, string>>;
  /** Query parameters that are always sent. */
  readonly fixed?: Readonly<Record<string, string>>;
  /** The members of the items of a list that stand in results; all without it. */
  readonly summary?: readonly string[];
  readonly effect: keyof typeof annotations;
}

export const annotations = {
  reads: { readOnlyHint: true, openWorldHint: false },
  adds: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
  ends: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
  writesToPeople: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: true },
} as const;

/** The items of a page. */
export const PAGE_ITEMS = 20;
const PAGE = `Returns ${PAGE_ITEMS} at a time; a nextCursor in the result leads to more.`;
export const REPEATED = 'Without idempotencyKey, a repeated call acts again.';
const CURSOR = 'The nextCursor of the previous page, with the same other arguments.';
const PET_IDS = 'Bonded animals, all together, instead of petId.';

/** Every tool, in the order of the list. */
export const definitions: Readonly<Record<string, ToolDefinition>> = {
  search_pets: {
    operationId: 'listPets',
    description: `Search for animals. All filters must match. ${PAGE} Items are summaries; get_pet has everything.`,
    input: {
      q: 'Words: name, breed, color, species or trait, such as "puppy good with kids".',
      status: 'available can be held and ordered, pending is reserved.',
      categoryId: 'A category.',
      includeDescendants: 'With categoryId: also the categories below it.',
      organizationId: 'Ids of list_organizations.',
      owner: 'me: only animals of the own account.',
      near: 'latitude,longitude; a postal code such as US-90210; or a US or Canadian city such as Portland, OR.',
      within: 'With near: the distance, such as 50km or 30mi; by default 100km.',
      age: 'One of these ages.',
      sex: 'One of these.',
      size: 'One of these sizes, when grown.',
      sort: 'distance needs near, relevance needs q; recent is newest first.',
      cursor: CURSOR,
    },
    fixed: { view: 'full' },
    summary: [
      ...['id', 'name', 'categoryId', 'status', 'price', 'breeds', 'age', 'sex', 'size', 'tags', 'accountId'],
      ...['externalId', 'distance'],
    ],
    effect: 'reads',
  },
  get_pet: {
    operationId: 'getPet',
    description: 'Get everything about one animal: description, traits, price, photos, owner.',
    input: { petId: 'The id of the animal.' },
    fixed: { view: 'full' },
    effect: 'reads',
  },
  list_organizations: {
    operationId: 'listOrganizations',
    description: `List shelters and other organizations with their addresses and hours. ${PAGE}`,
    input: {
      name: 'The beginning of the name.',
      country: 'ISO 3166-1 alpha-2, such as US.',
      state: 'As in addresses, such as CA.',
      sort: 'The order.',
      cursor: CURSOR,
    },
    effect: 'reads',
  },
  hold_pet: {
    operationId: 'createHold',
    description: 'Reserve an available animal for the own account for a limited time, free of charge.',
    input: {
      petId: 'The animal.',
      petIds: PET_IDS,
      expiresAt: `RFC 3339; by default in ${durationIn('minute', HOLD_DEFAULT_MS)}.`,
      note: 'A note on the hold.',
    },
    effect: 'adds',
  },
  release_hold: {
    operationId: 'releaseHold',
    description: 'End a hold before it expires; its animals are available again.',
    input: { holdId: 'The id that hold_pet returned.' },
    effect: 'ends',
  },
  place_order: {
    operationId: 'placeOrder',
    description: 'Order an animal at its price; its owner then approves or declines. Confirm with the user first.',
    input: {
      petId: 'The animal.',
      petIds: PET_IDS,
      holdId: 'The own hold on the animal, if it is held.',
      note: 'A note to the owner.',
    },
    effect: 'adds',
  },
  cancel_order: {
    operationId: 'cancelOrder',
    description: 'Cancel an order that is placed or approved; the animal is available again.',
    input: { orderId: 'The id that place_order returned.', note: 'The reason.' },
    effect: 'ends',
  },
  send_message: {
    operationId: 'sendMessage',
    description: 'Write to the owner of an animal, or to the store. People read it; confirm the text with the user.',
    input: {
      message: 'The text.',
      petId: 'The animal whose owner gets it; without it, the store gets it.',
      replyTo: 'The e-mail address for replies.',
    },
    effect: 'writesToPeople',
  },
  get_usage: {
    operationId: 'getUsage',
    description: 'Count the requests of the own account by hour or day and by key. Long ranges have totals only.',
    input: { interval: 'The length of a bucket.', from: 'RFC 3339.', to: 'RFC 3339.', keyId: 'Only this key.' },
    effect: 'reads',
  },
  explain_error: {
    description: 'Explain an error code of this server: its cause and the next step.',
    input: { code: 'The code, such as pet_reserved.' },
    effect: 'reads',
  },
};
