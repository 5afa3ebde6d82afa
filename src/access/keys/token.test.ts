import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { crc32 } from 'node:zlib';
import fc from 'fast-check';
import { hashToken, matchesHash, newToken, parseToken } from './token.ts';

describe('newToken', () => {
  it('includes the deployment and is selected by a double click', () => {
    assert.match(newToken('production').token, /^petstore_live_[0-9A-Za-z]{12}_[0-9A-Za-z]{39}$/);
    assert.match(newToken('staging').token, /^petstore_test_[0-9A-Za-z]{12}_[0-9A-Za-z]{39}$/);
  });

  it('never repeats an id or secret and uses every digit in every position', () => {
    const tokens = Array.from({ length: 2000 }, () => newToken('production'));
    assert.equal(new Set(tokens.map(({ id }) => id)).size, tokens.length);
    assert.equal(new Set(tokens.map(({ token }) => token.slice(27, 60))).size, tokens.length);
    for (const place of [14, 25, 27, 59]) {
      // The probability that one of 62 digits is missing among 2,000 is 10^-12.
      assert.equal(new Set(tokens.map(({ token }) => token[place])).size, 62, `place ${place}`);
    }
  });

  it('ends with a CRC-32 of the preceding characters', () => {
    const { token } = newToken('staging');
    const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
    const checksum = [...token.slice(-6)].reduce((sum, digit) => sum * 62 + digits.indexOf(digit), 0);
    assert.equal(checksum, crc32(token.slice(0, -6)));
  });

  it('derives a hash that reveals nothing of the secret', () => {
    const { token, hash } = newToken('production');
    assert.equal(hash, hashToken(token));
    assert.equal(Buffer.from(hash, 'base64').length, 32);
    assert.ok(!token.includes(hash.slice(0, 8)));
  });
});

describe('matchesHash', () => {
  it('accepts only the token of the hash', () => {
    const { token, hash } = newToken('production');
    const bytes = Buffer.from(hash, 'latin1');
    assert.equal(matchesHash(token, bytes), true);
    assert.equal(matchesHash(newToken('production').token, bytes), false);
    assert.equal(matchesHash(token, bytes.subarray(1)), false);
  });
});

describe('parseToken', () => {
  it('returns the deployment and id of every token', () => {
    for (const deployment of ['production', 'staging'] as const) {
      const { token, id } = newToken(deployment);
      assert.deepEqual(parseToken(token), { deployment, id });
    }
  });

  it('rejects a token with a changed, missing, added or swapped character', () => {
    const { token } = newToken('production');
    fc.assert(
      fc.property(
        fc.nat(token.length - 1),
        fc.string({ minLength: 1, maxLength: 1, unit: 'binary' }),
        (place, other) => {
          const before = token.slice(0, place);
          const after = token.slice(place + 1);
          if (other !== token[place]) assert.equal(parseToken(before + other + after), undefined);
          assert.equal(parseToken(before + after), undefined);
          assert.equal(parseToken(before + other + token[place] + after), undefined);
          const swapped = before + (after[0] ?? '') + token[place] + after.slice(1);
          if (swapped !== token) assert.equal(parseToken(swapped), undefined);
        },
      ),
      { numRuns: 2000 },
    );
  });

  it('rejects a token of one deployment with the prefix of the other', () => {
    assert.equal(parseToken(newToken('production').token.replace('live', 'test')), undefined);
  });

  it('rejects everything else', () => {
    for (const text of ['', 'petstore_live_', 'x'.repeat(66), `petstore_live_${'0'.repeat(12)}_${'0'.repeat(39)}`]) {
      assert.equal(parseToken(text), undefined);
    }
  });
});
