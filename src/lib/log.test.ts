import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type LogLevel, openLog } from './log.ts';

const secret = 'KhGPxzx0qLXmV9sNanzCWUEu8JDnEB6h54Q973M';
const token = `petstore_live_wI82RROb5xA2_${secret}`;

function written(write: (log: ReturnType<typeof openLog>) => void, level?: LogLevel): string[] {
  const lines: string[] = [];
  write(openLog({ level, destination: { write: line => lines.push(line) } }));
  return lines;
}

describe('openLog', () => {
  it('writes one JSON object per line with time, level and message', () => {
    const lines = written(log => {
      log.info('one');
      log.warn({ port: 8080 }, 'two');
      log.error({ err: new Error('broken') }, 'three');
    });
    const parsed = lines.map(line => JSON.parse(line));
    assert.deepEqual(
      parsed.map(({ level, msg }) => [level, msg]),
      [
        ['info', 'one'],
        ['warn', 'two'],
        ['error', 'three'],
      ],
    );
    assert.equal(parsed[1].port, 8080);
    assert.equal(parsed[2].err.message, 'broken');
    for (const { time } of parsed) assert.ok(!Number.isNaN(Date.parse(time)));
  });

  it('leaves out lines that are less severe than its level', () => {
    const log = (log: ReturnType<typeof openLog>) => {
      log.info('one');
      log.warn('two');
      log.error({}, 'three');
    };
    assert.deepEqual(
      (['info', 'warn', 'error'] as const).map(level => written(log, level).length),
      [3, 2, 1],
    );
  });

  it('redacts secrets anywhere in a line', () => {
    const lines = written(log => {
      log.info(`a key: ${token}`);
      log.info({ url: `/v1/pets?key=${token}`, deep: { er: [token, { [token]: token }] } }, 'fields');
      log.error({ err: new Error(`bad ${token}`, { cause: new Error(token) }) }, token);
      log.info({ headers: { authorization: `Basic ${secret}`, Authorization: `Bearer ${secret}` } }, 'headers');
      log.info({ header: `Bearer  ${secret}` }, `bearer ${secret}`);
      log.info({ url: `postgres://petstore:${secret}@db/petstore` }, `redis://:${secret}@cache:6379`);
      log.info(`cut ${token.slice(0, -3)} and joined ${token}${token}`);
    });
    for (const line of lines) {
      assert.ok(!line.includes(secret.slice(0, 10)), line);
      assert.doesNotThrow(() => JSON.parse(line));
    }
    assert.match(lines[0]!, /petstore_live_wI82RROb5xA2_\[redacted\]/);
  });
});
