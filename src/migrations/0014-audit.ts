import type { Migration } from '../lib/storage/migration.ts';

/** Adds the origin of changes to the event log, and the index of the audit log of an account. */
export const audit: Migration = {
  name: '0014-audit',
  up: ({ int, text }) => [
    `alter table events add column origin ${text}`,
    `alter table events add column audit_account_id ${int}`,
    'create index events_audited on events (audit_account_id, id) where audit_account_id is not null',
  ],
};
