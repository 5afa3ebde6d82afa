import type { Migration } from '../lib/storage/migration.ts';

/** Adds the resources whose events are to be deleted, and the number of events that were. */
export const eventDeletions: Migration = {
  name: '0038-event-deletions',
  up: ({ id, int, text, end }) => [
    `create table event_deletions (
       id ${id}, kind ${text} not null, subject_id ${int} not null, keeps ${text}, due_at ${int} not null
     ) ${end}`,
    'create index event_deletions_by_time on event_deletions (due_at)',
    'create index event_deletions_by_subject on event_deletions (kind, subject_id)',
    `insert into facts (name, value) values ('deleted events', '0')`,
  ],
};
