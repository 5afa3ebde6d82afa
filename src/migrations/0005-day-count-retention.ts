import type { Migration } from '../lib/storage/migration.ts';

/** The counts of days long over are found without looking at all the others. */
export const oldDaysGo: Migration = {
  name: '0005-old-days-go',
  up: () => ['create index day_counts_by_day on day_counts (day)'],
};
