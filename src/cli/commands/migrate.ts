import { durationText, expectedMs } from '../../lib/storage/migration-report.ts';
import { migrationState } from '../../lib/storage/open.ts';
import type { DatabaseLocation } from '../../model/config.ts';
import { migrations } from '../../model/migrations/index.ts';
import { query } from '../../model/schema.ts';
import type { Command, CommandOutput, Invocation } from '../command.ts';
import { withDatabase } from '../databases.ts';
import { list } from '../terminal.ts';
import { withTimes } from '../text.ts';

export const migrate: Command = {
  name: 'migrate',
  summary: 'Migrate the databases of production and staging to this version.',
  details:
    'PostgreSQL needs this before the first start and after each upgrade. The embedded database migrates by itself. Safe to repeat.',
  options: { plan: { description: 'Show what would be done, and change nothing.' } },
  examples: {
    'petstore migrate --plan': 'before an upgrade, with the new program',
    'PETSTORE_DATABASE_URL=postgres://petstore@db.example.org/petstore petstore migrate':
      'before the first start on PostgreSQL',
  },
  async run(invocation) {
    if (invocation.options['plan'] !== undefined) return plan(invocation);
    const migrateOne = async (location: DatabaseLocation) => {
      const options = { create: true, migrate: true };
      const steps = await withDatabase(invocation, location, database => database.all(appliedSteps, {}), options);
      return steps.map(withTimes);
    };
    const { production, staging } = invocation.config.locations;
    const value = { production: await migrateOne(production), staging: await migrateOne(staging) };
    const latest = Object.entries(value).map(([name, steps]) => [name, `up to date: ${steps.at(-1)?.name}`] as const);
    return { value, text: () => list(latest) };
  },
};

const appliedSteps = query(db =>
  db.selectFrom('migrations').select(['name', 'applied_at as appliedAt']).orderBy('name'),
);

/** Returns the migrations that the databases lack. */
async function plan({ config }: Invocation): Promise<CommandOutput> {
  const target = migrations.at(-1)!.name;
  const planOne = async (location: DatabaseLocation) => {
    const state = await migrationState(location, migrations);
    const { applied, missing } = state;
    return {
      current: applied.at(-1) ?? null,
      target,
      pending: missing.map(({ name }) => name),
      unknown: applied.filter(name => !migrations.some(migration => migration.name === name)),
      expectedSeconds: Math.round(expectedMs(state) / 1000),
    };
  };
  const { production, staging } = config.locations;
  const value = { production: await planOne(production), staging: await planOne(staging) };
  return { value, text: () => list(Object.entries(value).map(([name, one]) => [name, planText(one)])) };
}

interface Plan {
  readonly current: string | null;
  readonly target: string;
  readonly pending: readonly string[];
  readonly unknown: readonly string[];
  readonly expectedSeconds: number;
}

function planText({ current, target, pending, unknown, expectedSeconds }: Plan): string {
  if (unknown.length > 0) return `newer than this program (${target}): it has ${unknown.join(', ')}`;
  if (pending.length === 0) return `up to date: ${target}`;
  const time = expectedSeconds === 0 ? '' : `, about ${durationText(expectedSeconds * 1000)}`;
  return [`${current ?? 'empty'} → ${target}, ${pending.length} pending${time}:`, ...pending].join('\n');
}
