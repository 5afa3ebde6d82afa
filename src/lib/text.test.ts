import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { foldedText, NOTE_LENGTH_MAX, nameError, noteRules, spelled } from './text.ts';

describe('nameError', () => {
  it('accepts common names', () => {
    for (const name of ['a', '小雪', ' padded ', 'Señor Pancho', '🐕'.repeat(255), 'e\u0301', '\u200b', '\ufeffa']) {
      assert.equal(nameError(name), undefined, JSON.stringify(name));
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
    for (const [name, fault] of wrong) assert.match(nameError(name) ?? '', fault, JSON.stringify(name));
  });
});

describe('foldedText', () => {
  it('is the same for texts that differ in case, accents and width', () => {
    for (const [one, other, folded] of [
      ['Brünö', 'BRU\u0308NO', 'bruno'],
      ['straße', 'STRASSE', 'strasse'],
      ['σας', 'ΣΑΣ', 'σασ'],
      ['ΣΑΣ', 'σασ', 'σασ'],
      ['İstanbul', 'ıSTANBUL', 'istanbul'],
      ['Bjørn', 'BJØRN', 'bjorn'],
      ['Łódź', 'lodz', 'lodz'],
      ['Ægir', 'aegir', 'aegir'],
      ['Ｒｅｘ', 'rex', 'rex'],
    ]) {
      assert.deepEqual([foldedText(one!), foldedText(other!)], [folded, folded]);
    }
  });
});

describe('noteRules', () => {
  it('accepts 1–1,000 code points of well-formed text with line breaks', () => {
    for (const text of ['x', ' x ', 'a\nb', 'a\r\nb', '🐈'.repeat(NOTE_LENGTH_MAX), '\u202ertl', 'a\u2028b']) {
      assert.equal(noteRules.errorOf(text), undefined, JSON.stringify(text));
    }
  });

  it('rejects blank text, other control characters, lone surrogates and overlong text', () => {
    for (const text of [
      '',
      ' ',
      '\n\r\n',
      'a\tb',
      'a\0',
      'a\u007f',
      'a\u0085',
      '\ud800',
      'x'.repeat(NOTE_LENGTH_MAX + 1),
    ]) {
      assert.notEqual(noteRules.errorOf(text), undefined, JSON.stringify(text));
    }
  });
});

describe('spelled', () => {
  it('spells numbers up to ten and whole tens, and writes others in digits', () => {
    assert.deepEqual([0, 7, 10, 20, 90, 11, 100, 1500].map(spelled), [
      ...['zero', 'seven', 'ten', 'twenty', 'ninety', '11', '100', '1,500'],
    ]);
  });
});
