import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { nameFault } from './name.ts';

describe('nameFault', () => {
  it('accepts common names', () => {
    for (const name of ['a', '小雪', ' padded ', 'Señor Pancho', '🐕'.repeat(255), 'e\u0301', '\u200b', '\ufeffa']) {
      assert.equal(nameFault(name), undefined, JSON.stringify(name));
    }
  });

  it('explains what is wrong with other text', () => {
    const wrong: [string, RegExp][] = [
      ['', /not white space/],
      [' \u00a0\u3000', /not white space/],
      ['a\u0000', /control characters/],
      ['a\u001f', /control characters/],
      ['a\u007f', /control characters/],
      ['a\u009f', /control characters/],
      ['\ud800a', /well-formed/],
      ['a'.repeat(256), /at most 255/],
      ['🐕'.repeat(256), /at most 255/],
    ];
    for (const [name, fault] of wrong) assert.match(nameFault(name) ?? '', fault, JSON.stringify(name));
  });
});
