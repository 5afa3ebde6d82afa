import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { canonicalAddress } from './address.ts';

const cases: Record<string, string | undefined> = {
  '192.0.2.1': '192.0.2.1',
  '::ffff:192.0.2.1': '192.0.2.1',
  '::FFFF:c000:201': '192.0.2.1',
  '0:0:0:0:0:ffff:192.0.2.1': '192.0.2.1',
  '::1': '0:0:0:0::/64',
  '2001:db8::1': '2001:db8:0:0::/64',
  '2001:0DB8:0000:0007:aaaa::': '2001:db8:0:7::/64',
  '2001:db8:0:7:1:2:3:4': '2001:db8:0:7::/64',
  '::2:3:4:5:6:7:8': '0:2:3:4::/64',
  'fe80::1%eth0': 'fe80:0:0:0::/64',
  '64:ff9b::192.0.2.1': '64:ff9b:0:0::/64',
  '': undefined,
  '192.0.2.256': undefined,
  '192.0.2.1:80': undefined,
  '2001:db8::1::2': undefined,
  localhost: undefined,
};

for (const [text, canonical] of Object.entries(cases)) {
  test(`counts ${text || 'nothing'} ${canonical === undefined ? 'as no address' : `as ${canonical}`}`, () => {
    assert.equal(canonicalAddress(text), canonical);
  });
}

test('normalizes every spelling of a /64', () => {
  fc.assert(
    fc.property(fc.ipV6(), text => {
      const canonical = canonicalAddress(text)!;
      if (canonical.includes('.')) assert.match(canonical, /^\d+\.\d+\.\d+\.\d+$/);
      else assert.match(canonical, /^[0-9a-f]{1,4}(:[0-9a-f]{1,4}){3}::\/64$/);
      assert.equal(canonicalAddress(text.toUpperCase()), canonical);
      if (!canonical.includes('.')) assert.equal(canonicalAddress(canonical.replace('/64', '')), canonical);
    }),
  );
});
