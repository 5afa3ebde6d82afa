import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Problem } from '../../lib/http/problem.ts';
import { PasswordHasher } from './password-hasher.ts';

const HOME = '192.0.2.1';

describe('PasswordHasher', () => {
  it('verifies its hashes, in every Unicode form of a password, and no other password', async () => {
    const passwords = new PasswordHasher();
    const stored = await passwords.hash('caf\u00e9 au lait', HOME);
    assert.match(stored, /^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
    assert.equal(await passwords.verify('cafe\u0301 au lait', stored, HOME), true);
    assert.equal(await passwords.verify('cafe au lait', stored, HOME), false);
    assert.equal(await passwords.verify('caf\u00e9 au lait', undefined, HOME), false);
  });

  it('rejects passwords beyond twenty waiting ones with 503 and Retry-After, and recovers', async () => {
    const passwords = new PasswordHasher();
    const hashes = Array.from({ length: 24 }, (_, i) => passwords.verify('x', undefined, `192.0.2.${i}`));
    const results = await Promise.allSettled(hashes);
    const rejected = results.filter(result => result.status === 'rejected');
    assert.equal(rejected.length, 4);
    for (const { reason } of rejected) {
      assert.ok(reason instanceof Problem);
      assert.deepEqual([reason.status, reason.headers], [503, ['Retry-After', '3']]);
    }
    assert.equal(await passwords.verify('x', undefined, HOME), false);
  });

  it('prevents one network from filling the queue or delaying others', async () => {
    const done: string[] = [];
    const passwords = new PasswordHasher(async (_, { message }) => {
      await new Promise(resolve => setImmediate(resolve));
      done.push(String(message));
      return Buffer.alloc(32);
    });
    const flood = Promise.allSettled(
      Array.from({ length: 30 }, () => passwords.verify('flood', undefined, '198.51.100.1')),
    );
    const others = ['203.0.113.1', '203.0.113.2'].map(network => passwords.verify(network, undefined, network));
    await Promise.all(others);
    assert.deepEqual(done.slice(0, 3), ['flood', '203.0.113.1', '203.0.113.2']);
    assert.equal((await flood).filter(({ status }) => status === 'fulfilled').length, 10, 'half of the queue');
  });

  it('computes one hash at a time, so that they end one after the other', async () => {
    const passwords = new PasswordHasher();
    let [running, most] = [0, 0];
    const computed = new PasswordHasher(async () => {
      most = Math.max(most, ++running);
      await new Promise(resolve => setImmediate(resolve));
      running--;
      return Buffer.alloc(32);
    });
    await Promise.all(Array.from({ length: 5 }, () => computed.hash('x', HOME)));
    assert.equal(most, 1);
    // By default, real hashes are computed.
    assert.notEqual(await passwords.hash('x', HOME), await passwords.hash('x', HOME));
  });
});
