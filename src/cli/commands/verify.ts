import { FINDINGS_MAX } from '../../operate/verify/verify.ts';
import type { Command } from '../command.ts';
import { requireStore, storedLocations } from '../databases.ts';

export const verify: Command = {
  name: 'verify',
  summary:
    'Check the databases of production and staging: their files, and whether values that are stored twice agree.',
  details: `Works while a server runs. Prints one line per finding, at most ${FINDINGS_MAX} of each check, and exits with 1 if there are any. The embedded databases are copied into the data directory first, so the disk must have room for the copies.`,
  examples: { 'petstore verify': 'after a restore, or every week' },
  async run({ config, clock, json, terminal }) {
    requireStore(config);
    const { verify: verifyAll } = await import('../../operate/verify/verify.ts');
    const locations = storedLocations(config);
    const findings = await verifyAll({
      ...{ config, clock, locations },
      ...(!json && terminal.showProgress && { onProgress: terminal.showProgress }),
    });
    return {
      value: { findings },
      text: () =>
        findings.length === 0
          ? `No findings in ${locations.map(([name]) => name).join(' and ')}.`
          : findings.map(({ deployment, check, finding }) => `${deployment}, ${check}: ${finding}`).join('\n'),
      failed: findings.length > 0,
    };
  },
};
