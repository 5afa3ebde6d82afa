import assert from 'node:assert/strict';
import { after, before, describe } from 'node:test';
import type { Terminal } from '../../src/cli/command.ts';
import { withDatabase } from '../../src/cli/databases.ts';
import { plain } from '../../src/cli/terminal.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { readConfig } from '../../src/model/config.ts';
import type { Database, DeploymentName } from '../../src/model/schema.ts';
import { type Environment, jsonOf } from '../support/commands.ts';
import { onServer, postgresUrl, run, withoutPostgres } from '../support/engines.ts';
import { skipFor } from '../support/selection.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

/** Options of `pet create`. */
export type PetOptions = Readonly<Record<string, string>>;

/** Creates an animal: a cat of account 1, unless overridden. */
export function addPet(environment: Environment, overrides: PetOptions) {
  const options = { account: '1', name: 'Minka', category: '2', ...overrides };
  return jsonOf(environment, 'pet', 'create', ...Object.entries(options).map(([name, value]) => `--${name}=${value}`));
}

/** Accesses the database directly. */
export function onData<T>(
  environment: Environment,
  deployment: DeploymentName,
  work: (database: Database) => Promise<T>,
) {
  const config = readConfig(environment);
  const terminal: Terminal = { print: assert.fail, printError: assert.fail, write: assert.fail, style: plain };
  const options = { name: 'test', config, clock: systemClock(config.startAtMs), terminal };
  return withDatabase(options, config.locations[deployment], work);
}

const NOON = { NODE_ENV: 'test', PETSTORE_NOW: '2027-01-01T12:00:00Z' };

const postgresName = `petstore_cli_store_${process.pid}`;

const engines: { name: string; skip: string | false; open(): Promise<Environment>; close(): Promise<unknown> }[] = [
  {
    name: 'on the embedded engine',
    skip: false,
    open: async () => ({ PETSTORE_DATA_DIR: temporaryDirectory() }),
    close: async () => {},
  },
  {
    name: 'on PostgreSQL',
    skip: skipFor(withoutPostgres),
    async open() {
      await onServer(connection =>
        run(connection, `create database ${postgresName} template template0 encoding 'UTF8'`),
      );
      const url = Object.assign(new URL(postgresUrl), { pathname: `/${postgresName}` }).href;
      await jsonOf({ PETSTORE_DATABASE_URL: url }, 'migrate');
      return { PETSTORE_DATABASE_URL: url };
    },
    close: () => onServer(connection => run(connection, `drop database ${postgresName} with (force)`)),
  },
];

/**
 * Declares the tests of `declare` on each engine. `here` returns the environment of commands: two accounts, Owner and Buyer,
 * at noon.
 */
export function onEachEngine(declare: (here: () => Environment) => void): void {
  for (const engine of engines) {
    describe(engine.name, { skip: engine.skip }, () => {
      let environment: Environment;
      before(async () => {
        environment = { ...(await engine.open()), ...NOON };
        await jsonOf(environment, 'account', 'create', '--email', 'owner@example.org', '--name', 'Owner');
        await jsonOf(environment, 'account', 'create', '--email', 'buyer@example.org', '--name', 'Buyer');
      });
      after(() => engine.close());
      declare(() => environment);
    });
  }
}
