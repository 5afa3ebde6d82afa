import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { createServer as createTlsServer } from 'node:tls';
import { listen, loopback, ok, onRequest, open, post, resultOf } from '../../../../test/support/raw-server.ts';
import { waitUntil } from '../../../../test/support/wait-until.ts';

describe('TLS connections', { skip: !hasOpenssl() && 'openssl is not installed' }, () => {
  let directory: string;
  before(() => {
    directory = mkdtempSync(join(tmpdir(), 'outgoing-'));
  });
  after(() => rmSync(directory, { recursive: true }));

  /** Creates a self-signed certificate. */
  function certificate(name: string, days = 2) {
    const file = (kind: string) => join(directory, `${name.replaceAll(/\W/g, '')}.${kind}`);
    const openssl = (...args: string[]) => execFileSync('openssl', args, { stdio: 'ignore' });
    writeFileSync(file('config'), '[req]\ndistinguished_name=dn\n[dn]\n');
    writeFileSync(file('extensions'), `subjectAltName=${name}\n`);
    const made = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-keyout', file('key')];
    openssl('req', '-new', '-config', file('config'), ...made, '-subj', '/CN=petstore-test', '-out', file('request'));
    const signed = ['-req', '-in', file('request'), '-signkey', file('key'), '-extfile', file('extensions')];
    openssl('x509', ...signed, '-days', String(days), '-out', file('cert'));
    return { key: readFileSync(file('key'), 'utf8'), cert: readFileSync(file('cert'), 'utf8') };
  }

  const findAddresses = async () => ['127.0.0.1'];

  it('verifies that the certificate is valid for the host', async t => {
    const right = certificate('DNS:hook.example');
    const listener = await listen(t, ok, { server: createTlsServer(right) });
    const outgoing = open(t, loopback, { findAddresses, ca: right.cert });
    for (const host of ['hook.example', 'HOOK.example', 'hook.example.']) {
      for (let i = 0; i < 2; i++)
        assert.equal(resultOf(await post(outgoing, `https://${host}:${listener.port}/`)), 200, host);
    }
    assert.equal(resultOf(await post(outgoing, `https://other.example:${listener.port}/`)), 'tls');
    assert.equal(resultOf(await post(outgoing, `https://127.0.0.1:${listener.port}/`)), 'tls');
    assert.doesNotMatch(listener.received, /other|host: 127/);
  });

  it('asks whether a request may be sent once the handshake is complete, and on every connection', async t => {
    const right = certificate('DNS:hook.example');
    const listener = await listen(t, ok, { server: createTlsServer(right) });
    const outgoing = open(t, loopback, { findAddresses, ca: right.cert });
    let asked = 0;
    const send = (allowed: boolean) => {
      const isAllowed = () => {
        asked++;
        return allowed;
      };
      return outgoing.post({ url: `https://hook.example:${listener.port}/`, headers: {}, body: '{}', isAllowed });
    };
    assert.equal(resultOf(await send(false)), 'withdrawn');
    assert.equal(listener.received, '');
    for (let times = 0; times < 2; times++) assert.equal(resultOf(await send(true)), 200);
    assert.equal(asked, 3);
  });

  it('accepts a certificate for an IP address', async t => {
    const right = certificate('IP:127.0.0.1');
    const listener = await listen(t, ok, { server: createTlsServer(right) });
    const outgoing = open(t, loopback, { findAddresses, ca: right.cert });
    assert.equal(resultOf(await post(outgoing, `https://127.0.0.1:${listener.port}/`)), 200);
    assert.equal(resultOf(await post(outgoing, `https://hook.example:${listener.port}/`)), 'tls');
  });

  it('rejects an untrusted certificate, whatever NODE_TLS_REJECT_UNAUTHORIZED says', async t => {
    const listener = await listen(t, ok, { server: createTlsServer(certificate('DNS:hook.example')) });
    const url = `https://hook.example:${listener.port}/`;
    assert.equal(resultOf(await post(open(t, loopback, { findAddresses }), url)), 'tls');
    const before = process.env.NODE_TLS_REJECT_UNAUTHORIZED;
    t.after(() => {
      if (before === undefined) delete process.env.NODE_TLS_REJECT_UNAUTHORIZED;
      else process.env.NODE_TLS_REJECT_UNAUTHORIZED = before;
    });
    process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0';
    assert.equal(resultOf(await post(open(t, loopback, { findAddresses }), url)), 'tls');
    assert.equal(listener.requests, 0);
  });

  it('rejects an expired certificate', async t => {
    const late = certificate('DNS:hook.example', -1);
    const listener = await listen(t, ok, { server: createTlsServer(late) });
    const outgoing = open(t, loopback, { findAddresses, ca: late.cert });
    assert.equal(resultOf(await post(outgoing, `https://hook.example:${listener.port}/`)), 'tls');
    assert.equal(listener.requests, 0);
  });

  it('reports servers that do not speak TLS, and times out on silent ones', async t => {
    const plain = await listen(t, socket => socket.end('HTTP/1.1 200 OK\r\n\r\n'));
    assert.equal(resultOf(await post(open(t, loopback), `https://127.0.0.1:${plain.port}/`)), 'tls');
    const mute = await listen(t, socket => socket.resume());
    assert.equal(
      resultOf(await post(open(t, loopback, { timeoutMs: 300 }), `https://127.0.0.1:${mute.port}/`)),
      'timeout',
    );
    const closing = await listen(t, socket => socket.destroy());
    assert.equal(resultOf(await post(open(t, loopback), `https://127.0.0.1:${closing.port}/`)), 'reset');
    await waitUntil(() => mute.open === 0);
  });

  it('repeats a request once if the kept-alive connection was closed', async t => {
    const right = certificate('DNS:hook.example');
    const listener = await listen(
      t,
      (socket, listener) =>
        onRequest(socket, listener, index => {
          if (index > 0) socket.end();
          else socket.write('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n');
        }),
      { server: createTlsServer(right) },
    );
    const outgoing = open(t, loopback, { findAddresses, ca: right.cert });
    for (let i = 0; i < 3; i++)
      assert.equal(resultOf(await post(outgoing, `https://hook.example:${listener.port}/`)), 200);
    assert.deepEqual([listener.connections, listener.requests], [3, 5]);
  });
});

function hasOpenssl(): boolean {
  try {
    execFileSync('openssl', ['version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}
