import type { Command } from './command.ts';
import { withDatabase, withRegistry } from './databases.ts';

/** `petstore staging reset` */
export const command: Command = {
  name: 'staging reset',
  sentence:
    'Takes every animal, hold, order and message out of staging and fills it anew with the sample animals; ids go on.',
  details:
    'Works while a server runs. What was asked for before is done anew on a retry; events stay, and so do webhooks. After a crash in the middle, repeat it; the next start of the server finishes it too.',
  examples: [{ line: 'petstore staging reset', sentence: 'a fresh staging' }],
  async run({ config, clock, terminal }) {
    const { resetSamples } = await import('../seeds/seeds.ts');
    const where = { config, clock, terminal };
    const animals = await withRegistry(where, registry =>
      withDatabase(where, config.locations.staging, staging => resetSamples(registry, staging)),
    );
    return { value: { animals }, text: () => `Staging is filled anew with ${animals} animals.` };
  },
};
