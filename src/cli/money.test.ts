import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parsePrice, priceText } from './money.ts';

describe('a price', () => {
  for (const [text, amount, currency] of [
    ['125.00 EUR', 12_500, 'EUR'],
    ['0.05 EUR', 5, 'EUR'],
    ['0.00 USD', 0, 'USD'],
    ['1500 JPY', 1500, 'JPY'],
    ['0 JPY', 0, 'JPY'],
    ['1.250 KWD', 1250, 'KWD'],
    ['3.00 RSD', 300, 'RSD'],
    ['90071992547409.91 EUR', Number.MAX_SAFE_INTEGER, 'EUR'],
  ] as const) {
    it(`of ${text} is parsed and printed`, () => {
      assert.deepEqual(parsePrice(text), { amount, currency });
      assert.equal(priceText({ amount, currency }), text);
    });
  }

  it('may omit decimals and the space', () => {
    assert.deepEqual(parsePrice(' 125EUR '), { amount: 12_500, currency: 'EUR' });
    assert.deepEqual(parsePrice('12.5 EUR'), { amount: 1250, currency: 'EUR' });
    assert.deepEqual(parsePrice('007 EUR'), { amount: 700, currency: 'EUR' });
  });

  for (const text of [
    '',
    'EUR',
    '125',
    '125,00 EUR',
    '1,250.00 EUR',
    '-1 EUR',
    '+1 EUR',
    '1e3 EUR',
    '1.005 EUR',
    '1.0 JPY',
    '1. EUR',
    '.5 EUR',
    '1 eur',
    '1 EURO',
    'EUR 1',
    '90071992547409.92 EUR',
    '1  EUR',
  ]) {
    it(`is not ${JSON.stringify(text)}`, () => assert.equal(parsePrice(text), undefined));
  }
});
