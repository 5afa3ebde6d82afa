import type { Migration } from '../../lib/storage/migration.ts';

/** Adds the origin of changes to the event log, and refused requests. No index on events: it would slow every change. */
export const audit: Migration = {
  name: '0014-audit',
  work: { title: 'adds the origin of events', table: 'events', rowUs: { sqlite: 0.5, postgres: 0 } },
  up: ({ id, int, text, end }) => [
    `alter table events add column origin ${text}`,
    `alter table events add column audit_account_id ${int}`,
    // Events of earlier releases have no origin to erase.
    `insert into facts (name, value)
       select 'origins-erased', cast(max(id) as text) from events having count(*) > 0`,

    `create table refusals (
       id ${id}, account_id ${int} not null, key_id ${text} not null, code ${text} not null, day ${int} not null,
       requests ${int} not null, last_at ${int} not null, last_request_id ${text} not null, last_address ${text} not null
     ) ${end}`,
    'create unique index refusals_by_key on refusals (key_id, day, code)',
    'create index refusals_by_account on refusals (account_id, id)',
    'create index refusals_by_day on refusals (day)',
  ],
};
