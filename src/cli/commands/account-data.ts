import {
  getAccount,
  keepAccount,
  recordTransfer,
  requestDeletion,
  requireLasting,
} from '../../access/accounts/accounts.ts';
import { revokeKeysAndDependents } from '../../events/webhooks/account-changes.ts';
import { parseDuration } from '../../lib/time.ts';
import { DELETION_GRACE_DAYS } from '../../model/rules.ts';
import type { Database, DeploymentName } from '../../model/schema.ts';
import { webhookOf } from '../../model/webhook.ts';
import { importOf } from '../../store/imports/import.ts';
import { transferPets } from '../../store/orders/transfer.ts';
import { type Command, deploymentOption, type Option, UsageError } from '../command.ts';
import { storedLocations, untilEffective, withAccountDatabases, withAccounts, withDatabase } from '../databases.ts';
import { list } from '../terminal.ts';
import { listing } from '../text.ts';
import { parseId } from '../values.ts';
import { accountArgument, idOf, suspended } from './account.ts';
import { keyValue } from './key.ts';

const { default: _, ...noDefault } = deploymentOption;
const deploymentChoice: Option = { ...noDefault, description: 'Only on this deployment; on both by default.' };

export const accountDelete: Command = {
  name: 'account delete',
  summary: 'Suspend an account, and delete it after a grace period.',
  details:
    'After the grace period, a running server deletes the API keys, animals, webhooks, notes and message texts of the account on both deployments, cancels its open orders, releases its holds, and replaces its name and e-mail address. Its orders and the event log stay. Before the grace period ends, `petstore account resume` cancels the deletion. `petstore account transfer` keeps the animals.',
  arguments: accountArgument,
  options: {
    grace: {
      description: 'How long the account can still be resumed: 0s, 15m, 24h, 30d.',
      value: 'DURATION',
      default: `${DELETION_GRACE_DAYS}d`,
    },
  },
  examples: {
    'petstore account delete 7': `with ${DELETION_GRACE_DAYS} days to change one’s mind`,
    'petstore account delete 7 --grace 0s': 'as soon as possible',
  },
  async run(invocation) {
    const graceMs = parseDuration(invocation.options['grace']!);
    if (graceMs === undefined) throw new UsageError('--grace must be a duration like 0s, 15m, 24h or 30d.');
    return suspended(invocation, (tx, id) => requestDeletion(tx, id, graceMs));
  },
};

export const accountRevokeKeys: Command = {
  name: 'account revoke-keys',
  summary:
    'Revoke all API keys of an account for good, disable the webhooks that depend on them, and end their imports.',
  details:
    'Takes effect before the command ends. Lists the keys that it revoked, each with the webhooks that it disabled and the imports that it ended. Safe to repeat.',
  arguments: accountArgument,
  examples: { 'petstore account revoke-keys 7': 'after a leak' },
  async run(invocation) {
    const id = idOf(invocation);
    const revoked = await withAccountDatabases(invocation, async databases => {
      await getAccount(databases.accounts, id);
      const keys = await revokeKeysAndDependents(databases, id);
      await untilEffective(databases.accounts);
      return keys;
    });
    const now = invocation.clock.now();
    const value = revoked.map(({ key, webhooks, imports }) => ({
      ...keyValue(key, now),
      webhooks: webhooks.map(webhookOf),
      imports: imports.map(row => importOf(row, invocation.config.bounds)),
    }));
    const rows = value.map(({ webhooks, imports, ...key }) => ({
      ...key,
      disabledWebhooks: webhooks.map(({ id }) => id),
      endedImports: imports.map(({ id }) => id),
    }));
    const columns = ['id', 'deployment', 'scopes', 'createdAt', 'disabledWebhooks', 'endedImports'];
    return { value, text: style => listing(style, rows, columns, 'The account has no keys left to revoke.') };
  },
};

export const accountTransfer: Command = {
  name: 'account transfer',
  summary: 'Transfer the animals of an account to another one, with their holds and unfinished orders.',
  details:
    'The new owner takes the further steps of orders; finished orders stay with the previous owner. Works in small batches beside a running server; if the command is interrupted, run it again.',
  arguments: accountArgument,
  options: {
    to: { description: 'The account that receives the animals.', value: 'ID', required: true },
    deployment: deploymentChoice,
  },
  examples: {
    'petstore account transfer 7 --to 9': 'when two shelters merge',
    'petstore account transfer 7 --to 9 --deployment staging': 'on staging only',
  },
  async run(invocation) {
    const from = idOf(invocation);
    const to = parseId('--to', invocation.options['to']!);
    if (to === from) throw new UsageError('--to must be another account.');
    await withAccounts(invocation, async accounts => {
      requireLasting(await getAccount(accounts, from));
      await accounts.write(tx => keepAccount(tx, to));
    });
    const chosen = invocation.options['deployment'];
    const value: Partial<Record<DeploymentName, number>> = {};
    for (const [name, location] of storedLocations(invocation.config)) {
      if ((chosen ?? name) !== name) continue;
      value[name] = await withDatabase(invocation, location, database => transferAll(database, from, to));
    }
    const moved = Object.values(value).some(count => count > 0);
    if (moved) await withAccounts(invocation, accounts => accounts.write(tx => recordTransfer(tx, from, to)));
    return { value, text: () => list(Object.entries(value).map(([name, count]) => [name, `${count} animals`])) };
  },
};

/** The number of animals per transaction: few, so that other writes do not wait. */
const BATCH_SIZE = 100;

async function transferAll(database: Database, from: number, to: number): Promise<number> {
  let transferred = 0;
  for (;;) {
    const count = await database.write(tx => transferPets(tx, from, to, BATCH_SIZE));
    if (count === 0) return transferred;
    transferred += count;
  }
}
