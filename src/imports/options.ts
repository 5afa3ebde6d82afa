import type { ExportPreset } from '../exports/presets.ts';
import type { RequestOrigin } from '../lib/origin.ts';
import type { ImportFormat } from './records.ts';

/** The settings of an import. */
export interface ImportOptions {
  readonly accountId: number;
  readonly plan: string;
  readonly origin: RequestOrigin;
  readonly mode: 'upsert' | 'replace';
  readonly preset: ExportPreset;
  readonly format: ImportFormat;
  readonly dryRun: boolean;
  readonly confirmRemovals: number | undefined;
  readonly currency: string | undefined;
  /** The most bytes that the account stores. */
  readonly storedMax: number;
}
