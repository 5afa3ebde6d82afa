import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { birthDateAt, parseFee, parseWeight, weightText } from './typed-values.ts';

describe('the values that people type', () => {
  it('take a fee with or without a symbol, with separators, and as "free"', () => {
    for (const [text, chosen, amount, currency] of [
      ['125', 'USD', 12_500, 'USD'],
      ['$125', 'USD', 12_500, 'USD'],
      ['$125', 'CAD', 12_500, 'CAD'],
      ['$125', 'EUR', 12_500, 'USD'],
      ['125.50', 'USD', 12_550, 'USD'],
      [' 125,50 € ', 'USD', 12_550, 'EUR'],
      ['1,250', 'USD', 125_000, 'USD'],
      ['1,250.5', 'USD', 125_050, 'USD'],
      ['1.250,50', 'EUR', 125_050, 'EUR'],
      ['1 250', 'EUR', 125_000, 'EUR'],
      ["1'250.–", 'CHF', 125_000, 'CHF'],
      ['125 eur', 'USD', 12_500, 'EUR'],
      ['KWD 99.500', 'USD', 99_500, 'KWD'],
      ['1500', 'JPY', 1500, 'JPY'],
      ['Free', 'USD', 0, 'USD'],
      ['0', 'USD', 0, 'USD'],
    ] as const)
      assert.deepEqual(parseFee(text, chosen), { amount, currency }, text);
  });

  it('take no fee that could be another amount', () => {
    for (const text of [
      '',
      'a lot',
      '-5',
      '1.250',
      '12.345',
      '1,25,0',
      '$125$',
      '125 to 150',
      '1'.repeat(13),
      '€€1',
      'constructor 5',
    ])
      assert.equal(parseFee(text, 'USD'), undefined, text);
    assert.equal(parseFee('1500.5', 'JPY'), undefined);
  });

  it('take a weight in the units that people write', () => {
    for (const [text, value, unit] of [
      ['12 lb', 12, 'lb'],
      ['12lbs.', 12, 'lb'],
      ['5.5 kg', 5.5, 'kg'],
      ['5,5 Kilos', 5.5, 'kg'],
      ['2 lb 4 oz', 2.25, 'lb'],
      ['1,250 g', 1250, 'g'],
      ['.5 oz', 0.5, 'oz'],
    ] as const)
      assert.deepEqual(parseWeight(text), { value, unit }, text);
    for (const text of ['', '12', 'kg', 'heavy', '12 stone', '2 kg 4 oz', '1 lb 2 oz 3 g', '12 lb or so', '-1 kg'])
      assert.equal(parseWeight(text), undefined, text);
  });

  it('read the weight again that they write', () => {
    for (const weight of [
      { value: 0.1, unit: 'kg' },
      { value: 12.345678, unit: 'lb' },
      { value: 100_000, unit: 'g' },
    ] as const)
      assert.deepEqual(parseWeight(weightText(weight)), weight);
  });

  it('take an age as people say it', () => {
    const now = Date.parse('2026-03-31T12:00:00Z');
    for (const [text, date] of [
      ['about 2 years', '2024-03-31'],
      ['2 yrs old', '2024-03-31'],
      ['~8 weeks', '2026-02-03'],
      ['1 month', '2026-02-28'],
      ['1 year 3 months', '2024-12-31'],
      ['1 year, and 3 months', '2024-12-31'],
      ['1.5 years', '2024-09-30'],
      ['1½ years', '2024-09-30'],
      ['a year', '2025-03-31'],
      ['10 days', '2026-03-21'],
      ['2y', '2024-03-31'],
    ] as const)
      assert.equal(birthDateAt(text, now), date, text);
    for (const text of ['', '2', 'years', 'old', 'two or three years', '2 years or so', '900 years', '2024-05-01'])
      assert.equal(birthDateAt(text, now), undefined, text);
  });

  it('are short: a long text takes no time', () => {
    const long = '1'.repeat(500_000);
    const startedAt = performance.now();
    assert.deepEqual(
      [parseFee(long, 'USD'), parseWeight(long), birthDateAt(long, 0)],
      [undefined, undefined, undefined],
    );
    assert.ok(performance.now() - startedAt < 100);
  });
});
