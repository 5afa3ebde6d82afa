/** The pages whose `sh` blocks run one after the other against a new server, with the settings that each needs. */
export const executedPages: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'docs/authentication.md': {},
  'docs/requests.md': {},
  'docs/pagination.md': {},
  'docs/rate-limits.md': {},
  'docs/account.md': {},
  'docs/audit.md': {},
  'docs/error-handling.md': {},
  'docs/idempotency.md': {},
  'docs/concurrency.md': {},
  'docs/pets.md': {},
  'docs/categories.md': {},
  'docs/holds.md': {},
  'docs/orders.md': {},
  'docs/sync.md': {},
  'docs/events.md': {},
  'docs/deployments.md': {},
  'docs/versioning.md': {},
  'docs/operating/install.md': {},
  'docs/operating/configuration.md': {},
  'docs/operating/administration.md': {},
  'docs/operating/webhooks.md': {},
  'docs/operating/upgrade.md': {},
  'docs/operating/monitoring.md': { PETSTORE_METRICS_PORT: '0' },
  'docs/operating/troubleshooting.md': {},
};

/** The pages whose `sh` blocks have a test of their own. */
export const testedElsewhere: readonly string[] = [
  'README.md',
  'docs/quickstart.md',
  'docs/tutorial.md',
  'docs/messages.md',
  'docs/receive-webhooks.md',
  'docs/webhooks.md',
  'docs/operating/backup.md',
  'docs/operating/postgresql.md',
];
