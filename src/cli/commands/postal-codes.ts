import { open } from 'node:fs/promises';
import { UserError } from '../../lib/user-error.ts';
import type { Command } from '../command.ts';
import { requireStore, storedLocations, withDatabase } from '../databases.ts';

export const postalCodesImport: Command = {
  name: 'postal-codes import',
  summary: 'Import postal codes of more countries for `near`, from a postal code file of GeoNames.',
  details:
    "The file is DE.txt of https://download.geonames.org/export/zip/DE.zip, or the file of another country, or allCountries.txt; GeoNames' data is under CC BY 4.0. Imports into production and staging while a server runs, and replaces all codes of the countries in the file; until the import ends, each code has its old or its new location. If the command is interrupted, run it again. If a code has several lines, its location is their mean. The United States and Canada are part of the product and are not imported. Wrong lines are skipped and reported; if they are more than a tenth of the file, nothing is imported.",
  arguments: { FILE: 'The file: UTF-8, with 12 columns separated by tabs; unzip it first.' },
  examples: { 'petstore postal-codes import DE.txt': 'postal codes of Germany, for `near=DE-10115`' },
  async run({ name, arguments: { FILE: path = '' }, config, clock, json, terminal }) {
    requireStore(config);
    const size = await sizeOf(path);
    const progress = (step: string) => (bytes: number) => {
      if (!json) terminal.showProgress?.(step, bytes / size);
    };
    const { checkPostalFile, importPostalFile } = await import('../../store/places/import-file.ts');
    const file = await checkPostalFile(path, progress(`Checking ${path}`));
    const { lines, wrong, errors, ignored } = file;
    const isRejected = wrong * 10 > lines;
    if (!isRejected && file.countries.length === 0) {
      throw new UserError(
        lines === 0
          ? `${path} is empty.`
          : `${path} has only postal codes of ${ignored.join(' and ')}, which are part of the product.`,
      );
    }
    const deployments = storedLocations(config);
    let codes = new Map<string, number>();
    for (const [deployment, location] of isRejected ? [] : deployments) {
      codes = await withDatabase({ name, config, clock, terminal }, location, database =>
        importPostalFile(database, path, file, progress(`Importing into ${deployment}`)),
      );
    }
    const countries = Array.from(codes, ([country, number]) => ({ country, codes: number }));
    const names = deployments.map(([deployment]) => deployment);
    return {
      value: { countries, ignored, deployments: isRejected ? [] : names, lines, wrong, errors },
      text: () =>
        [
          ...errors.map(({ line, message }) => `Line ${line} ${message}.`),
          ...(wrong > errors.length ? [`${wrong - errors.length} more lines are wrong.`] : []),
          ...(isRejected
            ? [
                `${path} is not a postal code file of GeoNames: ${wrong} of ${lines} lines are wrong. Nothing was imported.`,
              ]
            : [
                ...countries.map(({ country, codes }) => `${country}: ${codes} postal codes.`),
                ...(ignored.length > 0 ? [`${ignored.join(' and ')}: part of the product, not imported.`] : []),
                `Imported into ${names.join(' and ')}.${wrong > 0 ? ` Skipped wrong lines: ${wrong}.` : ''}`,
              ]),
        ].join('\n'),
      failed: isRejected,
    };
  },
};

/**
 * Returns the size of a file.
 * @throws {UserError} if it cannot be read, or is an archive
 */
async function sizeOf(path: string): Promise<number> {
  const file = await open(path).catch(error => {
    throw new UserError(`${path} cannot be read: ${(error as Error).message}.`);
  });
  try {
    const found = await file.stat();
    if (!found.isFile()) throw new UserError(`${path} is not a file.`);
    const { buffer } = await file.read(Buffer.alloc(ZIP.length), 0, ZIP.length, 0);
    if (buffer.toString('latin1') === ZIP) {
      throw new UserError(`${path} is a ZIP archive: unzip it, and import the text file in it, such as DE.txt.`);
    }
    return found.size;
  } finally {
    await file.close();
  }
}

/** The first bytes of ZIP archives. */
const ZIP = 'PK\u0003\u0004';
