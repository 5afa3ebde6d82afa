import { open, rename, rm, stat } from 'node:fs/promises';
import process from 'node:process';
import { getAccount } from '../../access/accounts/accounts.ts';
import { UserError } from '../../lib/user-error.ts';
import type { DeploymentName } from '../../model/schema.ts';
import { type ExportFormat, exportPets } from '../../store/exports/export-pets.ts';
import { type ExportPreset, presetNames } from '../../store/exports/presets.ts';
import { countOwned } from '../../store/pets/counts.ts';
import { publicUrlOf } from '../../views/urls.ts';
import { type Command, deploymentOption, UsageError } from '../command.ts';
import { withAccounts, withDatabase } from '../databases.ts';
import { accountArgument, idOf } from './account.ts';

export const exportAnimals: Command = {
  name: 'export',
  summary: 'Print the animals of an account as CSV or NDJSON, with every field that its owner can write.',
  details:
    'Reads page by page beside a running server, so memory does not limit their number. An animal that changes meanwhile is written as it was before or after the change. With --output, the file is replaced once the export is complete, and stays as it was if the export fails; a terminal shows the progress. --json requires --output, because without --output the command prints the export itself.',
  arguments: accountArgument,
  options: {
    format: { description: 'The format.', value: 'FORMAT', choices: ['csv', 'ndjson'], default: 'csv' },
    preset: {
      description: 'The columns: every field that you can write, or those of another program.',
      value: 'PRESET',
      choices: presetNames,
      default: 'petstore',
    },
    output: { description: 'The file to write; by default, the command writes to standard output.', value: 'FILE' },
    deployment: deploymentOption,
  },
  examples: {
    'petstore export 7 > pets.csv': 'for a spreadsheet',
    'petstore export 7 --format ndjson --output pets.ndjson': 'for a program, as a file that is never half-written',
    'petstore export 7 --preset petfinder --output petfinder.csv': 'in the columns of a Petfinder import',
  },
  async run(invocation) {
    const { options, config, clock, terminal, json } = invocation;
    const accountId = idOf(invocation);
    const { output } = options;
    if (output === '') throw new UsageError('--output must be the name of a file.');
    if (json && output === undefined) throw new UsageError('--json requires --output FILE.');
    const deployment = options['deployment'] as DeploymentName;
    await withAccounts(invocation, accounts => getAccount(accounts, accountId));
    const bytes = await withDatabase(invocation, config.locations[deployment], async database => {
      const showProgress = json || output === undefined ? undefined : terminal.showProgress;
      const owned = showProgress && (await countOwned(database, accountId));
      const parts = exportPets(database, {
        accountId,
        format: options['format'] as ExportFormat,
        preset: options['preset'] as ExportPreset,
        publicUrl: publicUrlOf(config, deployment, config.ports[deployment]),
        now: () => Math.floor(clock.now()),
        ...(owned && { onProgress: pets => showProgress?.('Exporting', Math.min(pets / owned, 1)) }),
      });
      return output === undefined ? printAll(parts, text => terminal.write(text)) : writeFile(output, parts);
    });
    if (output === undefined) return undefined;
    return { value: { file: output, bytes }, text: () => `Wrote ${output} (${bytes} bytes).` };
  },
};

async function printAll(parts: AsyncIterable<Buffer>, write: (text: string) => Promise<unknown>): Promise<number> {
  let bytes = 0;
  for await (const part of parts) {
    await write(part.toString());
    bytes += part.length;
  }
  return bytes;
}

/**
 * Writes a temporary file beside its target, and then replaces the target.
 * @throws {UserError} if the file cannot be written
 */
async function writeFile(target: string, parts: AsyncIterable<Buffer>): Promise<number> {
  const found = await stat(target).catch(() => undefined);
  if (found !== undefined && !found.isFile()) {
    throw new UserError(`${target} is not a file. Choose another name, or omit --output.`);
  }
  const draft = `${target}.${process.pid}.partial`;
  const file = await open(draft, 'wx').catch(error => {
    throw new UserError(`${target} cannot be written: ${(error as Error).message}.`);
  });
  let bytes = 0;
  try {
    for await (const part of parts) {
      await file.writeFile(part);
      bytes += part.length;
    }
    await file.sync();
    await file.close();
    await rename(draft, target);
    return bytes;
  } catch (error) {
    await file.close().catch(() => {});
    await rm(draft, { force: true });
    throw error;
  }
}
