import { createKey, listKeys } from '../../access/keys/keys.ts';
import { revokeKeyAndDependents, rotateKeyAndDependents } from '../../events/webhooks/key-changes.ts';
import { countText } from '../../lib/text.ts';
import { formatTime, parseDuration } from '../../lib/time.ts';
import {
  budgetOf,
  budgetText,
  checkKeyName,
  type IssuedKey,
  type Key,
  keyState,
  networkText,
} from '../../model/key.ts';
import { LIMIT_MAX } from '../../model/plan.ts';
import { KEY_OVERLAP_HOURS } from '../../model/rules.ts';
import type { DeploymentName } from '../../model/schema.ts';
import { EVERY_SCOPE, scopes, scopeText } from '../../model/scopes.ts';
import { type WebhookRow, webhookOf } from '../../model/webhook.ts';
import { type ImportRow, importOf } from '../../store/imports/import.ts';
import {
  asUsage,
  type Command,
  deploymentOption,
  type Invocation,
  type Option,
  type Style,
  UsageError,
} from '../command.ts';
import { untilEffective, withAccounts, withKeyDatabases } from '../databases.ts';
import { describe, listing, type Value, withTimes } from '../text.ts';
import { parseId, parseInteger, parseWhen, WHEN } from '../values.ts';

const expiresOption: Option = {
  description: `When it expires: ${WHEN}. Default: never, or after PETSTORE_KEY_LIFETIME_DAYS.`,
  value: 'WHEN',
};

export const keyCreate: Command = {
  name: 'key create',
  summary: 'Create an API key for an account, and show its token once.',
  details: `Scopes:\n${Object.entries(scopes)
    .map(([scope, description]) => `  ${scope.padEnd(14)}  ${description}`)
    .join('\n')}`,
  options: {
    account: {
      description: 'The account that owns the key; see `petstore account list`.',
      value: 'ID',
      required: true,
    },
    name: { description: 'The name of the key in lists.', value: 'NAME' },
    deployment: { ...deploymentOption, description: 'The deployment of the key.' },
    scope: {
      description: `A scope of the key; ${EVERY_SCOPE}, the default, is every scope.`,
      value: 'SCOPE',
      repeatable: true,
    },
    network: {
      description: 'A network or address from which the key is accepted, such as 10.0.0.0/8; all by default.',
      value: 'NETWORK',
      repeatable: true,
    },
    'per-minute': {
      description: 'Requests per minute with the key, at most the limit of the account, which is the default.',
      value: 'N',
    },
    'per-day': {
      description: 'Requests per day with the key, at most the limit of the account, which is the default.',
      value: 'N',
    },
    expires: expiresOption,
  },
  examples: {
    'petstore key create --account 1': 'for production, with every scope',
    'petstore key create --account 1 --name "Adoption site"': 'with a name',
    'petstore key create --account 1 --network 203.0.113.0/24 --network 2001:db8::/32': 'for the servers of a partner',
    'petstore key create --account 1 --deployment staging --scope pets:read --expires 90d':
      'read-only on staging, for 90 days',
    'petstore key create --account 1 --per-minute 10 --per-day 200': 'with a budget, so that other keys have the rest',
  },
  async run(invocation) {
    const { options, clock, config } = invocation;
    const accountId = parseId('--account', options.account!);
    const requested = listOf(options.scope);
    const networks = listOf(options.network);
    asUsage(() => [scopeText(requested), networkText(networks)]);
    if (options.name !== undefined) asUsage(() => checkKeyName(options.name!));
    const expiresAt = expiryOf(options.expires, clock.now());
    const budget = budgetOf(limitOf('per-minute', options), limitOf('per-day', options));
    const newKey = {
      accountId,
      deployment: options.deployment as DeploymentName,
      ...(options.name !== undefined && { name: options.name }),
      ...(requested !== undefined && { scopes: requested }),
      ...(networks !== undefined && { networks }),
      ...(budget !== undefined && { budget }),
      ...(expiresAt !== undefined && { expiresAt }),
    };
    const key = await withAccounts(invocation, accounts =>
      accounts.write(tx => createKey(tx, newKey, config.keyLifetimeDays)),
    );
    return { value: keyValue(key, clock.now()), text: style => issuedText(style, key) };
  },
};

export const keyList: Command = {
  name: 'key list',
  summary: 'List all API keys, oldest first, without their tokens.',
  examples: { 'petstore key list --json': 'for a program' },
  async run(invocation) {
    const keys = await withAccounts(invocation, listKeys);
    const now = invocation.clock.now();
    const value = keys.map(key => keyValue(key, now));
    const rows = value.map(key => ({
      ...key,
      budget: key.budget && budgetText(key.budget),
      expiresAt: key.expiresAt ?? 'never',
      lastUsedAt: key.lastUsedAt ?? 'never',
    }));
    const columns = [
      'id',
      'name',
      'accountId',
      'deployment',
      'state',
      'scopes',
      'networks',
      'budget',
      'createdAt',
      'expiresAt',
      'lastUsedAt',
    ];
    const empty = 'There are no keys; `petstore key create --account ID` creates one.';
    return { value, text: style => listing(style, rows, columns, empty) };
  },
};

