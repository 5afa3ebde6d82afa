import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { newRecoveryCodes, RECOVERY_CODES, recoveryHashOf } from './recovery-codes.ts';

describe('newRecoveryCodes', () => {
  it('returns ten different codes of 80 bits without ambiguous characters', () => {
    const codes = newRecoveryCodes();
    assert.equal(new Set(codes).size, 10);
    assert.equal(codes.length, RECOVERY_CODES);
    for (const code of codes) assert.match(code, /^[0-9A-HJKMNP-TV-Z]{4}(-[0-9A-HJKMNP-TV-Z]{4}){3}$/);
  });

  it('uses each of 32 characters', () => {
    const seen = new Set<string>();
    // 160 characters each. The chance that 20 calls miss one character is below 10^-40.
    for (let calls = 0; calls < 20; calls++) for (const character of newRecoveryCodes().join('')) seen.add(character);
    seen.delete('-');
    assert.equal(seen.size, 32);
  });
});

describe('recoveryHashOf', () => {
  it('returns one hash for all ways of typing a code', () => {
    const expected = 'j7az7TlWB3EkKynFUwuZqxKLxkwExgFYnJs5TklWwFQ=';
    for (const typed of [
      '01AB-CDEF-GHJK-MN10',
      '01abcdefghjkmn10',
      ' oiab cdef ghjk mnlo\r\n',
      'OLAB\u2013CDEF\u2014GHJK\u2010MNIO',
      '0-1-A-B-C-D-E-F-G-H-J-K-M-N-1-0',
      'o1ab\u00A0cdef\tghjk mni0',
    ]) {
      assert.equal(recoveryHashOf(typed), expected, typed);
    }
  });

  it('returns undefined for a text that cannot be a code', () => {
    for (const typed of [
      '',
      '----',
      '01AB-CDEF-GHJK-MN1',
      '01AB-CDEF-GHJK-MN100',
      '01AB-CDEF-GHJK-MNU0',
      '01AB_CDEF_GHJK_MN10',
      '01AB-CDEF-GHJK-MN1\u00DF',
      '\ud800',
      `01AB-CDEF-GHJK-MN10${' '.repeat(100)}`,
      'A'.repeat(1e6),
    ]) {
      assert.equal(recoveryHashOf(typed), undefined, typed.slice(0, 40));
    }
  });
});
