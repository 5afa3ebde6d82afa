import type { BoundSettings } from '../../model/plan.ts';
import type { Transaction } from '../../model/schema.ts';
import { speciesIn } from '../exports/export-pets.ts';
import type { ExportPreset } from '../exports/presets.ts';
import type { KnownValues } from '../profile/attributes.ts';
import { type FileHeader, headerOf } from './columns.ts';
import type { ImportError, RowError } from './errors.ts';
import type { ImportRow } from './import.ts';

/** The maximum number of rows of a chunk, which one transaction applies. */
export const CHUNK_ROWS = 25;

/** The settings of a deployment that rows depend on. */
export interface ImportRules {
  /** Whether unknown categories are created. */
  readonly categories: 'open' | 'strict';
  readonly bounds: BoundSettings;
  /** The networks that URLs of photos may be in, in addition to the public internet. */
  readonly webhookNetworks?: readonly string[] | undefined;
}

/** The rows of an import that one transaction applies, and their results. */
export class Chunk {
  readonly tx: Transaction;
  readonly row: ImportRow;
  readonly rules: ImportRules;
  readonly header: FileHeader;
  readonly counts = {
    created: 0,
    updated: 0,
    unchanged: 0,
    failed: 0,
    warnings: 0,
    photos_wanted: 0,
    photos_failed: 0,
  };
  readonly errors: ImportError[] = [];
  /** The categories of rows of a dry run that did not exist before their rows. */
  readonly unknownCategories = new Set<number>();
  /** Returns the name of the root of a category. */
  readonly speciesOf: (categoryId: number) => Promise<string>;
  /** The known values of the categories that rows have used. */
  readonly knownValues = new Map<number, KnownValues | undefined>();
  /** The columns and values that have a warning, once they are read. */
  warned: Set<string> | undefined;

  constructor(tx: Transaction, row: ImportRow, rules: ImportRules) {
    this.tx = tx;
    this.row = row;
    this.rules = rules;
    this.speciesOf = speciesIn(tx);
    this.header = headerOf(row.preset as ExportPreset, JSON.parse(row.columns ?? '[]'));
  }

  /** Returns one of the counts of the import, with the rows of this chunk. */
  countOf(name: keyof Chunk['counts']): number {
    return this.row[name] + this.counts[name];
  }

  /** Adds an error, or a warning, of the row that begins in a line. */
  report(level: ImportError['level'], line: number, error: RowError): void {
    this.errors.push({ level, line, ...error });
  }
}
