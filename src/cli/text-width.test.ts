import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { widthOf } from './text-width.ts';

describe('the width of a text', () => {
  const widths: Record<string, number> = {
    '': 0,
    Minka: 5,
    Änn: 3,
    'A\u0308nn': 3,
    小雪: 4,
    'ポチ (はち)': 11,
    ﾎﾟﾁ: 3,
    복실이: 6,
    'ᄇ\u1169\u11a8': 2,
    Ｍｉａ: 6,
    '🐈': 2,
    '🐈‍⬛': 2,
    '👨‍👩‍👧‍👦': 2,
    '👍🏽': 2,
    '🇩🇪': 2,
    '❤️': 2,
    '❤': 1,
    '1️⃣': 2,
    '©': 1,
    Ре́кс: 4,
    שָׁלוֹם: 4,
    'a\u200bb': 2,
    𠮷野家: 6,
  };
  for (const [text, width] of Object.entries(widths)) {
    it(`is ${width} for ${JSON.stringify(text)}`, () => assert.equal(widthOf(text), width));
  }
});
