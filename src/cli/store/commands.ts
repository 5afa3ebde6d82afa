import { type Command, type Option, UsageError } from '../command.ts';
import { parseId } from '../values.ts';

/** How a list is printed. */
export interface ListForm {
  /** The values shown beside the id. */
  readonly columns: readonly string[];
  /** The plural noun. */
  readonly noun: string;
  /** What to do when there are none. */
  readonly hint: string;
  /** The same on staging, if it differs. */
  readonly stagingHint?: string;
}

/** The command-line form of an operation: everything that does not follow from its route. */
export interface StoreCommand extends Pick<Command, 'details'> {
  /** The operation; by default the one with the same name: `listPets` for `pet list`, `getPet` for `pet show`. */
  readonly operation?: string;
  /** Command lines that work, without `petstore` and the name → purpose. */
  readonly examples: Readonly<Record<string, string>>;
  /** The summary of the operation where absent. */
  readonly summary?: string;
  /**
   * The operation that reads the resource in the transaction of a change: its state afterwards, or before a deletion. The
   * command prints that in place of the response.
   */
  readonly reads?: string;
  /** Adds the option `--account`, with this description: the account that the command acts for. Lists do not require it. */
  readonly account?: string;
  /** Options of members whose names do not follow from the member; `null` for members without an option. */
  readonly flags?: Readonly<Record<string, string | null>>;
  /** Changes of derived options, and options that are no members. */
  readonly options?: Readonly<Record<string, Partial<Option>>>;
  /** Throws a UsageError when the options do not go together. */
  check?(options: Readonly<Record<string, string>>): void;
  /** Present for a list. */
  readonly list?: ListForm;
  /** Of a change without a resource to show: the confirmation. */
  done?(value: Readonly<Record<string, unknown>>): string;
}

