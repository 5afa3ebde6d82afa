import { idSchema, optionalId, optionalText, timeSchema } from '../lib/schemas.ts';
import { sql } from '../lib/storage/query.ts';
import { durationIn } from '../lib/time.ts';
import { Type } from '../lib/type.ts';
import { differences, type Noun } from './noun.ts';
import { DELIVERY_TIMEOUT_MS, IMPORTS_KEPT_MS } from './rules.ts';

// Nouns whose fields are defined elsewhere.

const accountId = optionalId('The account that the resource belongs to.');
const deployment = optionalText('The deployment of the key.');
const createdAt = Type.Optional(timeSchema('When it was created.'));
const KeyId = Type.String({ description: 'The id of the key.' });

export const imports = {
  tag: { name: 'Import and export', description: 'All animals of an account as a file.', group: 'Catalogue' },
  table: { name: 'imports', fields: null, accounts: [], checks: {} },
  events: null,
  exported: `for ${durationIn('day', IMPORTS_KEPT_MS)}; what they changed are events`,
  deletion: ['imports'],
  commands: {},
} as const satisfies Noun;

export const account = {
  tag: { name: 'Account', description: 'The account of the key, with its plan and bounds.', group: 'Account' },
  table: null,
  events: {
    actions: {
      created: 'creates',
      updated: 'changes',
      password_changed: 'changes',
      second_factor_changed: 'changes',
      member_joined: 'changes',
      member_left: 'changes',
      role_changed: 'changes',
      usage_alert: 'changes',
      suspended: 'changes',
      resumed: 'changes',
      transferred: 'changes',
      deletion_requested: 'changes',
      deleted: 'deletes',
    },
    scopes: ['account:read'],
    visibleTo: 'parties',
    belongsTo: 'owners',
    data: Type.Object(
      {
        id: idSchema('The id of the account.'),
        name: optionalText('The name of the account.'),
        plan: optionalText('The plan of the account.'),
        limits: Type.Optional(
          Type.Object(
            { perMinute: Type.Integer(), perDay: Type.Integer() },
            { description: 'The numbers of requests that the account may send.' },
          ),
        ),
        admin: Type.Optional(Type.Boolean({ description: 'Whether the account is an admin.' })),
        createdAt,
        suspendedAt: Type.Optional(
          timeSchema('Since when the keys of the account are rejected; absent if they are accepted.'),
        ),
        deleteAt: Type.Optional(timeSchema('When the account will be deleted; absent if no deletion is scheduled.')),
        secondFactorRequired: Type.Optional(
          Type.Boolean({ description: 'Whether every member needs a second factor; absent if not.' }),
        ),
        deployment: optionalText('The deployment of a usage alert.'),
        threshold: Type.Optional(
          Type.Integer({
            description: 'The share of the day’s requests that a usage alert reports as used, in percent: 80 or 100.',
          }),
        ),
        personId: optionalId('The person who joined or left, or whose role or second factor changed.'),
        role: optionalText(
          'The role of a person who joined or left, or whose role changed: `owner`, `staff`, `developer` or `viewer`.',
        ),
      },
      { title: 'AccountEventData', description: 'An account, without its e-mail address.' },
    ),
  },
  exported: { account: null },
  deletion: [],
  commands: {},
} as const satisfies Noun;

export const key = {
  tag: null,
  table: null,
  events: {
    actions: { created: 'creates', rotated: 'changes', revoked: 'changes', expired: 'changes' },
    scopes: ['account:read'],
    visibleTo: 'parties',
    belongsTo: 'owners',
    data: Type.Object(
      {
        id: KeyId,
        accountId,
        deployment,
        createdAt,
        scopes: Type.Optional(Type.Array(Type.String(), { description: 'The scopes of the key; `*` stands for all.' })),
        networks: Type.Optional(
          Type.Array(Type.String(), {
            description: 'The networks from which the key is accepted; absent if every network is allowed.',
          }),
        ),
        budget: Type.Optional(
          Type.Object(
            { perMinute: Type.Optional(Type.Integer()), perDay: Type.Optional(Type.Integer()) },
            { description: 'The key’s own limits, within the limits of its account; absent if the key has none.' },
          ),
        ),
        expiresAt: Type.Optional(timeSchema('When the key expires; absent if it does not expire.')),
        revokedAt: Type.Optional(timeSchema('When the key was revoked; absent if it was not revoked.')),
      },
      { title: 'KeyEventData', description: 'An API key, without its secret.' },
    ),
  },
  exported: { keys: null },
  deletion: [],
  commands: {},
} as const satisfies Noun;

