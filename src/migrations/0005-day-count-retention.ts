import type { Migration } from '../lib/storage/migration.ts';

/** Indexes day counts by day, for retention. */
export const dayCountRetention: Migration = {
  name: '0005-old-days-go',
  up: () => ['create index day_counts_by_day on day_counts (day)'],
};