export const keyRevoke: Command = {
  name: 'key revoke',
  summary: 'Revoke an API key for good, disable the webhooks that depend on it, and end its imports.',
  details:
    'Once the command has finished, requests with the key are rejected, its event streams and imports end, and nothing is ' +
    'sent to its webhooks. It lists the webhooks that it disabled, which their owner can activate again with another key, and ' +
    'the imports that it ended.',
  arguments: { ID: 'The public part of the key; see `petstore key list`.' },
  options: {
    'keep-webhooks': { description: 'Keep its webhooks active: they then depend on their account alone.' },
  },
  examples: {
    'petstore key revoke q7Zc1Lw0aPdT': 'a leaked key',
    'petstore key revoke q7Zc1Lw0aPdT --keep-webhooks': 'a key that nobody else knows',
  },
  async run(invocation) {
    const id = invocation.arguments['ID']!;
    const keepWebhooks = invocation.options['keep-webhooks'] !== undefined;
    const { key, webhooks, imports } = await withKeyDatabases(
      invocation,
      id,
      async databases => {
        const revoked = await revokeKeyAndDependents(databases, id, { keepWebhooks });
        await untilEffective(databases.accounts);
        return revoked;
      },
      { required: keepWebhooks },
    );
    const value = {
      ...keyValue(key, invocation.clock.now()),
      webhooks: webhooks.map(webhookOf),
      imports: imports.map(row => importOf(row, invocation.config.bounds)),
    };
    const change = keepWebhooks ? 'Kept its webhooks' : 'Disabled its webhooks';
    return { value, text: () => `Revoked the key ${key.id}.${webhookLines(change, webhooks)}${importLines(imports)}` };
  },
};

export const keyRotate: Command = {
  name: 'key rotate',
  summary: 'Replace an API key: show the token of the new key once, and let the old key work for a while.',
  details: 'From then on, the webhooks and imports that depend on the old key depend on the new key.',
  arguments: { ID: 'The public part of the old key; see `petstore key list`.' },
  options: {
    overlap: {
      description: 'How long the old key keeps working, at most until its own expiry: 0s, 30s, 15m, 24h, 7d.',
      value: 'DURATION',
      default: `${KEY_OVERLAP_HOURS}h`,
    },
    expires: {
      description: `When the new key expires: ${WHEN}, or never. Default: when the old key would have expired.`,
      value: 'WHEN',
    },
  },
  examples: { 'petstore key rotate q7Zc1Lw0aPdT --overlap 1h': 'with an hour to switch over' },
  async run(invocation) {
    const { options, clock, config } = invocation;
    const overlapMs = parseDuration(options.overlap!);
    if (overlapMs === undefined) throw new UsageError('--overlap must be a duration like 0s, 30s, 15m, 24h or 7d.');
    const expiresAt = options.expires === 'never' ? null : expiryOf(options.expires, clock.now());
    const id = invocation.arguments['ID']!;
    const { issued, previous } = await withKeyDatabases(invocation, id, databases =>
      rotateKeyAndDependents(databases, id, { overlapMs, expiresAt, maxDays: config.keyLifetimeDays }),
    );
    const now = clock.now();
    const expiry = `The key ${previous.id} expires at ${formatTime(previous.expiresAt!)}.`;
    return {
      value: { ...keyValue(issued, now), previous: keyValue(previous, now) },
      text: style => `${issuedText(style, issued)}\n${expiry}`,
    };
  },
};

/** Returns a key in the form of `--json`, with its state at `now`. */
export function keyValue(key: Key, now: number): Value {
  return { ...withTimes(key), state: keyState(key, now) };
}

function issuedText(style: Style, key: IssuedKey): string {
  const { token, id, name, accountId, deployment, scopes, networks, expiresAt } = key;
  const expires = expiresAt === null ? 'never' : formatTime(expiresAt);
  const budget = key.budget && budgetText(key.budget);
  const view = { token: style.bold(token), key: id, name, accountId, deployment, scopes, networks, budget, expires };
  return `${describe(view)}\n\nKeep the token: it is shown only once.`;
}

/** Returns a paragraph about webhooks; an empty text if there are none. */
function webhookLines(change: string, webhooks: readonly WebhookRow[]): string {
  if (webhooks.length === 0) return '';
  return `\n\n${change}:\n${webhooks.map(({ id, url }) => `  ${id}  ${url}`).join('\n')}`;
}

/** Returns a paragraph about the ended imports; an empty text if there are none. */
function importLines(imports: readonly ImportRow[]): string {
  if (imports.length === 0) return '';
  const lines = imports.map(row => `  ${row.id}  ${countText(row.rows_read)} of ${countText(row.row_count)} rows done`);
  return `\n\nEnded its imports:\n${lines.join('\n')}`;
}

function listOf(text: string | undefined): string[] | undefined {
  return text?.split(',').map(item => item.trim());
}

/**
 * Returns the limit of an option; `null` without the option.
 * @throws {UsageError}
 */
function limitOf(name: 'per-minute' | 'per-day', options: Invocation['options']): number | null {
  const text = options[name];
  return text === undefined ? null : parseInteger(`--${name}`, text, 1, LIMIT_MAX);
}

function expiryOf(text: string | undefined, now: number): number | undefined {
  return text === undefined ? undefined : parseWhen('--expires', text, now);
}
