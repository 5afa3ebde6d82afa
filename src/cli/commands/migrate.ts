import type { DatabaseLocation } from '../../config.ts';
import { query } from '../../schema.ts';
import type { Command } from '../command.ts';
import { withDatabase } from '../databases.ts';
import { list } from '../terminal.ts';
import { withTimes } from '../text.ts';

export const migrate: Command = {
  name: 'migrate',
  summary: 'Migrate the databases of production and staging to this version.',
  details:
    'PostgreSQL needs this before the first start and after each upgrade. The embedded database migrates by itself. Safe to repeat.',
  examples: {
    'PETSTORE_DATABASE_URL=postgres://petstore@db.example.org/petstore petstore migrate':
      'before the first start on PostgreSQL',
  },
  async run(invocation) {
    const migrateOne = async (location: DatabaseLocation) => {
      const options = { create: true, migrate: true };
      const steps = await withDatabase(invocation, location, database => database.all(appliedMigrations, {}), options);
      return steps.map(withTimes);
    };
    const { production, staging } = invocation.config.locations;
    const value = { production: await migrateOne(production), staging: await migrateOne(staging) };
    const latest = Object.entries(value).map(([name, steps]) => [name, `up to date: ${steps.at(-1)?.name}`] as const);
    return { value, text: () => list(latest) };
  },
};

const appliedMigrations = query(db =>
  db.selectFrom('migrations').select(['name', 'applied_at as appliedAt']).orderBy('name'),
);
