import { getAccount } from '../../access/accounts/accounts.ts';
import { type Deployment, example, nowOf, operation } from '../../access/deployment.ts';
import { sandboxUse } from '../../access/plans/sandbox.ts';
import { storedBytes } from '../../access/plans/stored-bytes.ts';
import { countStreams } from '../../events/public/routes.ts';
import { countWebhooks } from '../../events/webhooks/webhooks.ts';
import type { Caller } from '../../lib/http/route.ts';
import { SLOT_WAIT_MS } from '../../lib/http/server/upload-slots.ts';
import { idSchema, openEnum } from '../../lib/schemas.ts';
import { durationIn } from '../../lib/time.ts';
import { type Static, Type } from '../../lib/type.ts';
import { limitsOfAccount } from '../../model/account.ts';
import { eventBytesOf } from '../../model/log/bytes.ts';
import { type Bounds, boundOf, plans } from '../../model/plan.ts';
import { EVENT_BYTES_DAYS, MESSAGES_WINDOW_MS } from '../../model/rules.ts';
import { countCategories } from '../../store/categories/bound.ts';
import { countHeld } from '../../store/holds/holds.ts';
import { rowsImported } from '../../store/imports/budget.ts';
import { repliesToday } from '../../store/inbox/replies.ts';
import { countOpen } from '../../store/orders/open-orders.ts';
import { countOwned } from '../../store/pets/counts.ts';
import { photoBytes } from '../../store/photo-references.ts';

const count = (description: string) => Type.Integer({ format: 'int64', minimum: 0, description });

function bound(description: string, used = 'The number that the account has now.') {
  return Type.Object({ used: count(used), maximum: count('The bound.') }, { description });
}

const TOGETHER = 'The number that all these accounts have now.';

/** The resources of all sandbox accounts together, and their maximum. */
const SandboxBounds = Type.Object(
  {
    pets: bound('The animals of these accounts.', TOGETHER),
    bytes: bound(
      'The bytes of the events of these accounts, and of the stored responses to their requests with `Idempotency-Key`.',
      TOGETHER,
    ),
    requests: Type.Object(
      {
        maximum: count('The bound.'),
        windowSeconds: Type.Integer({ minimum: 1, description: 'The time over which requests are counted.' }),
      },
      {
        description:
          'The requests of these accounts. The `RateLimit` header shows how many are left (`sandbox-minute`).',
      },
    ),
  },
  {
    title: 'SandboxBounds',
    description: 'What the accounts of all trial keys together have, and can have at most; only for a trial key.',
  },
);

const AccountBounds = Type.Object(
  {
    pets: bound('The animals.'),
    importedRows: bound(
      'The rows that imports changed today, in UTC, and those that an import in progress may change.',
    ),
    eventBytes: bound(
      `The bytes of the events that the account caused in the last ${EVENT_BYTES_DAYS} days, today included. Only imports stop at the bound.`,
    ),
    openOrders: bound('The orders that are placed or approved.'),
    heldPets: bound('The animals in all active holds.'),
    categories: bound('The categories that the account created, with the placeholders that its animals created.'),
    webhooks: bound('The webhooks.'),
    streams: bound('The open event streams, on the node that sends the response.'),
    emailReplies: bound('The replies to visitors that the account sent by e-mail today, in UTC.'),
    storedBytes: bound(
      'The bytes of texts: of the messages that the account sent, of its replies and notes, and of the responses to its requests with `Idempotency-Key`.',
    ),
    photoBytes: bound('The bytes of the photos of its animals and its organization: the originals and their sizes.'),
    messagesPerRecipient: Type.Object(
      {
        maximum: count('The bound.'),
        windowSeconds: Type.Integer({ minimum: 1, description: 'The time over which messages are counted.' }),
      },
      {
        description:
          'The messages to one recipient: to the store, or to one owner of animals. Each recipient has a count of its own.',
      },
    ),
    scans: bound(
      'The lists in progress that scan many rows, on the node that sends the response. Beyond the bound, a list gets a 503 `overloaded`.',
    ),
    uploads: bound(
      `The uploads of photos and imports in progress, on the node that sends the response. Further uploads wait, and get a 503 \`overloaded\` after ${durationIn('second', SLOT_WAIT_MS)}.`,
    ),
  } satisfies Record<keyof Bounds, unknown>,
  { title: 'Bounds', description: 'What the account has, and can have at most, on this deployment.' },
);

