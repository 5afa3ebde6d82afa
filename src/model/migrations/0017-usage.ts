import type { Migration } from '../../lib/storage/migration.ts';

/** Adds the usage of accounts by hour, their request log, and the alerts that were sent. */
export const usage: Migration = {
  name: '0017-usage',
  up: ({ id, int, text, end }) => [
    `create table usage (
       account_id ${int} not null, deployment ${text} not null, hour ${int} not null, key_id ${text} not null,
       succeeded ${int} not null, client_errors ${int} not null, rate_limited ${int} not null, banned ${int} not null,
       server_errors ${int} not null, unlogged ${int} not null,
       primary key (account_id, deployment, hour, key_id)
     ) ${end}`,
    'create index usage_by_hour on usage (hour)',

    `create table requests (
       id ${id}, account_id ${int} not null, deployment ${text} not null, key_id ${text} not null,
       request_id ${text} not null, at ${int} not null, method ${text} not null, path ${text}, operation ${text},
       status ${int} not null, code ${text}, duration_us ${int} not null
     ) ${end}`,
    'create index requests_by_account on requests (account_id, id)',

    `create table usage_alerts (
       account_id ${int} not null, deployment ${text} not null, day ${int} not null, threshold ${int} not null,
       primary key (account_id, deployment, day, threshold)
     ) ${end}`,
    'create index usage_alerts_by_day on usage_alerts (day)',
  ],
};
