import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { isPublicAddress, parseNetworks } from './ssrf-protection.ts';

/** The first and last address of each IPv4 range that is not public. */
const forbidden = [
  ['0.0.0.0', '0.255.255.255'],
  ['10.0.0.0', '10.255.255.255'],
  ['100.64.0.0', '100.127.255.255'],
  ['127.0.0.0', '127.255.255.255'],
  ['168.63.129.16', '168.63.129.16'],
  ['169.254.0.0', '169.254.255.255'],
  ['172.16.0.0', '172.31.255.255'],
  ['192.0.0.0', '192.0.0.255'],
  ['192.0.2.0', '192.0.2.255'],
  ['192.31.196.0', '192.31.196.255'],
  ['192.52.193.0', '192.52.193.255'],
  ['192.88.99.0', '192.88.99.255'],
  ['192.168.0.0', '192.168.255.255'],
  ['192.175.48.0', '192.175.48.255'],
  ['198.18.0.0', '198.19.255.255'],
  ['198.51.100.0', '198.51.100.255'],
  ['203.0.113.0', '203.0.113.255'],
  ['224.0.0.0', '255.255.255.255'],
] as const;

const numberOf = (address: string) => address.split('.').reduce((value, part) => value * 256 + Number(part), 0);
const dotted = (value: number) => [24, 16, 8, 0].map(shift => Math.floor(value / 2 ** shift) % 256).join('.');
const isForbidden = (value: number) => forbidden.some(([a, b]) => value >= numberOf(a) && value <= numberOf(b));

const anyForbidden = fc
  .constantFrom(...forbidden)
  .chain(([first, last]) => fc.integer({ min: numberOf(first), max: numberOf(last) }));
const anyIpv4 = fc.integer({ min: 0, max: 2 ** 32 - 1 });
const anyGroups = fc.array(fc.integer({ min: 0, max: 0xffff }), { minLength: 8, maxLength: 8 });

const hex = (value: number) => value.toString(16);
const halves = (value: number) => [Math.floor(value / 65_536), value % 65_536] as const;

/** The ways in which an IPv6 address embeds an IPv4 address. */
const embeddings: Record<string, (value: number) => string> = {
  mapped: value => `::ffff:${dotted(value)}`,
  'mapped, in hexadecimal': value => `::ffff:${halves(value).map(hex).join(':')}`,
  'mapped, in full': value => `0000:0:00:000:0:FFFF:${halves(value).map(hex).join(':')}`,
  'mapped, in part': value => `0:0::ffff:${dotted(value)}`,
  compatible: value => `::${halves(value).map(hex).join(':')}`,
  translated: value => `::ffff:0:${dotted(value)}`,
  NAT64: value => `64:ff9b::${dotted(value)}`,
  'local NAT64': value => `64:ff9b:1::${dotted(value)}`,
  'local NAT64 at /48': value => `64:ff9b:1:${hex(halves(value)[0])}:${hex(halves(value)[1] >> 8)}::`,
  '6to4': value => `2002:${halves(value).map(hex).join(':')}::1`,
  Teredo: value =>
    `2001:0:4136:e378:8000:63bf:${halves(0xffff_ffff - value)
      .map(hex)
      .join(':')}`,
  'Teredo server': value => `2001:0:${halves(value).map(hex).join(':')}::1`,
  ISATAP: value => `2a00:1450:4001:81b:0:5efe:${dotted(value)}`,
  'ISATAP, globally unique': value => `2a00:1450:4001:81b:200:5efe:${dotted(value)}`,
  'ISATAP, compressed': value => `2a00::5efe:${dotted(value)}`,
};

