import type { Migration } from '../../lib/storage/migration.ts';

/** Adds the documents of the classic Swagger Petstore, and the sandboxes that contain them. */
export const classicSandboxes: Migration = {
  name: '0052-classic-sandboxes',
  up: ({ int, text, end }) => [
    `create table classic_sandboxes (
       name ${text} not null primary key, network ${text}, bytes ${int} not null, expires_at ${int} not null
     ) ${end}`,
    'create index classic_sandboxes_by_expiry on classic_sandboxes (expires_at)',
    `create index classic_sandboxes_by_network on classic_sandboxes (network, expires_at, bytes)
     where network is not null`,
    `create table classic_documents (
       sandbox ${text} not null, kind ${text} not null, id ${text} not null, document ${text} not null,
       bytes ${int} not null, expires_at ${int} not null, primary key (sandbox, kind, id)
     ) ${end}`,
    'create index classic_documents_by_expiry on classic_documents (expires_at)',
    'create index classic_documents_by_sandbox on classic_documents (sandbox, expires_at, bytes)',
  ],
};
