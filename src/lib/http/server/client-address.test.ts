import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { clientAddress, type TrustedProxies, trustedProxies } from './client-address.ts';

function addressOf(peer: string | undefined, forwarded: string | undefined, proxies: TrustedProxies): string {
  return clientAddress({ socket: { remoteAddress: peer }, headers: { 'x-forwarded-for': forwarded } }, proxies);
}

describe('trustedProxies', () => {
  it('accepts addresses and networks of both IP versions', () => {
    trustedProxies(['10.0.0.0/8', '192.0.2.1', '::1', 'fd00::/8', '0.0.0.0/0', '::/0']);
    trustedProxies([]);
  });

  it('rejects anything else and names it', () => {
    for (const entry of ['x', '10.0.0.0/33', '::/129', '10.0.0/8', '10.0.0.0/8/8', '10.0.0.0/', '10.0.0.0/-1', '']) {
      assert.throws(
        () => trustedProxies([entry]),
        new RangeError(`"${entry}" is not an address or a network such as 10.0.0.0/8`),
      );
    }
  });
});

describe('clientAddress', () => {
  const proxies = trustedProxies(['10.0.0.0/8', '2001:db8::/32']);
  const behind = (forwarded: string | undefined) => addressOf('10.0.0.1', forwarded, proxies);

  it('is that of an untrusted peer, whatever it forwards', () => {
    assert.equal(addressOf('198.51.100.1', undefined, proxies), '198.51.100.1');
    assert.equal(addressOf('198.51.100.1', '203.0.113.1', proxies), '198.51.100.1');
    assert.equal(addressOf('::ffff:198.51.100.1', '203.0.113.1', proxies), '198.51.100.1');
    assert.equal(addressOf('10.0.0.1', '203.0.113.1', trustedProxies([])), '10.0.0.1');
  });

  it('is the last forwarded one that is not trusted itself', () => {
    assert.equal(behind('203.0.113.1'), '203.0.113.1');
    assert.equal(behind('198.51.100.9, 203.0.113.1'), '203.0.113.1');
    assert.equal(behind('198.51.100.9,203.0.113.1 ,10.1.1.1,  10.2.2.2'), '203.0.113.1');
    assert.equal(addressOf('::ffff:10.0.0.1', '203.0.113.1', proxies), '203.0.113.1');
    assert.equal(addressOf('2001:db8::7', '203.0.113.1', proxies), '203.0.113.1');
    assert.equal(behind('10.3.3.3'), '10.3.3.3');
  });

  it('parses ports and brackets, and stops at an invalid address', () => {
    assert.equal(behind('203.0.113.1:8080'), '203.0.113.1');
    assert.equal(behind('[2001:470::1]:443'), '2001:470::1');
    assert.equal(behind('[2001:470::1]'), '2001:470::1');
    for (const nonsense of ['', ',', 'unknown', '203.0.113.1, _hidden', '999.0.0.1', 'a'.repeat(10_000)]) {
      assert.equal(behind(nonsense), '10.0.0.1', nonsense.slice(0, 20));
    }
    assert.equal(behind('203.0.113.1, nonsense, 10.4.4.4'), '10.4.4.4');
  });

  it('is empty if the connection is closed', () => {
    assert.equal(addressOf(undefined, '203.0.113.1', proxies), '');
  });

  it('accepts zones of link-local addresses', () => {
    assert.equal(addressOf('fe80::1%eth0', '203.0.113.1', proxies), 'fe80::1%eth0');
    assert.equal(behind('fe80::1%eth0'), 'fe80::1%eth0');
  });
});
