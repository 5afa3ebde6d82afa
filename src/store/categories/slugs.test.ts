import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { slugOf } from './slugs.ts';

describe('slugOf', () => {
  for (const [name, slug] of [
    ['Dog', 'dog'],
    ['Small & Furry', 'small-furry'],
    ['Scales, Fins & Other', 'scales-fins-other'],
    ['  Café  au lait!  ', 'cafe-au-lait'],
    ['Ångström', 'angstrom'],
    ['İstanbul', 'istanbul'],
    ['ﬁsh №１', 'fish-no1'],
    ['Großkatzen', 'grosskatzen'],
    ['GROẞE Ærø Œuvre Łódź Đà ð Þór ısı', 'grosse-aero-oeuvre-lodz-da-d-thor-isi'],
    ['猫', ''],
    ['---', ''],
    ['x'.repeat(255), 'x'.repeat(100)],
    [`${'x'.repeat(99)} y`, 'x'.repeat(99)],
  ] as const) {
    it(`makes "${slug.slice(0, 20)}" of "${name.slice(0, 20)}"`, () => {
      assert.equal(slugOf(name), slug);
    });
  }
});
