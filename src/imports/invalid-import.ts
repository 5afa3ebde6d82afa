import { problem } from '../errors.ts';

/** The longest row of a file, in characters. */
export const RECORD_MAX = 1024 * 1024;

/** Creates the error for a file whose rows cannot be told apart. */
export function invalidImport(line: number, message: string) {
  return problem('invalid_import', `Line ${line}: ${message} Nothing was imported.`);
}
