import { type ImportRow, importOf } from '../../imports/import.ts';
import {
  budgetOf,
  budgetText,
  checkKeyName,
  EVERY_SCOPE,
  type IssuedKey,
  type Key,
  keyState,
  networkText,
  scopes,
  scopeText,
} from '../../keys/key.ts';
import { createKey, listKeys } from '../../keys/keys.ts';
import { countText } from '../../lib/text.ts';
import { formatTime, parseDuration } from '../../lib/time.ts';
import { LIMIT_MAX } from '../../plans/plan.ts';
import type { DeploymentName } from '../../schema.ts';
import { revokeKeyAndDependents, rotateKeyAndDependents } from '../../webhooks/key-changes.ts';
import { type WebhookRow, webhookOf } from '../../webhooks/webhook.ts';
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
    account: { description: 'The account that owns it; see `petstore account list`.', value: 'ID', required: true },
    name: { description: 'What to call it in lists.', value: 'NAME' },
    deployment: { ...deploymentOption, description: 'The deployment that it is for.' },
    scope: {
      description: `A scope that it has; ${EVERY_SCOPE}, the default, is every scope.`,
      value: 'SCOPE',
      repeatable: true,
    },
    network: {
      description: 'A network or address that it is accepted from, such as 10.0.0.0/8; all by default.',
      value: 'NETWORK',
      repeatable: true,
    },
    'per-minute': {
      description: 'Its own requests per minute, at most those of the account; all by default.',
      value: 'N',
    },
    'per-day': { description: 'Its own requests per day, at most those of the account; all by default.', value: 'N' },
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
  details: 'The webhooks and imports that depend on the old key depend on the new one from then on.',
  arguments: { ID: 'The public part of the old key; see `petstore key list`.' },
  options: {
    overlap: {
      description: 'How long the old key keeps working, at most until its own expiry: 0s, 30s, 15m, 24h, 7d.',
      value: 'DURATION',
      default: '24h',
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

/** Returns a key as `--json` shows it, with its state at `now`. */
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

/** Returns a paragraph about webhooks; nothing if there are none. */
function webhookLines(change: string, webhooks: readonly WebhookRow[]): string {
  if (webhooks.length === 0) return '';
  return `\n\n${change}:\n${webhooks.map(({ id, url }) => `  ${id}  ${url}`).join('\n')}`;
}

/** Returns a paragraph about imports that were ended; nothing if there are none. */
function importLines(imports: readonly ImportRow[]): string {
  if (imports.length === 0) return '';
  const lines = imports.map(row => `  ${row.id}  ${countText(row.rows_read)} of ${countText(row.row_count)} rows done`);
  return `\n\nEnded its imports:\n${lines.join('\n')}`;
}

function listOf(text: string | undefined): string[] | undefined {
  return text?.split(',').map(item => item.trim());
}

/** Returns a limit that an option sets; `null` without the option. @throws {UsageError} */
function limitOf(name: 'per-minute' | 'per-day', options: Invocation['options']): number | null {
  const text = options[name];
  return text === undefined ? null : parseInteger(`--${name}`, text, 1, LIMIT_MAX);
}

function expiryOf(text: string | undefined, now: number): number | undefined {
  return text === undefined ? undefined : parseWhen('--expires', text, now);
}
