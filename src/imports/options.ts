import type { ExportPreset } from '../exports/presets.ts';
import type { DateOrder } from '../exports/read-cells.ts';
import type { Origin } from '../lib/origin.ts';
import type { ImportFormat } from './records.ts';

/** The settings of an import. */
export interface ImportOptions {
  readonly accountId: number;
  readonly plan: string;
  readonly origin: Origin;
  readonly mode: 'upsert' | 'replace';
  readonly preset: ExportPreset;
  readonly format: ImportFormat;
  readonly dryRun: boolean;
  /** Whether the file of a dry run is kept for a while, so that `importPreviewed` can import it. */
  readonly keepsFile?: true;
  readonly confirmRemovals: number | undefined;
  readonly currency: string | undefined;
  /** The order of dates; without it, that which the dates of the file leave no doubt about. */
  readonly dates?: DateOrder | undefined;
  /** The most bytes that the account stores. */
  readonly storedMax: number;
}
