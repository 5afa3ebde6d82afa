import assert from 'node:assert/strict';
import { resolve } from 'node:path';
import { describe, it } from 'node:test';
import { readConfig } from './config.ts';
import { UserError } from './lib/user-error.ts';

const postgres = 'postgres://petstore:hunter2@db.example.org/petstore';

describe('readConfig', () => {
  it('has a default for every setting', () => {
    const { config, warnings } = readConfig({});
    assert.deepEqual(config, {
      host: '127.0.0.1',
      metricsHost: '127.0.0.1',
      ports: { production: 8080, staging: 8081, messages: 8082 },
      dataDir: resolve('data'),
      locations: {
        production: { file: resolve('data/production.db') },
        staging: { file: resolve('data/staging.db') },
      },
      publicUrls: {},
      trustedProxies: [],
      webhookNetworks: [],
      webhookScheduleMs: [5000, 300_000, 1_800_000, 7_200_000, 18_000_000, 36_000_000, 36_000_000],
      categories: 'open',
      requireIfMatch: false,
      eventsDays: 30,
      messagesDays: 365,
      auditDays: 365,
      bounds: {},
      bodies: { total: 134_217_728, perAccount: 16_777_216 },
    });
    assert.deepEqual(warnings, []);
  });

  it('reads every setting', () => {
    const { config } = readConfig({
      NODE_ENV: 'test',
      PETSTORE_HOST: '::1',
      PETSTORE_PORT: '0',
      PETSTORE_STAGING_PORT: '65535',
      PETSTORE_MESSAGES_PORT: '',
      PETSTORE_METRICS_PORT: '9090',
      PETSTORE_METRICS_HOST: '10.0.0.7',
      PETSTORE_DATA_DIR: '/srv/petstore',
      PETSTORE_VALKEY_URL: 'redis://:hunter2@cache:6379/2',
      PETSTORE_PUBLIC_URL: 'https://api.example.org/shop/v1/',
      PETSTORE_STAGING_PUBLIC_URL: 'https://staging.example.org',
      PETSTORE_MESSAGES_PUBLIC_URL: 'http://messages.example.org:8000/',
      PETSTORE_TRUSTED_PROXIES: '10.0.0.0/8, ::1,192.168.1.1',
      PETSTORE_WEBHOOK_NETWORKS: '127.0.0.1, fd00::/8',
      PETSTORE_WEBHOOK_SCHEDULE: '1s, 2m,7d',
      PETSTORE_CATEGORIES: 'strict',
      PETSTORE_NOW: '2026-11-20T12:00:00.5Z',
      PETSTORE_SECRET_KEY: Buffer.alloc(32, 7).toString('base64'),
    });
    assert.deepEqual(config, {
      host: '::1',
      ports: { production: 0, staging: 65535 },
      metricsPort: 9090,
      metricsHost: '10.0.0.7',
      dataDir: '/srv/petstore',
      locations: {
        production: { file: '/srv/petstore/production.db' },
        staging: { file: '/srv/petstore/staging.db' },
      },
      valkeyUrl: 'redis://:hunter2@cache:6379/2',
      publicUrls: {
        production: 'https://api.example.org/shop',
        staging: 'https://staging.example.org',
        messages: 'http://messages.example.org:8000',
      },
      trustedProxies: ['10.0.0.0/8', '::1', '192.168.1.1'],
      webhookNetworks: ['127.0.0.1', 'fd00::/8'],
      webhookScheduleMs: [1000, 120_000, 604_800_000],
      categories: 'strict',
      requireIfMatch: false,
      eventsDays: 30,
      messagesDays: 365,
      auditDays: 365,
      bounds: {},
      bodies: { total: 134_217_728, perAccount: 16_777_216 },
      startAtMs: Date.UTC(2026, 10, 20, 12, 0, 0, 500),
      secretKey: Buffer.alloc(32, 7),
    });
  });

  it('treats an empty value as the default and an empty port as a disabled address', () => {
    const { config } = readConfig({ PETSTORE_HOST: '', PETSTORE_DATABASE_URL: ' ', PETSTORE_PORT: '' });
    assert.equal(config.host, '127.0.0.1');
    assert.deepEqual(config.ports, { staging: 8081, messages: 8082 });
    assert.ok('file' in config.locations.production);
  });

  it('puts both deployments in one PostgreSQL database or in two', () => {
    assert.deepEqual(readConfig({ PETSTORE_DATABASE_URL: postgres }).config.locations, {
      production: { url: postgres },
      staging: { url: postgres, schema: 'petstore_staging' },
    });
    const other = 'postgresql://db.example.org/staging';
    assert.deepEqual(
      readConfig({ PETSTORE_DATABASE_URL: postgres, PETSTORE_STAGING_DATABASE_URL: other }).config.locations,
      { production: { url: postgres }, staging: { url: other } },
    );
  });

  it('rejects an invalid value in one sentence that names the setting and hides secrets', () => {
    const wrong: [Record<string, string>, RegExp][] = [
      [{ PETSTORE_HOST: 'not a host' }, /^PETSTORE_HOST must be an IP address or a host name\.$/],
      [{ PETSTORE_PORT: '65536' }, /^PETSTORE_PORT must be a port from 0 to 65535\.$/],
      [{ PETSTORE_STAGING_PORT: '-1' }, /^PETSTORE_STAGING_PORT must/],
      [{ PETSTORE_MESSAGES_PORT: '80a' }, /^PETSTORE_MESSAGES_PORT must/],
      [{ PETSTORE_METRICS_PORT: '1.5' }, /^PETSTORE_METRICS_PORT must/],
      [{ PETSTORE_PORT: '8081' }, /^PETSTORE_PORT and PETSTORE_STAGING_PORT are both 8081; change one/],
      [{ PETSTORE_METRICS_PORT: '8082' }, /^PETSTORE_MESSAGES_PORT and PETSTORE_METRICS_PORT are both 8082/],
      [{ PETSTORE_WEBHOOK_SCHEDULE: '5s,0s' }, /^PETSTORE_WEBHOOK_SCHEDULE must be up to 50 durations/],
      [{ PETSTORE_WEBHOOK_SCHEDULE: '5s,,5m' }, /^PETSTORE_WEBHOOK_SCHEDULE must/],
      [{ PETSTORE_WEBHOOK_SCHEDULE: '8d' }, /^PETSTORE_WEBHOOK_SCHEDULE must/],
      [{ PETSTORE_DATA_DIR: 'a\0b' }, /^PETSTORE_DATA_DIR must/],
      [{ PETSTORE_DATABASE_URL: 'mysql://u:hunter2@h/db' }, /^PETSTORE_DATABASE_URL must be a URL like postgres:/],
      [{ PETSTORE_DATABASE_URL: 'postgres://u:hunter2@h:99999/db' }, /^PETSTORE_DATABASE_URL must/],
      [{ PETSTORE_STAGING_DATABASE_URL: 'hunter2' }, /^PETSTORE_STAGING_DATABASE_URL must/],
      [{ PETSTORE_STAGING_DATABASE_URL: postgres }, /^PETSTORE_STAGING_DATABASE_URL requires PETSTORE_DATABASE_URL/],
      [
        { PETSTORE_DATABASE_URL: postgres, PETSTORE_STAGING_DATABASE_URL: postgres.replace('petstore:', 'other:') },
        /^PETSTORE_STAGING_DATABASE_URL must name a different database/,
      ],
      [{ PETSTORE_VALKEY_URL: 'http://:hunter2@cache' }, /^PETSTORE_VALKEY_URL must be a URL like redis:/],
      [{ PETSTORE_PUBLIC_URL: 'api.example.org' }, /^PETSTORE_PUBLIC_URL must be a URL like https:/],
      [{ PETSTORE_STAGING_PUBLIC_URL: 'https://u:hunter2@api.example.org' }, /^PETSTORE_STAGING_PUBLIC_URL must/],
      [{ PETSTORE_MESSAGES_PUBLIC_URL: 'https://api.example.org?a=1' }, /^PETSTORE_MESSAGES_PUBLIC_URL must/],
      [{ PETSTORE_TRUSTED_PROXIES: '10.0.0.0/33' }, /^PETSTORE_TRUSTED_PROXIES must/],
      [{ PETSTORE_TRUSTED_PROXIES: '10.0.0.0/8,,' }, /^PETSTORE_TRUSTED_PROXIES must/],
      [{ PETSTORE_TRUSTED_PROXIES: 'localhost' }, /^PETSTORE_TRUSTED_PROXIES must/],
      [{ PETSTORE_WEBHOOK_NETWORKS: 'localhost' }, /^PETSTORE_WEBHOOK_NETWORKS must be IP addresses or networks/],
      [{ PETSTORE_WEBHOOK_NETWORKS: 'fe80::1%eth0' }, /^PETSTORE_WEBHOOK_NETWORKS must/],
      [{ PETSTORE_CATEGORIES: 'Strict' }, /^PETSTORE_CATEGORIES must be open or strict\.$/],
      [{ PETSTORE_NOW: '2026-11-20T12:00:00Z' }, /^PETSTORE_NOW is for tests/],
      [{ PETSTORE_NOW: '2026-11-20T12:00:00Z', NODE_ENV: 'production' }, /^PETSTORE_NOW is for tests/],
      [{ PETSTORE_NOW: '2026-11-20', NODE_ENV: 'test' }, /^PETSTORE_NOW must be an RFC 3339 time in UTC/],
      [{ PETSTORE_NOW: '2026-11-20T12:00:00+01:00', NODE_ENV: 'test' }, /^PETSTORE_NOW must/],
      [{ PETSTORE_NOW: '2026-02-30T12:00:00Z', NODE_ENV: 'test' }, /^PETSTORE_NOW must/],
      [{ PETSTORE_SECRET_KEY: 'hunter2' }, /^PETSTORE_SECRET_KEY must be 32 random bytes/],
    ];
    for (const [environment, sentence] of wrong) {
      assert.throws(
        () => readConfig(environment),
        error => {
          assert.ok(error instanceof UserError);
          assert.match(error.message, sentence);
          assert.doesNotMatch(error.message, /hunter2|\n/);
          return true;
        },
        JSON.stringify(environment),
      );
    }
  });

  it('warns about unknown PETSTORE_ variables', () => {
    const { warnings } = readConfig({ PETSTORE_PROT: '1', PETSTORE_TEST_LONG: '1', OTHER: '1' });
    assert.equal(warnings.length, 1);
    assert.match(warnings[0]!, /Unknown setting PETSTORE_PROT;/);
  });
});
