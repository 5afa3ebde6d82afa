import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, describe, it } from 'node:test';
import { UserError } from '../lib/user-error.ts';
import { readConfig } from './config.ts';

const postgres = 'postgres://petstore:hunter2@db.example.org/petstore';

const bucket = {
  PETSTORE_PHOTOS_S3_URL: 'https://s3.example.org/photos',
  PETSTORE_PHOTOS_S3_ACCESS_KEY_ID: 'a-key',
  PETSTORE_PHOTOS_S3_SECRET_ACCESS_KEY: 'hunter2',
};

describe('readConfig', () => {
  it('has a default for every setting', () => {
    const config = readConfig({});
    assert.deepEqual(config, {
      host: '127.0.0.1',
      metricsHost: '127.0.0.1',
      ports: { production: 8080, staging: 8081, messages: 8082 },
      dataDir: resolve('data'),
      locations: {
        production: { file: resolve('data/production.db'), photos: { directory: resolve('data/photos/production') } },
        staging: { file: resolve('data/staging.db'), photos: { directory: resolve('data/photos/staging') } },
      },
      publicUrls: {},
      trustedProxies: [],
      webhookNetworks: [],
      webhookScheduleMs: [5000, 300_000, 1_800_000, 7_200_000, 18_000_000, 36_000_000, 36_000_000],
      categories: 'open',
      searchDescriptions: false,
      requireIfMatch: false,
      logLevel: 'info',
      accessLog: false,
      traces: { serviceName: 'petstore', ratio: 1 },
      views: ['petfinder', 'classic'],
      mcp: { isServed: true },
      databaseConnections: 16,
      eventsDays: 30,
      messagesDays: 365,
      auditDays: 365,
      bounds: {},
      sandbox: { pets: 5000, bytes: 64 * 2 ** 20, perMinute: 1200 },
      bodies: { total: 134_217_728, perAccount: 16_777_216 },
      pagesPerMinute: 600,
      classic: { perMinute: 600, perDay: 20_000 },
      backups: { intervalMs: 86_400_000, timeMs: 7_200_000, keep: 7 },
      stopDelayMs: 0,
    });
  });

  it('reads every setting', () => {
    const config = readConfig({
      NODE_ENV: 'test',
      PETSTORE_HOST: '::1',
      PETSTORE_PORT: '0',
      PETSTORE_STAGING_PORT: '65535',
      PETSTORE_MESSAGES_PORT: '',
      PETSTORE_METRICS_PORT: '9090',
      PETSTORE_METRICS_HOST: '10.0.0.7',
      PETSTORE_DATA_DIR: '/srv/petstore',
      PETSTORE_DATABASE_CONNECTIONS: '1000',
      PETSTORE_VALKEY_URL: 'redis://:hunter2@cache:6379/2',
      PETSTORE_PUBLIC_URL: 'https://api.example.org/shop/v1/',
      PETSTORE_STAGING_PUBLIC_URL: 'https://staging.example.org',
      PETSTORE_MESSAGES_PUBLIC_URL: 'http://messages.example.org:8000/',
      PETSTORE_TRUSTED_PROXIES: '10.0.0.0/8, ::1,192.168.1.1',
      PETSTORE_WEBHOOK_NETWORKS: '127.0.0.1, fd00::/8',
      PETSTORE_WEBHOOK_SCHEDULE: '1s, 2m,7d',
      PETSTORE_BACKUP_DIRECTORY: '/srv/backups',
      PETSTORE_BACKUP_INTERVAL: '6h',
      PETSTORE_BACKUP_TIME: '23:59',
      PETSTORE_BACKUP_KEEP: '1000',
      PETSTORE_STOP_DELAY: '20s',
      PETSTORE_LOG_LEVEL: 'warn',
      PETSTORE_ACCESS_LOG: 'true',
      PETSTORE_SEARCH_DESCRIPTIONS: 'true',
      PETSTORE_OTLP_URL: 'https://otel.example.org/tenant/v1/traces',
      PETSTORE_OTLP_HEADERS: 'Api-Key=a%2Cb%3D,x-tenant = 7',
      PETSTORE_OTLP_SERVICE_NAME: 'shop',
      PETSTORE_VIEWS: 'classic, petfinder,classic',
      PETSTORE_TRACE_RATIO: '0.05',
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
        production: { file: '/srv/petstore/production.db', photos: { directory: '/srv/petstore/photos/production' } },
        staging: { file: '/srv/petstore/staging.db', photos: { directory: '/srv/petstore/photos/staging' } },
      },
      databaseConnections: 1000,
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
      searchDescriptions: true,
      requireIfMatch: false,
      logLevel: 'warn',
      accessLog: true,
      traces: {
        url: 'https://otel.example.org/tenant',
        headers: { 'api-key': 'a,b=', 'x-tenant': '7' },
        serviceName: 'shop',
        ratio: 0.05,
      },
      views: ['petfinder', 'classic'],
      mcp: { isServed: true },
      eventsDays: 30,
      messagesDays: 365,
      auditDays: 365,
      bounds: {},
      sandbox: { pets: 5000, bytes: 64 * 2 ** 20, perMinute: 1200 },
      bodies: { total: 134_217_728, perAccount: 16_777_216 },
      pagesPerMinute: 600,
      classic: { perMinute: 600, perDay: 20_000 },
      backups: { directory: '/srv/backups', intervalMs: 21_600_000, timeMs: 86_340_000, keep: 1000 },
      stopDelayMs: 20_000,
      startAtMs: Date.UTC(2026, 10, 20, 12, 0, 0, 500),
      secretKey: Buffer.alloc(32, 7),
    });
  });

  it('treats an empty value as the default and an empty port as a disabled address', () => {
    const config = readConfig({ PETSTORE_HOST: '', PETSTORE_DATABASE_URL: ' ', PETSTORE_PORT: '' });
    assert.equal(config.host, '127.0.0.1');
    assert.deepEqual(config.ports, { staging: 8081, messages: 8082 });
    assert.ok('file' in config.locations.production);
  });

  it('puts both deployments in one PostgreSQL database or in two', () => {
    assert.deepEqual(readConfig({ PETSTORE_DATABASE_URL: postgres }).locations, {
      production: { url: postgres, photos: { directory: resolve('data/photos/production') } },
      staging: { url: postgres, schema: 'petstore_staging', photos: { directory: resolve('data/photos/staging') } },
    });
    const other = 'postgresql://db.example.org/staging';
    assert.deepEqual(readConfig({ PETSTORE_DATABASE_URL: postgres, PETSTORE_STAGING_DATABASE_URL: other }).locations, {
      production: { url: postgres, photos: { directory: resolve('data/photos/production') } },
      staging: { url: other, photos: { directory: resolve('data/photos/staging') } },
    });
  });

  it('keeps photos in a bucket, and drafts in the data directory', () => {
    const { production } = readConfig({ ...bucket, PETSTORE_PHOTOS_S3_REGION: 'eu-central-1' }).locations;
    assert.deepEqual(production.photos, {
      directory: resolve('data/photos/production'),
      bucket: {
        url: 'https://s3.example.org/photos',
        region: 'eu-central-1',
        ...{ accessKeyId: 'a-key', secretAccessKey: 'hunter2', prefix: 'production/' },
      },
    });
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
      [{ PETSTORE_BACKUP_INTERVAL: '14m' }, /^PETSTORE_BACKUP_INTERVAL must be a duration from 15m to 30d, like 6h\.$/],
      [{ PETSTORE_BACKUP_INTERVAL: '31d' }, /^PETSTORE_BACKUP_INTERVAL must/],
      [{ PETSTORE_BACKUP_TIME: '24:00' }, /^PETSTORE_BACKUP_TIME must be a time of day like 02:00\.$/],
      [{ PETSTORE_BACKUP_TIME: '2:00' }, /^PETSTORE_BACKUP_TIME must/],
      [{ PETSTORE_BACKUP_KEEP: '0' }, /^PETSTORE_BACKUP_KEEP must be a whole number from 1 to 1000\.$/],
      [
        { PETSTORE_DATABASE_CONNECTIONS: '1' },
        /^PETSTORE_DATABASE_CONNECTIONS must be a whole number from 2 to 1000\.$/,
      ],
      [{ PETSTORE_STOP_DELAY: '301s' }, /^PETSTORE_STOP_DELAY must be a duration from 0s to 5m, like 20s\.$/],
      [{ PETSTORE_STOP_DELAY: '20' }, /^PETSTORE_STOP_DELAY must/],
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
      [{ ...bucket, PETSTORE_PHOTOS_S3_URL: 's3://photos' }, /^PETSTORE_PHOTOS_S3_URL must be the URL of a bucket/],
      [{ ...bucket, PETSTORE_PHOTOS_S3_REGION: 'eu central' }, /^PETSTORE_PHOTOS_S3_REGION must be a region/],
      [{ ...bucket, PETSTORE_PHOTOS_S3_SECRET_ACCESS_KEY: 'hunter2 ü' }, /^PETSTORE_PHOTOS_S3_SECRET_ACCESS_KEY must/],
      [{ ...bucket, PETSTORE_PHOTOS_S3_ACCESS_KEY_ID: '' }, /^PETSTORE_PHOTOS_S3_URL requires an access key/],
      [{ ...bucket, PETSTORE_PHOTOS_S3_URL: '' }, /requires PETSTORE_PHOTOS_S3_URL/],
      [{ ...bucket, PETSTORE_PHOTOS_DIRECTORY: 'photos' }, /_DIRECTORY and PETSTORE_PHOTOS_S3_URL are both set/],
      [{ PETSTORE_OTLP_URL: '127.0.0.1:4318' }, /^PETSTORE_OTLP_URL must be a URL like http:/],
      [{ PETSTORE_OTLP_URL: 'http://u:hunter2@otel' }, /^PETSTORE_OTLP_URL must/],
      [{ PETSTORE_OTLP_HEADERS: 'api-key=hunter2' }, /^PETSTORE_OTLP_HEADERS requires PETSTORE_OTLP_URL/],
      ...['hunter2', 'a=b,,c=hunter2', 'a b=hunter2', 'a=hunter2%', 'a=hunter2%0d%0ab', 'a=hunter2%00'].map(
        (headers): [Record<string, string>, RegExp] => [
          { PETSTORE_OTLP_URL: 'http://otel:4318', PETSTORE_OTLP_HEADERS: headers },
          /^PETSTORE_OTLP_HEADERS must be a list like api-key=secret/,
        ],
      ),
      ...['2', '-1', '1.1', '50%', 'all', '1e-3'].map((ratio): [Record<string, string>, RegExp] => [
        { PETSTORE_TRACE_RATIO: ratio },
        /^PETSTORE_TRACE_RATIO must be a number from 0 to 1, like 0\.1\.$/,
      ]),
      [
        { PETSTORE_VIEWS: 'petfinder,mcp' },
        /^PETSTORE_VIEWS must be a list of petfinder and classic, separated by commas/,
      ],
      [{ PETSTORE_OTLP_SERVICE_NAME: 'x'.repeat(101) }, /^PETSTORE_OTLP_SERVICE_NAME must be up to 100 characters/],
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

  it('rejects a directory for backups that is in the data directory', () => {
    const withDirectory = (directory: string) =>
      readConfig({ PETSTORE_DATA_DIR: '/srv/data', PETSTORE_BACKUP_DIRECTORY: directory });
    for (const directory of ['/srv/data', '/srv/data/backups', '/srv/x/../data/..b']) {
      const message =
        /^PETSTORE_BACKUP_DIRECTORY is in the data directory, \/srv\/data: choose a directory outside of it/;
      assert.throws(() => withDirectory(directory), { name: 'UserError', message });
    }
    for (const directory of ['/srv', '/srv/data2', '/srv/data/../backups']) withDirectory(directory);
  });

  it('accepts the variables of `petstore listen`', () => {
    readConfig({ PETSTORE_API_KEY: 'a', PETSTORE_API_KEY_FILE: '/x', PETSTORE_WEBHOOK_SECRET: 'b' });
  });

  it('rejects unknown PETSTORE_ variables, and names the nearest setting', () => {
    const unknown: [Record<string, string>, RegExp][] = [
      [{ PETSTORE_PROT: '1' }, /^There is no setting PETSTORE_PROT; did you mean PETSTORE_PORT\? /],
      [{ PETSTORE_SECRETKEY_FILE: '/x' }, /^There is no .*; did you mean PETSTORE_SECRET_KEY_FILE\? /],
      [
        { PETSTORE_PORT_FILE: '/x' },
        /^There is no setting PETSTORE_PORT_FILE: PETSTORE_PORT is not a secret, so it is not read from a file\. Set PETSTORE_PORT\. /,
      ],
      [{ PETSTORE_COLOUR_OF_THE_LOGO: '1' }, /^There is no setting PETSTORE_COLOUR_OF_THE_LOGO\. /],
    ];
    for (const [environment, sentence] of unknown) {
      assert.throws(() => readConfig(environment), { name: 'UserError', message: sentence });
    }
    readConfig({ PETSTORE_TEST_LONG: '1', OTHER: '1' });
  });
});

describe('secret settings', () => {
  const directory = mkdtempSync(join(tmpdir(), 'petstore-secrets-'));
  after(() => rmSync(directory, { recursive: true }));
  const file = (name: string, content: string) => {
    writeFileSync(join(directory, name), content);
    return join(directory, name);
  };

  it('can be in files', () => {
    const key = Buffer.alloc(32, 7);
    const config = readConfig({
      PETSTORE_SECRET_KEY_FILE: file('key', `${key.toString('base64')}\n`),
      PETSTORE_DATABASE_URL_FILE: file('database', `${postgres}\n`),
      PETSTORE_STAGING_DATABASE_URL_FILE: file('staging', 'postgres://staging'),
      PETSTORE_VALKEY_URL_FILE: file('valkey', 'redis://cache'),
      PETSTORE_SMTP_URL_FILE: file('mail', 'smtp://mail'),
      PETSTORE_MAIL_FROM: 'store@example.org',
    });
    assert.deepEqual(config.secretKey, key);
    assert.deepEqual(config.locations, {
      production: { url: postgres, photos: { directory: resolve('data/photos/production') } },
      staging: { url: 'postgres://staging', photos: { directory: resolve('data/photos/staging') } },
    });
    assert.equal(config.valkeyUrl, 'redis://cache');
    assert.equal(config.mail?.url, 'smtp://mail');
  });

  it('reject files that are unreadable, empty or invalid, and two values, without showing a secret', () => {
    const wrong: [Record<string, string>, RegExp][] = [
      [
        { PETSTORE_SECRET_KEY_FILE: '/nowhere' },
        /^PETSTORE_SECRET_KEY_FILE names \/nowhere, which cannot be read \(ENOENT\)\.$/,
      ],
      [{ PETSTORE_SECRET_KEY_FILE: directory }, /cannot be read \(EISDIR\)\.$/],
      [{ PETSTORE_VALKEY_URL_FILE: file('empty', '\n') }, /^PETSTORE_VALKEY_URL_FILE names .*, which is empty\.$/],
      [{ PETSTORE_SECRET_KEY_FILE: file('wrong', 'hunter2') }, /^PETSTORE_SECRET_KEY must be 32 random bytes/],
      [
        { PETSTORE_SECRET_KEY: 'hunter2', PETSTORE_SECRET_KEY_FILE: file('other', 'hunter2') },
        /^PETSTORE_SECRET_KEY and PETSTORE_SECRET_KEY_FILE are both set; remove one of them\.$/,
      ],
    ];
    for (const [environment, sentence] of wrong) {
      assert.throws(() => readConfig(environment), { name: 'UserError', message: sentence });
    }
  });
});