/** The commands on what a deployment stores: pets, categories, organizations, holds, orders, messages and webhooks. */
export const storeCommands: Readonly<Record<string, StoreCommand>> = {
  'pet list': {
    summary: 'List animals.',
    account: 'Only the animals of this account; see `petstore account list`.',
    flags: { updatedSince: null, includeRemoved: null, owner: null },
    options: { external: { description: 'Only the animal of the account with this identifier of its own.' } },
    check({ account, external }) {
      if (account === undefined && external !== undefined) throw new UsageError('--external needs --account.');
    },
    list: {
      columns: ['name', 'categoryId', 'status', 'price', 'accountId', 'updatedAt'],
      noun: 'animals',
      hint: '`petstore pet create --account ID --name NAME --category ID` creates one. Those of staging are listed with --deployment staging.',
      stagingHint: '`petstore staging reset` creates the sample animals.',
    },
    examples: {
      '--status pending': 'what is held, ordered or set aside',
      '--account 1 --sort name': 'the animals of an account, by name',
      '--deployment staging --limit 1000 --json': 'for a program',
    },
  },
  'pet show': {
    summary: 'Show an animal, and the hold or order that reserves it.',
    options: { history: { description: 'Also show its history; works even if the animal was deleted.' } },
    examples: { '7': 'its current state', '7 --history': 'everything that happened to it' },
  },
  'pet create': {
    reads: 'getPet',
    account: 'The account that owns the animal; see `petstore account list`.',
    options: { status: { default: 'available' } },
    examples: {
      '--account 1 --name Minka --category 2': 'a cat that is available',
      '--account 1 --name Rex --category 1 --status pending --reason "in foster" --price "125.00 EUR"':
        'a dog that is not available yet',
    },
  },
  'pet update': {
    reads: 'getPet',
    details:
      'Fields without an option stay as they are. A new status clears the reason of the old one. While a hold or an order reserves an animal, only that changes its status.',
    examples: { '7 --status pending --reason medical': 'set an animal aside', '7 --price none': 'remove its price' },
  },
  'pet delete': {
    reads: 'getPet',
    details: 'Deletes without asking. The history of the animal stays.',
    examples: { '7': 'an animal that was added by mistake' },
    done: ({ id, name }) =>
      `Deleted the animal ${id}, ${name}; \`petstore pet show ${id} --history\` still shows its history.`,
  },
  'category list': {
    summary: 'List categories.',
    flags: { placeholder: 'placeholders' },
    options: {
      placeholders: { description: 'Only the categories that an animal named and nobody has given a name yet.' },
    },
    list: {
      columns: ['name', 'slug', 'parentId', 'updatedAt'],
      noun: 'categories',
      hint: '`petstore category create --name NAME` creates one.',
    },
    examples: { '': 'the first 20 categories', '--placeholders': 'categories to be named, or merged into another' },
  },
  'category show': {
    summary: 'Show a category, and how many animals and categories are directly in it.',
    examples: { '2': 'how many cats there are' },
  },
  'category attributes': {
    operation: 'getCategoryAttributes',
    examples: { '2': 'the known breeds and colors of cats' },
  },
  'category create': {
    examples: { '--name Reptiles': 'at the top', '--name "Maine Coon" --parent 2': 'below cats' },
  },
  'category update': {
    details: 'A placeholder that gets a name is no longer a placeholder. A category moves with everything in it.',
    examples: {
      '9000 --name Alpacas --slug alpacas': 'name a placeholder',
      '4 --breeds "Roborovski Hamster,Chinese Hamster"': 'the breeds that it adds to the known ones',
      '1001 --parent none': 'move it to the top',
    },
  },
  'category delete': {
    reads: 'getCategory',
    details: 'Deletes without asking. To delete a category that is not empty, use `petstore category merge`.',
    examples: { '1001': 'an unused category' },
    done: ({ id, name }) => `Deleted the category ${id}, ${name}.`,
  },
  'category merge': {
    details:
      'Many animals move in batches; if the command is interrupted, run it again. Prints the category that remains.',
    examples: { '9000 --into 4': 'a placeholder that means an existing category' },
  },
  'organization list': {
    list: {
      columns: ['name', 'city', 'state', 'country', 'updatedAt'],
      noun: 'organizations',
      hint: 'accounts publish them with PUT /v1/organizations/ID, or on their page.',
    },
    examples: { '--country US --sort name': 'the organizations of a country, by name' },
  },
  'organization show': { examples: { '7': 'what the account 7 has published' } },
  'organization publish': {
    operation: 'replaceOrganization',
    details: 'Acts for the account with this id. Replaces all fields if it has published an organization already.',
    examples: {
      '7 --name "Maple Lane Dog Rescue" --address \'{"city":"Springfield","country":"US"}\'':
        'the organization of the account 7',
    },
  },
  'organization update': {
    details: 'Fields without an option stay as they are.',
    examples: {
      '7 --phone "+1 555 0100" --hours \'{"sunday":"closed"}\'': 'another phone number, and another day',
      '7 --website none': 'remove its website',
    },
  },
  'organization delete': {
    reads: 'getOrganization',
    details: 'Deletes without asking. The animals of the account stay, and the account can publish it again.',
    examples: { '7': 'a profile that misleads people' },
    done: ({ id, name }) => `Deleted the organization ${id}, ${name}.`,
  },
  'hold list': {
    list: {
      columns: ['animals', 'accountId', 'status', 'createdAt', 'expiresAt', 'endedAt'],
      noun: 'holds',
      hint: 'accounts create them with POST /v1/holds.',
    },
    examples: { '--status active': 'what is held now' },
  },
  'hold show': { examples: { '3': 'the account that it is for, and when it ends' } },
  'hold extend': {
    // In the transaction, so that a duration counts from its time.
    reads: 'getHold',
    flags: { expiresAt: 'until' },
    examples: { '3 --until 2h': 'two hours from now', '3 --until 2026-11-24T18:00:00+01:00': 'until the evening' },
  },
  'hold release': { examples: { '3': 'the customer changed their mind' } },
  'order list': {
    account: 'Only the orders that this account placed and those of its animals; see `petstore account list`.',
    options: {
      role: { description: 'Only the orders that the account placed (`placer`), or those of its animals (`owner`).' },
    },
    check({ account, role }) {
      if (account === undefined && role !== undefined) throw new UsageError('--role needs --account.');
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
  'order show': { examples: { '12': 'its status and every step so far' } },
  'order place': {
    details: 'The order waits seven days for approval; the animal is pending meanwhile.',
    account: 'The account that orders; see `petstore account list`.',
    flags: { quantity: null, petId: null, petIds: 'pet' },
    options: { pet: { description: 'The animal, or all animals of a bonded group.', required: true } },
    examples: {
      '--account 2 --pet 7 --note "by telephone"': 'for a customer on the telephone',
      '--account 2 --pet 7,8': 'two animals that are bonded',
    },
  },
  'order approve': { examples: { '12': 'an order that was checked' } },
  'order deliver': {
    examples: { '12 --note "fetched by her sister"': 'an animal that has left the store' },
  },
  'order cancel': { examples: { '12 --note "moved abroad"': 'the customer withdrew' } },
  'order return': {
    options: { 'not-ready': { description: 'Leave the animal pending; otherwise it is available at once.' } },
    examples: {
      '12': 'an animal that can be sold again at once',
      '12 --not-ready --note "to the vet first"': 'one that cannot yet',
    },
  },
  'message list': {
    summary: 'List messages of all accounts, sorted by id.',
    options: {
      account: { description: 'Only messages to or from this account; `store` is the store itself.', value: 'ID' },
      box: { description: 'Only messages that the account sent, or that are in its inbox; with --account.' },
    },
    check({ account, box }) {
      if (account !== undefined && account !== 'store') parseId('--account', account);
      if (account === undefined && box !== undefined)
        throw new UsageError('--box needs --account, for example --account store.');
    },
    list: {
      columns: ['from', 'to', 'animal', 'status', 'sent', 'text'],
      noun: 'messages',
      hint: 'accounts send them with POST /messages.',
    },
    examples: { '--account store --box inbox': 'messages to the store itself', '--account 2 --json': 'for a program' },
  },
  'message show': {
    summary: 'Show a message with its whole text and every delivery attempt.',
    examples: { msg_12: 'its text and status' },
  },
  'message send': {
    summary: 'Send a message for an account, or from the store itself to an account.',
    details: 'A running server delivers it; without one, the next start does.',
    options: {
      account: { description: 'The account that sends it; see `petstore account list`.', value: 'ID' },
      to: { description: 'The account that the store itself writes to; instead of --account.', value: 'ID' },
      'reply-to': { value: 'EMAIL' },
    },
    check({ account, to, pet, 'reply-to': replyTo }) {
      if ((account === undefined) === (to === undefined)) {
        throw new UsageError('Give either --account, which sends the message, or --to, which gets it from the store.');
      }
      parseId(to === undefined ? '--account' : '--to', (to ?? account)!);
      if (to !== undefined && (pet ?? replyTo) !== undefined) {
        throw new UsageError('--pet and --reply-to go with --account, not with --to.');
      }
    },
    examples: {
      '--to 2 --message "Your animals are on the first page."': 'from the store to an account',
      '--account 2 --pet 7 --message "Is she still there?"': 'from a customer to the owner of an animal',
    },
  },
  'audit list': {
    operation: 'listAuditEntries',
    summary: 'List the changes that keys and commands made, newest first, with the address of each request.',
    account: 'Only the entries that this account can see; see `petstore account list`.',
    flags: { accountId: null },
    list: {
      columns: ['time', 'type', 'resourceId', 'accountId', 'keyId', 'address', 'command'],
      noun: 'entries',
      hint: 'every change by a request or a command adds one.',
    },
    examples: {
      '--key q7Zc1Lw0aPdT --since 24h': 'what a leaked key did',
      '--resource pet:7': 'who changed an animal',
      '--account 1 --json': 'for a program',
    },
  },
  'webhook list': {
    list: {
      columns: ['accountId', 'status', 'url', 'failingSince'],
      noun: 'webhooks',
      hint: 'accounts create them with POST /v1/webhooks.',
    },
    examples: { '': 'the webhooks of all accounts, and which are failing' },
  },
  'webhook show': {
    details: 'The secret is never shown.',
    examples: { '3': 'its URL and the events that it gets' },
  },
  'webhook disable': {
    operation: 'deactivateWebhook',
    summary: 'Disable a webhook until its owner activates it again, with a test.',
    details: 'Pending deliveries stay. An attempt that is under way finishes; it takes 15 seconds at most.',
    examples: { '3': 'its receiver complains' },
  },
  'webhook delete': {
    details: 'Deletes without asking, with the secrets and the deliveries.',
    examples: { '3': 'for good; its owner can create another' },
    done: ({ id }) => `Deleted webhook ${id}.`,
  },
};
