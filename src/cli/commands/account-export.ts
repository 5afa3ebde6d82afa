import type { Database, DeploymentName } from '../../model/schema.ts';
import { exportAccount } from '../../views/account-export/export.ts';
import type { LocalContext } from '../../views/local-call.ts';
import type { Command } from '../command.ts';
import { hasDatabase, withAccounts, withDatabase } from '../databases.ts';
import { escapeJson } from '../terminal.ts';
import { accountArgument, idOf } from './account.ts';

export const accountExport: Command = {
  name: 'account export',
  summary: 'Print the data of an account, as one JSON value.',
  details:
    'Prints the account with its API keys, sessions, events, usage and request log, and for each deployment its organization, animals, orders, holds, messages and webhooks, as the account sees them. Leaves out tokens, secrets, the audit log, refused requests and deliveries. Reads page by page beside a running server, so changes made meanwhile may be missing.',
  arguments: accountArgument,
  examples: { 'petstore account export 7 > account-7.json': 'to give to its owner' },
  async run(invocation) {
    const { terminal, clock, config } = invocation;
    const id = idOf(invocation);
    const contextOf = (name: DeploymentName, database: Database): LocalContext => {
      return { name, database, clock, categories: config.categories, bounds: config.bounds };
    };
    const write = async (accounts: Database, staging?: Database) => {
      const deployments = [contextOf('production', accounts), ...(staging ? [contextOf('staging', staging)] : [])];
      const options = { accounts, deployments, now: clock.now(), stringify: escapeJson };
      for await (const part of exportAccount(options, id)) await terminal.write(part);
    };
    const { staging } = config.locations;
    await withAccounts(invocation, accounts =>
      hasDatabase(staging) ? withDatabase(invocation, staging, database => write(accounts, database)) : write(accounts),
    );
    terminal.print('');
    return undefined;
  },
};
