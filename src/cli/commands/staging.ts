import { openPhotoStore } from '../../model/photo-files/open.ts';
import { resetStaging } from '../../operate/seeds/staging.ts';
import type { Command } from '../command.ts';
import { withAccounts, withDatabase } from '../databases.ts';

export const stagingReset: Command = {
  name: 'staging reset',
  summary: 'Delete every animal, hold, order and message of staging, and create the sample animals again with new ids.',
  details:
    'Works while a server runs. Idempotency keys are deleted; events and webhooks stay. If the command is interrupted, run it again; the next start of the server also completes it.',
  examples: { 'petstore staging reset': 'a fresh staging' },
  async run(invocation) {
    const { staging: location } = invocation.config.locations;
    const animals = await withAccounts(invocation, accounts =>
      withDatabase(invocation, location, async staging =>
        resetStaging(accounts, staging, await openPhotoStore(location.photos)),
      ),
    );
    return { value: { animals }, text: () => `Staging has ${animals} new sample animals.` };
  },
};