/** The caller's own account. */
const Account = Type.Object(
  {
    id: idSchema('Identifier of the account.'),
    name: Type.String({ description: 'The name of the account.' }),
    email: Type.String({ description: 'The e-mail address of the account.' }),
    plan: openEnum(Object.keys(plans), 'The plan of the account.'),
    rateLimits: Type.Object(
      { perMinute: count('In any 60 seconds.'), perDay: count('In a UTC calendar day.') },
      { title: 'RateLimits', description: 'The numbers of requests that the account may send to each deployment.' },
    ),
    bounds: AccountBounds,
    sandbox: Type.Optional(SandboxBounds),
  },
  { title: 'Account', description: 'The account of a key.' },
);

const examples = [example('an account with a hold', 'Two animals on hold', 200, { given: ['createHold: two cats'] })];

export const get = operation({
  summary: 'Get your account',
  description:
    'Returns the account of the key with its plan, its rate limits and its bounds. The bounds count what the account has on ' +
    'this deployment. A request that would exceed a bound gets a 409 with a code of its own; it never counts as a violation of the rate limits.',
  successes: [{ status: 200, description: 'The account.', schema: Account }],
  errors: [],
  examples,
  async handle({ context, caller }) {
    const account = await getAccount(context.webhooks.accounts, caller.accountId);
    const { id, name, email, plan } = account;
    const rateLimits = limitsOfAccount(account);
    const bounds = await boundsOf(context, { ...caller, plan });
    const sandbox = caller.sandbox && (await sandboxBoundsOf(context));
    return { body: { id, name, email, plan, rateLimits, bounds, ...(sandbox && { sandbox }) } };
  },
});

/** Returns the numbers of an account's resources on a deployment, and their maximum. */
export async function boundsOf(
  context: Deployment,
  caller: Pick<Caller, 'accountId' | 'plan'>,
): Promise<Static<typeof AccountBounds>> {
  const { database } = context;
  const { accountId } = caller;
  const now = nowOf(context);
  const used: Omit<Bounds, 'messagesPerRecipient'> = {
    pets: await countOwned(database, accountId),
    importedRows: await rowsImported(database, accountId, now),
    eventBytes: await eventBytesOf(database, accountId, now),
    openOrders: await countOpen(database, accountId, now),
    heldPets: await countHeld(database, accountId, now),
    categories: await countCategories(database, accountId),
    webhooks: await countWebhooks(database, accountId),
    streams: countStreams(context, accountId),
    emailReplies: await repliesToday(database, accountId, now),
    storedBytes: await storedBytes.read(database, accountId),
    photoBytes: await photoBytes.read(database, accountId),
    scans: context.scans.countOf(accountId),
    uploads: context.uploads.countOf(accountId),
  };
  const names = Object.keys(used) as (keyof typeof used)[];
  const bounds = names.map(name => [name, { used: used[name], maximum: boundOf(context.bounds, caller, name) }]);
  const messagesPerRecipient = {
    maximum: boundOf(context.bounds, caller, 'messagesPerRecipient'),
    windowSeconds: MESSAGES_WINDOW_MS / 1000,
  };
  return { ...Object.fromEntries(bounds), messagesPerRecipient };
}

async function sandboxBoundsOf({ database, sandbox }: Deployment): Promise<Static<typeof SandboxBounds>> {
  const { pets, bytes } = await sandboxUse(database);
  return {
    pets: { used: pets, maximum: sandbox.pets },
    bytes: { used: bytes, maximum: sandbox.bytes },
    requests: { maximum: sandbox.perMinute, windowSeconds: 60 },
  };
}
