import type { DatabaseLocation } from '../../config.ts';
import { formatTime } from '../../lib/time.ts';
import { query } from '../../schema.ts';
import type { Command } from '../command.ts';
import { withDatabase } from '../databases.ts';
import { list } from '../terminal.ts';

/** `petstore migrate` */
export const migrate: Command = {
  name: 'migrate',
  summary: 'Migrate the databases of production and staging to this version.',
  details:
    'PostgreSQL needs this before the first start and after each upgrade. The embedded engine migrates by itself. Safe to repeat.',
  examples: {
    'PETSTORE_DATABASE_URL=postgres://petstore@db.example.org/petstore petstore migrate':
      'before the first start on PostgreSQL',
  },
  async run(invocation) {
    const { production, staging } = invocation.config.locations;
    const migrated = { production: await migrateOne(production), staging: await migrateOne(staging) };
    const latest = Object.entries(migrated).map(
      ([name, steps]) => [name, `up to date: ${steps.at(-1)?.name}`] as const,
    );
    return { value: migrated, text: () => list(latest) };

    async function migrateOne(location: DatabaseLocation) {
      const steps = await withDatabase(invocation, location, database => database.all(appliedMigrations, {}), {
        migrate: true,
      });
      return steps.map(({ name, appliedAt }) => ({ name, appliedAt: formatTime(appliedAt) }));
    }
  },
};

const appliedMigrations = query(db =>
  db.selectFrom('migrations').select(['name', 'applied_at as appliedAt']).orderBy('name'),
);