describe('isPublicAddress', () => {
  it('is true for public addresses', () => {
    for (const address of [
      ...['1.1.1.1', '8.8.8.8', '93.184.216.34', '223.255.255.255', '168.63.129.15', '168.63.129.17'],
      ...['2606:4700:4700::1111', '2001:4860:4860::8888', '2a00:1450:4001:81b::200e', '2001:200::1', '2c0f:ffff::'],
      '2A00:1450:4001:081B:0000:0000:0000:200E',
    ]) {
      assert.equal(isPublicAddress(address), true, address);
    }
  });

  it('is false from the first to the last address of each special-purpose range, and true next to it', () => {
    for (const [first, last] of forbidden) {
      for (const address of [first, last]) assert.equal(isPublicAddress(address), false, address);
      for (const value of [numberOf(first) - 1, numberOf(last) + 1]) {
        if (value >= 0 && value < 2 ** 32)
          assert.equal(isPublicAddress(dotted(value)), !isForbidden(value), dotted(value));
      }
    }
    fc.assert(fc.property(anyForbidden, value => !isPublicAddress(dotted(value))));
    fc.assert(fc.property(anyIpv4, value => isPublicAddress(dotted(value)) === !isForbidden(value)));
  });

  for (const [name, embed] of Object.entries(embeddings)) {
    it(`is false for every embedded IPv4 address: ${name}`, () => {
      fc.assert(fc.property(fc.oneof(anyForbidden, anyIpv4), value => !isPublicAddress(embed(value))));
      // Also in the form in which URLs write it.
      fc.assert(
        fc.property(
          anyForbidden,
          value => !isPublicAddress(new URL(`https://[${embed(value)}]`).hostname.slice(1, -1)),
        ),
      );
    });
  }

  it('is false for ISATAP interface identifiers only', () => {
    for (const address of [
      ...['2a00:1450:4001:81b:0:5efe:808:808', '2a00:1450:4001:81b:200:5efe:808:808', '2a00::5efe:808:808'],
      ...['2a00::200:5EFE:8.8.8.8', '2a00:0:0:1:0:5efe::', '2a00:1450:4001:081b:0000:5efe:0808:0808'],
    ]) {
      assert.equal(isPublicAddress(address), false, address);
    }
    for (const address of ['2a00::1:5efe:808:808', '2a00::100:5efe:808:808', '2a00::5efe:0:808:808', '2a00::5efe']) {
      assert.equal(isPublicAddress(address), true, address);
    }
  });

  it('is false for IPv6 addresses that are not global unicast, and for special-purpose ones', () => {
    for (const address of [
      ...['::', '::1', '0:0:0:0:0:0:0:1', '0000::0001', '::2', '::ffff:0:0', '100::', '100::1', '100:0:0:1::1'],
      ...['fc00::', 'fd00::1', 'fd00:ec2::254', 'fd20:ce::254', 'fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
      ...['fe80::1', 'febf::1', 'fec0::1', 'feff::1', 'ff00::', 'ff02::1', 'ff05::1:3', 'ffff::'],
      ...['2001::', '2001:2::1', '2001:10::1', '2001:20::1', '2001:1ff:ffff::', '2001:db8::', '2001:db8:ffff::1'],
      ...[
        '2002::',
        '2002:ffff::',
        '2620:4f:8000::1',
        '3ffe::1',
        '3fff::',
        '3fff:fff::1',
        '4000::',
        '5f00::1',
        '1fff::1',
      ],
      ...['64:ff9b::', '64:ff9b::8.8.8.8', '64:ff9b:1::', '64:ff9b:1:ffff::', '8000::1', 'e000::1'],
    ]) {
      assert.equal(isPublicAddress(address), false, address);
    }
    fc.assert(
      fc.property(anyGroups, groups => {
        const [first] = groups as [number];
        return (first >= 0x2000 && first < 0x4000) || !isPublicAddress(groups.map(hex).join(':'));
      }),
    );
  });

  it('is false for an address with a zone, and for text that is not an address', () => {
    for (const text of [
      ...['fe80::1%eth0', '2606:4700::1%1', '::1%lo', '', ' ', 'localhost', '1.1.1.1 ', '1.1.1', '1.1.1.1.1'],
      ...[
        '01.1.1.1',
        '0x1.1.1.1',
        '16843009',
        '1.1.1.1/32',
        '[2606:4700::1]',
        '2606:4700::1::',
        '1.1.1.1%1',
        '１.1.1.1',
      ],
    ]) {
      assert.equal(isPublicAddress(text), false, text);
    }
  });
});

describe('parseNetworks', () => {
  it('contains the addresses of its networks, and no other', () => {
    const networks = parseNetworks(['10.1.2.3', '192.168.4.0/22', 'fd00:1::/32', '::1', '2001:db8::/127']);
    for (const address of ['10.1.2.3', '192.168.4.0', '192.168.7.255', 'fd00:1::', 'fd00:1:ffff::1', '::1', '0::0:1']) {
      assert.equal(networks.has(address), true, address);
    }
    for (const address of [
      ...['10.1.2.2', '10.1.2.4', '192.168.3.255', '192.168.8.0', 'fd00:2::', 'fd00:0:ffff::', '::2', '2001:db8::2'],
      ...['::1%lo', 'fd00:1::1%eth0', 'localhost', '', '::10.1.2.3', '64:ff9b::10.1.2.3', '2002:a01:203::'],
    ]) {
      assert.equal(networks.has(address), false, address);
    }
    assert.equal(parseNetworks([]).has('127.0.0.1'), false);
  });

  it('treats IPv4-mapped IPv6 addresses and networks as IPv4', () => {
    const networks = parseNetworks(['10.0.0.0/8', '::ffff:192.168.0.0/112', '::ffff:7f00:1']);
    for (const address of ['::ffff:10.0.0.1', '::ffff:a00:1', '192.168.0.9', '::ffff:192.168.0.9', '127.0.0.1']) {
      assert.equal(networks.has(address), true, address);
    }
    for (const address of ['::ffff:11.0.0.1', '192.169.0.1', '127.0.0.2', '::ffff:7f00:2']) {
      assert.equal(networks.has(address), false, address);
    }
    for (const everything of ['::/0', '::ffff:0:0/95']) {
      assert.equal(parseNetworks([everything]).has('::ffff:127.0.0.1'), false, everything);
    }
    assert.equal(parseNetworks(['::/0']).has('::1'), true);
    assert.equal(parseNetworks(['0.0.0.0/0']).has('::ffff:127.0.0.1'), true);
  });

  it('parses every spelling of an address as URL does', () => {
    const spelling = fc.record({
      groups: anyGroups,
      zeros: fc.record({ at: fc.nat(7), count: fc.nat(8) }),
      wide: fc.boolean(),
      upper: fc.boolean(),
      dottedEnd: fc.boolean(),
    });
    fc.assert(
      fc.property(spelling, ({ groups, zeros: { at, count }, wide, upper, dottedEnd }) => {
        const end = dottedEnd ? 6 : 8;
        const left = groups.slice(0, end).map((group, i) => (i >= at && i < at + count ? 0 : group));
        const written = left.map(group => (wide ? hex(group).padStart(4, '0') : hex(group)));
        if (dottedEnd) written.push(dotted(groups[6]! * 65_536 + groups[7]!));
        const cut = Math.min(count, end - at);
        const text =
          cut > 0 ? `${written.slice(0, at).join(':')}::${written.slice(at + cut).join(':')}` : written.join(':');
        const address = upper ? text.toUpperCase() : text;
        const url = new URL(`https://[${address}]`).hostname.slice(1, -1);
        return parseNetworks([address]).has(url) && parseNetworks([url]).has(address);
      }),
    );
  });

  it('rejects anything else, and names it', () => {
    for (const entry of [
      ...[
        'x',
        '',
        '10.0.0.0/33',
        '::/129',
        '10.0.0/8',
        '10.0.0.0/8/8',
        '10.0.0.0/',
        '10.0.0.0/-1',
        '/8',
        '::ffff:1.2.3.4/129',
      ],
      ...['fe80::1%eth0', 'fe80::%eth0/10', '010.0.0.0/8', 'localhost', '10.0.0.0/8 '],
    ]) {
      assert.throws(
        () => parseNetworks([entry]),
        new RangeError(`"${entry}" is not an address or a network such as 10.0.0.0/8`),
        entry,
      );
    }
  });
});
