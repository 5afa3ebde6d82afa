import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { base32Of, newTotpSecret, TOTP_STEP_MS, totpCodeAt, totpStepOf, totpUriOf } from './totp.ts';

/** The secret of the test vectors of RFC 6238. */
const secret = Buffer.from('12345678901234567890');

describe('totpCodeAt', () => {
  it('returns the codes of RFC 6238, Appendix B', () => {
    // The RFC prints eight digits; six are their end.
    for (const [seconds, code] of [
      [59, '94287082'],
      [1111111109, '07081804'],
      [1111111111, '14050471'],
      [1234567890, '89005924'],
      [2000000000, '69279037'],
      [20000000000, '65353130'],
    ] as const) {
      assert.equal(totpCodeAt(secret, Math.floor(seconds / 30)), code.slice(2), String(seconds));
    }
  });

  it('returns the codes of RFC 4226, Appendix D, whose counter is the step', () => {
    const codes = Array.from({ length: 10 }, (_, step) => totpCodeAt(secret, step));
    const expected = '755224 287082 359152 969429 338314 254676 287922 162583 399871 520489';
    assert.equal(codes.join(' '), expected);
  });
});

describe('totpStepOf', () => {
  const step = 41_152_263;
  const now = step * TOTP_STEP_MS;

  it('accepts the codes of the current step and of the steps beside it', () => {
    for (const [distance, expected] of [
      [-2, undefined],
      [-1, step - 1],
      [0, step],
      [1, step + 1],
      [2, undefined],
    ] as const) {
      const code = totpCodeAt(secret, step + distance);
      assert.equal(totpStepOf(secret, code, now), expected, `${distance} at the start of the step`);
      assert.equal(totpStepOf(secret, code, now + TOTP_STEP_MS - 1), expected, `${distance} at its end`);
    }
  });

  it('ignores white space', () => {
    const code = totpCodeAt(secret, step);
    for (const typed of [
      ` ${code}\n`,
      `${code.slice(0, 3)} ${code.slice(3)}`,
      `${code.slice(0, 3)}\u00A0${code.slice(3)}`,
    ]) {
      assert.equal(totpStepOf(secret, typed, now), step, JSON.stringify(typed));
    }
  });

  it('rejects every other text', () => {
    const code = totpCodeAt(secret, step);
    const wrong = [code.slice(1), `${code}0`, `0${code}`, `+${code}`, `${code}.0`, ` ${code}${' '.repeat(20)}`];
    for (const typed of [
      ...wrong,
      '',
      '000000',
      'abcdef',
      '\u0661\u0662\u0663\u0664\u0665\u0666',
      '\ud800',
      '9'.repeat(1e6),
    ]) {
      assert.equal(totpStepOf(secret, typed, now), undefined, JSON.stringify(typed.slice(0, 40)));
    }
    assert.equal(totpStepOf(newTotpSecret(), code, now), undefined);
  });

  it('works at the epoch', () => {
    assert.equal(totpStepOf(secret, '755224', 0), 0);
    assert.equal(totpStepOf(secret, '', 0), undefined);
  });

  it('returns the later of two steps with the same code, so that the code cannot be used again', () => {
    const first = 910737;
    const code = totpCodeAt(secret, first);
    assert.equal(totpCodeAt(secret, first + 1), code);
    assert.equal(totpStepOf(secret, code, first * TOTP_STEP_MS), first + 1);
  });
});

describe('newTotpSecret', () => {
  it('returns 160 bits, 32 characters of base32', () => {
    assert.match(base32Of(newTotpSecret()), /^[A-Z2-7]{32}$/);
    assert.notDeepEqual(newTotpSecret(), newTotpSecret());
  });
});

describe('totpUriOf', () => {
  it('names the service and the account', () => {
    assert.equal(
      totpUriOf({ secret, issuer: 'ACME Co', account: 'john.doe@email.com' }),
      'otpauth://totp/ACME%20Co:john.doe%40email.com?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&issuer=ACME%20Co&algorithm=SHA1&digits=6&period=30',
    );
  });

  it('escapes what would change the URI', () => {
    const uri = new URL(totpUriOf({ secret, issuer: 'localhost:8080', account: 'a+b&secret=x?#/%\u05d0:\ud800' }));
    assert.equal(decodeURIComponent(uri.pathname), '/localhost 8080:a+b&secret=x?#/%\u05d0 \ufffd');
    assert.equal(uri.pathname.split(':').length, 2);
    assert.equal(uri.hash, '');
    assert.deepEqual(
      [...uri.searchParams],
      [
        ['secret', 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ'],
        ['issuer', 'localhost 8080'],
        ['algorithm', 'SHA1'],
        ['digits', '6'],
        ['period', '30'],
      ],
    );
  });
});

describe('base32Of', () => {
  it('returns the texts of RFC 4648, without padding', () => {
    const texts = ['', 'f', 'fo', 'foo', 'foob', 'fooba', 'foobar'].map(text => base32Of(Buffer.from(text)));
    assert.deepEqual(texts, ['', 'MY', 'MZXQ', 'MZXW6', 'MZXW6YQ', 'MZXW6YTB', 'MZXW6YTBOI']);
  });
});
