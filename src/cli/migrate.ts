import type { DatabaseLocation } from '../config.ts';
import { formatTime } from '../lib/time.ts';
import { query } from '../schema.ts';
import type { Command } from './command.ts';
import { withDatabase } from './databases.ts';
import { list } from './terminal.ts';

/** `petstore migrate` */
export const command: Command = {
  name: 'migrate',
  sentence: 'Brings the databases of production and staging up to date.',
  details:
    'Needed on PostgreSQL before the first start and after each upgrade; the embedded engine does it by itself. Safe to repeat.',
  examples: [
    {
      line: 'PETSTORE_DATABASE_URL=postgres://petstore@db.example.org/petstore petstore migrate',
      sentence: 'before the first start on PostgreSQL',
    },
  ],
  async run({ config, clock, terminal }) {
    const where = { config, clock, terminal };
    const stepsOf = (place: DatabaseLocation) =>
      withDatabase(where, place, database => database.all(steps, {}), { migrate: true });
    const done = {
      production: await stepsOf(config.locations.production),
      staging: await stepsOf(config.locations.staging),
    };
    return {
      value: Object.fromEntries(
        Object.entries(done).map(([name, rows]) => [
          name,
          rows.map(row => ({ ...row, appliedAt: formatTime(row.appliedAt) })),
        ]),
      ),
      text: () => list(Object.entries(done).map(([name, rows]) => [name, `up to date: ${rows.at(-1)?.name}`])),
    };
  },
};

const steps = query(db => db.selectFrom('migrations').select(['name', 'applied_at as appliedAt']).orderBy('name'));
