import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Problem } from '../lib/http/problem.ts';
import { PasswordHasher } from './password-hasher.ts';

describe('PasswordHasher', () => {
  it('verifies its hashes, in every Unicode form of a password, and no other password', async () => {
    const passwords = new PasswordHasher();
    const stored = await passwords.hash('caf\u00e9 au lait');
    assert.match(stored, /^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
    assert.equal(await passwords.verify('cafe\u0301 au lait', stored), true);
    assert.equal(await passwords.verify('cafe au lait', stored), false);
    assert.equal(await passwords.verify('caf\u00e9 au lait', undefined), false);
  });

  it('rejects with 503 and Retry-After what would wait behind twenty others, and works again afterwards', async () => {
    const passwords = new PasswordHasher();
    const results = await Promise.allSettled(Array.from({ length: 24 }, () => passwords.verify('x', undefined)));
    const rejected = results.filter(result => result.status === 'rejected');
    assert.equal(rejected.length, 4);
    for (const { reason } of rejected) {
      assert.ok(reason instanceof Problem);
      assert.deepEqual([reason.status, reason.headers], [503, ['Retry-After', '3']]);
    }
    assert.equal(await passwords.verify('x', undefined), false);
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
    await Promise.all(Array.from({ length: 5 }, () => computed.hash('x')));
    assert.equal(most, 1);
    // The real one is the default.
    assert.notEqual(await passwords.hash('x'), await passwords.hash('x'));
  });
});