export const ban = {
  tag: null,
  table: null,
  events: {
    actions: { imposed: 'creates', lifted: 'changes' },
    scopes: ['account:read'],
    visibleTo: 'parties',
    belongsTo: 'owners',
    data: Type.Object(
      {
        id: KeyId,
        accountId,
        deployment,
        bannedAt: Type.Optional(timeSchema('When the ban began.')),
        until: Type.Optional(timeSchema('When the ban ends.')),
        liftedAt: Type.Optional(timeSchema('When the ban was lifted; absent if it was not lifted.')),
      },
      { title: 'BanEventData', description: 'A ban of a key.' },
    ),
  },
  exported: 'for an hour at most',
  deletion: [],
  commands: {},
} as const satisfies Noun;

export const audit = {
  tag: { name: 'Audit log', description: 'Who changed what, when, and from where.', group: 'Account' },
  table: null,
  events: null,
  exported: 'listed by the audit log',
  deletion: [],
  commands: {
    list: {
      operation: 'listAuditEntries',
      summary: 'List the changes that keys and commands made, newest first, with the address of each request.',
      account: 'Only the entries that this account can see; see `petstore account list`.',
      flags: { accountId: null },
      list: {
        columns: ['time', 'type', 'resourceId', 'accountId', 'keyId', 'address', 'command'],
        noun: 'entries',
        hint: 'every change by a request or a command adds an entry.',
      },
      examples: {
        '--key q7Zc1Lw0aPdT --since 24h': 'what a leaked key did',
        '--resource pet:7': 'who changed an animal',
        '--account 1 --json': 'for a program',
      },
    },
  },
} as const satisfies Noun;

export const event = {
  tag: {
    name: 'Events',
    description: 'All changes, in the order in which they were committed.',
    group: 'Events',
  },
  table: null,
  events: null,
  exported: { events: null },
  deletion: [],
  commands: {},
} as const satisfies Noun;

export const webhook = {
  tag: { name: 'Webhooks', description: 'Endpoints that receive signed events as they happen.', group: 'Events' },
  table: {
    name: 'webhooks',
    fields: null,
    accounts: ['account_id'],
    checks: {
      'numbers of pending deliveries': () =>
        differences(
          sql`select 'pending deliveries of webhook ' || id as name, pending as stored from webhooks where deleted_at is null`,
          sql`
            select 'pending deliveries of webhook ' || webhook_id as name, count(*) as counted
            from deliveries join webhooks on webhooks.id = webhook_id
            where deliveries.status = 'pending' and deleted_at is null group by webhook_id`,
        ),
      'pending deliveries': () => sql`
        select 'Delivery ' || id || ' is pending and never due, although no other one precedes it.' as finding
        from deliveries where status = 'pending' and due_at is null and not exists (
          select 1 from deliveries as other where other.webhook_id = deliveries.webhook_id
          and other.lane = deliveries.lane and other.status = 'pending' and other.id < deliveries.id)`,
      'secrets of webhooks': () => sql`
        select 'Webhook ' || id || ' has no secret.' as finding from webhooks where deleted_at is null
          and not exists (select 1 from webhook_secrets where webhook_id = webhooks.id and expires_at is null)`,
    },
  },
  events: {
    actions: {
      created: 'creates',
      updated: 'changes',
      activated: 'changes',
      deactivated: 'changes',
      disabled: 'changes',
      deleted: 'deletes',
      secret_rotated: 'changes',
      redelivery_requested: 'changes',
    },
    scopes: ['webhooks:read'],
    visibleTo: 'parties',
    belongsTo: 'owners',
    data: null,
  },
  exported: { webhooks: ['listWebhooks', {}] },
  deletion: ['webhooks'],
  commands: {
    list: {
      list: {
        columns: ['accountId', 'status', 'url', 'failingSince'],
        noun: 'webhooks',
        hint: 'accounts create them with POST /v1/webhooks.',
      },
      examples: { '': 'the webhooks of all accounts, and which are failing' },
    },
    show: {
      details: 'The secret is never shown.',
      examples: { '3': 'the URL of the webhook and the events that it receives' },
    },
    disable: {
      operation: 'deactivateWebhook',
      summary: 'Disable a webhook until its owner activates it again, with a test.',
      details: `Pending deliveries stay. An attempt that is under way finishes; it takes ${durationIn('second', DELIVERY_TIMEOUT_MS)} at most.`,
      examples: { '3': 'its receiver complains' },
    },
    delete: {
      details: 'Deletes without asking, with the secrets and the deliveries.',
      examples: { '3': 'permanently; the owner can create another webhook' },
      done: ({ id }) => `Deleted webhook ${id}.`,
    },
  },
} as const satisfies Noun;
