import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { post } from '../../../../test/support/raw-server.ts';
import { openOutgoingClient } from './client.ts';
import { checkUrl } from './target.ts';

describe('checkUrl', () => {
  const strict = { networks: [] };
  const withNetworks = { networks: ['10.0.0.0/8', '::1'] };

  it('accepts https URLs of names and public addresses', () => {
    for (const url of [
      ...['https://example.org', 'https://example.org/hook?a=1&b=%20#'.slice(0, -1), 'HTTPS://Example.ORG:443/x'],
      ...[
        'https://example.org:8443/',
        'https://1.1.1.1/',
        'https://[2606:4700:4700::1111]:8443/x',
        'https://localhost/',
      ],
      ...['https://żółw.example/ścieżka', 'https://example.org./', `https://example.org/${'x'.repeat(2028)}`],
    ]) {
      assert.equal(checkUrl(url, strict), undefined, url);
    }
  });

  it('accepts http and other ports for names and for addresses within the networks', () => {
    for (const url of [
      ...['http://example.org/', 'https://example.org:444/', 'http://localhost:3000/hook', 'http://10.1.2.3/'],
      ...['http://[::1]:80/', 'https://10.1.2.3:22/', 'http://[::ffff:10.1.2.3]/', 'http://0xa010203/'],
    ]) {
      assert.equal(checkUrl(url, withNetworks), undefined, url);
    }
    assert.equal(checkUrl('http://11.1.2.3/', withNetworks), 'must begin with https://');
    assert.equal(checkUrl('https://1.1.1.1:444/', withNetworks), 'must name port 443 or 8443, or none');
    assert.equal(checkUrl('https://192.168.1.1/', withNetworks), 'must lead to an address of the public internet');
  });

  it('reports what is wrong with every other URL', () => {
    const wrong: Record<string, readonly string[]> = {
      'must be a URL like https://example.org/path': [
        ...['', 'example.org', '/hook', '//example.org/', 'https:', 'https://', 'https:///x', 'https:example.org'],
        ...[
          'https:\\\\example.org\\x',
          'https://example.org\\@127.0.0.1/',
          ' https://example.org',
          'https://example.org ',
        ],
        ...['https://exa\tmple.org/', 'https://example.org/\n', 'https://example.org/\0', 'https://example.org/a b'],
        ...[
          'https://exa mple.org/',
          'https://[::1',
          'https://1.2.3.4.5/',
          'https://256.1.1.1/',
          'https://example.org:65536/',
        ],
        ...['https://[fe80::1%25eth0]/', 'https://example.org:-1/', 'https://example.org\u00a0/', 'https://a\u2028b/'],
      ],
      'must begin with https://': [
        ...['http://example.org/', 'HTTP://example.org/', 'ftp://example.org/', 'file:///etc/passwd', 'gopher://x/'],
        ...[
          'javascript:alert(1)',
          'data:,x',
          'unix:/run/x.sock',
          'ws://example.org/',
          'http://1.1.1.1/',
          'http://10.0.0.1/',
        ],
      ],
      'must have at most 2,048 characters': [
        `https://example.org/${'x'.repeat(2029)}`,
        // Percent-encoding turns each character into nine.
        `https://example.org/${'ł€'.repeat(300)}`,
      ],
      'must not have a user name or a password in it': [
        ...['https://user@example.org/', 'https://user:password@example.org/', 'https://:password@example.org/'],
        'https://example.org%2f@127.0.0.1/',
        ...['https://@example.org/', 'https://:@example.org/hook'],
      ],
      'must not have a fragment': [
        'https://example.org/#x',
        'https://example.org/#',
        'https://example.org#@127.0.0.1/',
      ],
      'must name port 443 or 8443, or none': [
        ...['https://example.org:80/', 'https://example.org:22/', 'https://example.org:0/', 'https://1.1.1.1:6379/'],
        ...['https://example.org:44300/', 'https://example.org:4430/'],
      ],
      'must lead to an address of the public internet': [
        ...[
          'https://127.0.0.1/',
          'https://127.1/',
          'https://2130706433/',
          'https://0x7f000001/',
          'https://017700000001/',
        ],
        ...[
          'https://0177.0.0.1/',
          'https://0x7f.1/',
          'https://127.0.0.1./',
          'https://①②⑦.⓪.⓪.①/',
          'https://127。0。0。1/',
        ],
        ...['https://%31%32%37.0.0.1/', 'https://0/', 'https://0.0.0.0/', 'https://169.254.169.254/latest/meta-data/'],
        ...[
          'https://0xA9FEA9FE/',
          'https://10.0.0.1/',
          'https://100.64.0.1/',
          'https://224.0.0.1/',
          'https://255.255.255.255/',
        ],
        ...['https://[::]/', 'https://[::1]/', 'https://[0:0:0:0:0:0:0:1]:8443/', 'https://[::ffff:127.0.0.1]/'],
        ...[
          'https://[::ffff:7f00:1]/',
          'https://[::ffff:1.1.1.1]/',
          'https://[::127.0.0.1]/',
          'https://[64:ff9b::7f00:1]/',
        ],
        ...['https://[2002:7f00:1::]/', 'https://[fd00::1]/', 'https://[fe80::1]/', 'https://[ff02::1]/'],
      ],
    };
    for (const [message, urls] of Object.entries(wrong)) {
      for (const url of urls) assert.equal(checkUrl(url, strict), message, url);
    }
  });

  it('applies to requests, before any DNS lookup', async t => {
    const outgoing = openStrict(t);
    for (const url of ['', 'http://example.org/', 'https://u:p@example.org/', 'https://example.org:22/']) {
      assert.deepEqual(await post(outgoing, url), { fault: 'forbidden_url', durationMs: 0 }, url);
    }
    assert.deepEqual(await post(outgoing, 'https://127.0.0.1/'), { fault: 'forbidden_address', durationMs: 0 });
  });

  const openStrict = (t: TestContext) => {
    const outgoing = openOutgoingClient(strict, { findAddresses: () => assert.fail('no DNS lookup is expected') });
    t.after(() => outgoing.close());
    return outgoing;
  };
});
