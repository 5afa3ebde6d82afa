import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { newToken } from '../../src/access/keys/token.ts';
import { long } from '../support/selection.ts';
import { dial, newProcessKey, parseReplies, spawnService } from '../support/serving.ts';

const CONNECTIONS = 64;
const REQUESTS = long ? 400_000 : 160_000;
const WRONG_KEYS = 3000;
const ADDRESSES = 20_000;
/** What the second half may add to the first, in which every address and key has come once: when the heap is swept. */
const GROWTH_MIB = 64;
const MIB = 2 ** 20;

const without = process.platform === 'linux' ? false : 'left out: resident memory is read from /proc';

describe('memory', { skip: without }, () => {
  it(`is steady over ${REQUESTS} requests of all kinds, invalid keys and forwarded addresses`, async t => {
    const service = await spawnService({ environment: { PETSTORE_TRUSTED_PROXIES: '127.0.0.0/8' } });
    t.after(async () => {
      await service.stop('SIGKILL');
      await service.remove();
    });
    const key = await newProcessKey(service);
    const wrong = Array.from({ length: WRONG_KEYS }, () => newToken('production').token);
    const { pathname, origin } = new URL(`${service.urls.production}/pets`);
    const statuses: Record<number, number> = {};
    let sent = 0;
    const request = () => {
      const n = sent++;
      const address = (n >> 2) % ADDRESSES;
      const from = `X-Forwarded-For: 10.0.${address >> 8}.${address & 255}\r\n`;
      const head = (method: string, path: string, token: string, more = '') =>
        `${method} ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n${from}${more}\r\n`;
      const body = (text: string) => `Content-Type: application/json\r\nContent-Length: ${text.length}\r\n\r\n${text}`;
      switch (n % 8) {
        case 0:
          return head('POST', pathname, key, body('{"name":"Minka","categoryId":2}')).slice(0, -2);
        case 1:
          return head('GET', `${pathname}/${1 + (n % 2000)}`, key);
        case 2:
          return head('GET', `${pathname}?limit=${1 + (n % 100)}`, key);
        case 3:
        case 7:
          return head('GET', pathname, wrong[(n >> 2) % WRONG_KEYS]!);
        case 4:
          return head('POST', pathname, key, body(`{"name":"","n":${n}}`)).slice(0, -2);
        case 5:
          return head('GET', `${pathname}?cursor=${n}&status=${n}`, key);
        default:
          return head(n % 16 === 6 ? 'GET' : 'DELETE', `${pathname}/none/${n}`, key);
      }
    };
    const upTo = async (count: number) => {
      const line = async () => {
        const socket = dial(origin);
        let bytes: Buffer<ArrayBufferLike> = Buffer.alloc(0);
        let heard = () => {};
        socket.on('data', (part: Buffer) => {
          bytes = Buffer.concat([bytes, part]);
          heard();
        });
        while (sent < count) {
          socket.write(request(), 'latin1');
          for (;;) {
            const { replies, rest } = parseReplies(bytes);
            if (replies.length > 0) {
              const { status } = replies[0]!;
              statuses[status] = (statuses[status] ?? 0) + 1;
              bytes = Buffer.from(rest, 'latin1');
              break;
            }
            await new Promise<void>(resolve => {
              heard = resolve;
            });
          }
        }
        socket.destroy();
      };
      await Promise.all(Array.from({ length: CONNECTIONS }, line));
    };
    const marks: number[] = [];
    for (let quarter = 1; quarter <= 4; quarter++) {
      await upTo((REQUESTS / 4) * quarter);
      marks.push(resident(service.child.pid!));
    }
    t.diagnostic(`${marks.map(mark => Math.round(mark / MIB)).join(', ')} MiB; ${JSON.stringify(statuses)}`);
    assert.deepEqual(
      Object.keys(statuses),
      ['200', '201', '400', '401', '404', '429'].filter(s => s in statuses),
    );
    for (const status of [200, 201, 400, 401, 404]) assert.ok(statuses[status]! > 0, `${status} among the answers`);
    assert.ok(marks[3]! - marks[1]! < GROWTH_MIB * MIB, `${marks.map(mark => Math.round(mark / MIB)).join(', ')} MiB`);
    assert.equal((await service.stop()).code, 0);
  });
});

function resident(pid: number): number {
  return Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) * 1024;
}
