import assert from 'node:assert/strict';
import { createPublicKey, generateKeyPairSync, type KeyObject, randomBytes } from 'node:crypto';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { Authenticator, attestedOf, type Deviation, FLAGS } from '../../test/support/authenticator.ts';
import {
  type Ceremony,
  creationOptions,
  type Passkey,
  passkeyHostOf,
  requestOptions,
  verifyAssertion,
  verifyRegistration,
} from './webauthn.ts';

const origin = 'https://shop.example';
const challenge = randomBytes(32).toString('base64url');
const ceremony: Ceremony = { challenge, rpId: 'shop.example', origin, userVerification: 'required' };
const authenticator = new Authenticator(origin);

/** Returns the stored passkey of an authenticator. */
function registered(one = authenticator): Passkey {
  const passkey = verifyRegistration(one.create(challenge), ceremony);
  assert.ok(typeof passkey === 'object', String(passkey));
  return passkey;
}

function spkiOf(key: KeyObject): string {
  return key.export({ type: 'spki', format: 'der' }).toString('base64url');
}

/** Deviations that both ceremonies reject, with the fault. */
const rejected: readonly (readonly [fault: string, Deviation, Partial<Ceremony>?])[] = [
  ['type', { clientData: { type: 'payment.get' } }],
  ['type', { clientData: { type: undefined } }],
  ['challenge', { clientData: { challenge: randomBytes(32).toString('base64url') } }],
  ['challenge', { clientData: { challenge: `${challenge}=` } }],
  ['challenge', { clientData: { challenge: [challenge] } }],
  ['challenge', { clientData: { challenge: '' } }],
  ['challenge', { clientData: { challenge: 5 } }],
  ['origin', { clientData: { origin: 'https://shop.example.evil.example' } }],
  ['origin', { clientData: { origin: 'https://sub.shop.example' } }],
  ['origin', { clientData: { origin: 'http://shop.example' } }],
  ['origin', { clientData: { origin: 'https://shop.example:8443' } }],
  ['origin', { clientData: { origin: [origin] } }],
  ['cross-origin', { clientData: { crossOrigin: true } }],
  ['cross-origin', { clientData: { crossOrigin: 'false' } }],
  ['cross-origin', { clientData: { topOrigin: 'https://evil.example' } }],
  ['host', { rpId: 'evil.example' }],
  ['host', {}, { rpId: 'example' }],
];

/** Texts that are nothing in base64url, or too long. */
const malformed = [
  '',
  'A',
  'AA==',
  'A+/A',
  ' AAA',
  'AAAA\n',
  'AB',
  '\ud800',
  '\u0000',
  'A'.repeat(8000),
  'A'.repeat(5e6),
];

describe('verifyRegistration', () => {
  for (const kind of ['ES256', 'EdDSA', 'RS256'] as const) {
    it(`returns a passkey of ${kind}`, () => {
      const one = new Authenticator(origin, kind);
      const { publicKey, algorithm } = one.create(challenge);
      assert.deepEqual(verifyRegistration(one.create(challenge), ceremony), {
        credentialId: one.credentialId.toString('base64url'),
        publicKey,
        algorithm: Number(algorithm),
        signCount: 0,
        backedUp: false,
      });
    });
  }

  it('returns the counter and whether the passkey is backed up', () => {
    const flags = FLAGS.present | FLAGS.verified | FLAGS.credential | FLAGS.eligible | FLAGS.backedUp;
    const passkey = verifyRegistration(authenticator.create(challenge, { flags, signCount: 0xffff_fffe }), ceremony);
    assert.ok(typeof passkey === 'object');
    assert.equal(passkey.signCount, 0xffff_fffe);
    assert.equal(passkey.backedUp, true);
  });

  it('rejects what is for another ceremony or another site', () => {
    for (const [fault, deviation, other] of rejected) {
      const response = authenticator.create(challenge, deviation);
      assert.equal(verifyRegistration(response, { ...ceremony, ...other }), fault, JSON.stringify(deviation));
    }
    const { clientDataJSON } = authenticator.get(challenge);
    assert.equal(verifyRegistration({ ...authenticator.create(challenge), clientDataJSON }, ceremony), 'type');
  });

  it('accepts client data without crossOrigin, and with members that are unknown', () => {
    const clientData = { crossOrigin: undefined, other_keys_can_be_added_here: 'x' };
    assert.equal(typeof verifyRegistration(authenticator.create(challenge, { clientData }), ceremony), 'object');
  });

  it('requires the user, and the check of the user where the ceremony requires it', () => {
    const verify = (flags: number, userVerification: Ceremony['userVerification']) =>
      verifyRegistration(authenticator.create(challenge, { flags: flags | FLAGS.credential }), {
        ...ceremony,
        userVerification,
      });
    assert.equal(verify(FLAGS.verified, 'required'), 'user presence');
    assert.equal(verify(FLAGS.verified, 'discouraged'), 'user presence');
    assert.equal(verify(FLAGS.present, 'required'), 'user verification');
    assert.equal(typeof verify(FLAGS.present, 'preferred'), 'object');
    assert.equal(typeof verify(FLAGS.present, 'discouraged'), 'object');
  });

  it('accepts credential ids of 1 to 1023 bytes only, which the public key follows', () => {
    const verify = (rest: Buffer, flags = FLAGS.present | FLAGS.verified | FLAGS.credential) =>
      verifyRegistration(authenticator.create(challenge, { flags, rest }), ceremony);
    for (const length of [1, 1023]) {
      const id = randomBytes(length);
      const passkey = verify(attestedOf(id));
      assert.ok(typeof passkey === 'object');
      assert.equal(passkey.credentialId, id.toString('base64url'));
    }
    const id = randomBytes(16);
    for (const rest of [
      attestedOf(Buffer.alloc(0)),
      attestedOf(randomBytes(1024)),
      attestedOf(id, { idLength: 16 + 77 }),
      attestedOf(id, { idLength: 0xffff }),
      attestedOf(id, { key: Buffer.alloc(0) }),
      attestedOf(id).subarray(0, 17),
      Buffer.alloc(0),
    ]) {
      assert.equal(verify(rest), 'authenticator data', rest.toString('hex'));
    }
    assert.equal(verify(Buffer.alloc(0), FLAGS.present | FLAGS.verified), 'authenticator data');
    assert.equal(verify(attestedOf(id), FLAGS.present | FLAGS.verified), 'authenticator data');
  });

  it('rejects a passkey that is backed up without being eligible for it', () => {
    const flags = FLAGS.present | FLAGS.verified | FLAGS.credential | FLAGS.backedUp;
    assert.equal(verifyRegistration(authenticator.create(challenge, { flags }), ceremony), 'authenticator data');
  });

  it('rejects other algorithms', () => {
    for (const algorithm of ['', '0', '7', '-35', '-65535', 'ES256', 'NaN', 'Infinity', '-7,-8']) {
      const response = { ...authenticator.create(challenge), algorithm };
      assert.equal(verifyRegistration(response, ceremony), 'algorithm', algorithm);
    }
  });

  it('rejects public keys that do not fit the algorithm', () => {
    const rsa = (modulusLength: number, publicExponent = 65537) =>
      spkiOf(generateKeyPairSync('rsa', { modulusLength, publicExponent }).publicKey);
    const n = Buffer.alloc(640, 0xff).toString('base64url');
    const rsa5120 = spkiOf(createPublicKey({ key: { kty: 'RSA', n, e: 'AQAB' }, format: 'jwk' }));
    const ed25519 = spkiOf(generateKeyPairSync('ed25519').publicKey);
    const p256 = spkiOf(generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey);
    const p384 = spkiOf(generateKeyPairSync('ec', { namedCurve: 'P-384' }).publicKey);
    const k256 = spkiOf(generateKeyPairSync('ec', { namedCurve: 'secp256k1' }).publicKey);
    const pss = spkiOf(generateKeyPairSync('rsa-pss', { modulusLength: 2048 }).publicKey);
    const offCurve = Buffer.from(p256, 'base64url');
    offCurve[offCurve.length - 1]! ^= 1;
    const verify = (algorithm: string, publicKey: string) =>
      verifyRegistration({ ...authenticator.create(challenge), algorithm, publicKey }, ceremony);
    for (const [algorithm, keys] of Object.entries({
      '-7': [ed25519, p384, k256, rsa(2048), offCurve.toString('base64url'), ...malformed],
      '-8': [p256, rsa(2048), spkiOf(generateKeyPairSync('x25519').publicKey), ...malformed],
      '-257': [p256, ed25519, pss, rsa(1024), rsa5120, rsa(2048, 3), ...malformed],
    })) {
      for (const [index, key] of keys.entries())
        assert.equal(verify(algorithm, key), 'public key', `${algorithm} ${index}`);
    }
  });

  it('stores the key alone, without what follows it', () => {
    const response = authenticator.create(challenge);
    const verify = (rest: Buffer) => {
      const publicKey = Buffer.concat([Buffer.from(response.publicKey, 'base64url'), rest]).toString('base64url');
      return verifyRegistration({ ...response, publicKey }, ceremony);
    };
    const passkey = verify(Buffer.alloc(4));
    assert.ok(typeof passkey === 'object');
    assert.equal(passkey.publicKey, response.publicKey);
    assert.equal(verify(Buffer.alloc(1024)), 'public key');
  });
});

describe('verifyAssertion', () => {
  for (const kind of ['ES256', 'EdDSA', 'RS256'] as const) {
    const one = new Authenticator(origin, kind);
    const passkey = registered(one);

    it(`accepts a signature of ${kind}`, () => {
      const result = verifyAssertion(one.get(challenge), passkey, ceremony);
      assert.deepEqual(result, { signCount: 0, backedUp: false });
    });

    it(`rejects a signature of ${kind} if any byte differs`, () => {
      const response = one.get(challenge);
      for (const field of ['signature', 'authenticatorData', 'clientDataJSON'] as const) {
        const bytes = Buffer.from(response[field], 'base64url');
        for (const index of bytes.keys()) {
          const changed = Buffer.from(bytes);
          changed[index]! ^= 1;
          const result = verifyAssertion({ ...response, [field]: changed.toString('base64url') }, passkey, ceremony);
          assert.equal(typeof result, 'string', `${field} ${index}`);
        }
      }
    });

    it(`rejects a public key of ${kind} if any byte differs`, () => {
      const response = one.get(challenge);
      const bytes = Buffer.from(passkey.publicKey, 'base64url');
      let beside = 0;
      for (const index of bytes.keys()) {
        for (const bit of [0x01, 0x80]) {
          const changed = Buffer.from(bytes);
          changed[index]! ^= bit;
          const publicKey = changed.toString('base64url');
          const fault = verifyAssertion(response, { ...passkey, publicKey }, ceremony);
          if (typeof fault === 'object') {
            // A byte beside the key differs: it is not stored.
            const again = verifyRegistration({ ...one.create(challenge), publicKey }, ceremony);
            assert.deepEqual(again, passkey, String(index));
            beside++;
          } else assert.match(fault, /^(signature|public key)$/, String(index));
        }
      }
      assert.ok(beside < 4, String(beside));
    });

    it(`rejects other bytes as a signature of ${kind}`, () => {
      const { signature, ...rest } = one.get(challenge);
      const bytes = Buffer.from(signature, 'base64url');
      const others = [
        bytes.subarray(1),
        bytes.subarray(0, -1),
        Buffer.concat([bytes, Buffer.alloc(1)]),
        Buffer.alloc(64),
      ];
      const texts = [...others.map(other => other.toString('base64url')), ...malformed];
      for (const [index, text] of texts.entries()) {
        assert.equal(verifyAssertion({ ...rest, signature: text }, passkey, ceremony), 'signature', String(index));
      }
    });
  }

  it('rejects what is for another ceremony or another site', () => {
    for (const [fault, deviation, other] of rejected) {
      const response = authenticator.get(challenge, deviation);
      assert.equal(
        verifyAssertion(response, registered(), { ...ceremony, ...other }),
        fault,
        JSON.stringify(deviation),
      );
    }
    const signed = authenticator.get(challenge, { clientData: { type: 'webauthn.create' } });
    assert.equal(verifyAssertion(signed, registered(), ceremony), 'type');
  });

  it('requires the user, and the check of the user where the ceremony requires it', () => {
    const verify = (flags: number, userVerification: Ceremony['userVerification']) =>
      verifyAssertion(authenticator.get(challenge, { flags }), registered(), { ...ceremony, userVerification });
    assert.equal(verify(FLAGS.verified, 'required'), 'user presence');
    assert.equal(verify(0, 'discouraged'), 'user presence');
    assert.equal(verify(FLAGS.present, 'required'), 'user verification');
    assert.equal(typeof verify(FLAGS.present, 'preferred'), 'object');
  });

  it('rejects a counter that does not grow, unless there is none', () => {
    for (const [stored, signCount, isAccepted] of [
      [0, 0, true],
      [0, 1, true],
      [1, 2, true],
      [0, 0xffff_ffff, true],
      [1, 1, false],
      [2, 1, false],
      [1, 0, false],
      [0xffff_ffff, 0, false],
    ] as const) {
      const passkey = { ...registered(), signCount: stored };
      const result = verifyAssertion(authenticator.get(challenge, { signCount }), passkey, ceremony);
      const expected = isAccepted ? { signCount, backedUp: false } : 'signature counter';
      assert.deepEqual(result, expected, `${stored} then ${signCount}`);
    }
  });

  it('rejects signatures of other passkeys, also of another algorithm', () => {
    for (const other of [
      new Authenticator(origin),
      new Authenticator(origin, 'EdDSA'),
      new Authenticator(origin, 'RS256'),
    ]) {
      assert.equal(verifyAssertion(other.get(challenge), registered(), ceremony), 'signature');
    }
    const passkey = { ...registered(), algorithm: -8 };
    assert.equal(verifyAssertion(authenticator.get(challenge), passkey, ceremony), 'public key');
  });

  it('accepts extensions that their flag announces, up to 4 KiB', () => {
    const flags = FLAGS.present | FLAGS.verified;
    const verify = (deviation: Deviation) =>
      verifyAssertion(authenticator.get(challenge, deviation), registered(), ceremony);
    assert.equal(typeof verify({ flags: flags | FLAGS.extensions, rest: Buffer.from('a0', 'hex') }), 'object');
    assert.equal(verify({ flags: flags | FLAGS.extensions }), 'authenticator data');
    assert.equal(verify({ flags: flags | FLAGS.extensions, rest: Buffer.alloc(4096) }), 'authenticator data');
    assert.equal(verify({ flags, rest: Buffer.from('a0', 'hex') }), 'authenticator data');
  });

  it('reports that the passkey was backed up since', () => {
    const flags = FLAGS.present | FLAGS.verified | FLAGS.eligible | FLAGS.backedUp;
    const result = verifyAssertion(authenticator.get(challenge, { flags }), registered(), ceremony);
    assert.deepEqual(result, { signCount: 0, backedUp: true });
  });
});

describe('malformed input', () => {
  const created = authenticator.create(challenge);
  const got = authenticator.get(challenge);
  const passkey = registered();
  const textOf = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');

  it('is a fault of the client data', () => {
    const noObjects = [null, 1, 'text', true].map(textOf);
    const notJson = ['{', '', '\ufeff{}', '{"type":"webauthn.get"', '['.repeat(4000)];
    const whole = Buffer.from(got.clientDataJSON, 'base64url');
    const tooLong = Buffer.concat([whole, Buffer.alloc(4097 - whole.length, ' ')]).toString('base64url');
    const texts = [
      ...malformed,
      ...noObjects,
      ...notJson.map(text => Buffer.from(text).toString('base64url')),
      tooLong,
    ];
    for (const [index, clientDataJSON] of texts.entries()) {
      assert.equal(verifyRegistration({ ...created, clientDataJSON }, ceremony), 'client data', String(index));
      assert.equal(verifyAssertion({ ...got, clientDataJSON }, passkey, ceremony), 'client data', String(index));
    }
  });

  it('is a fault of the authenticator data, wherever they end', () => {
    const whole = Buffer.from(got.authenticatorData, 'base64url');
    const shorter = Array.from({ length: 37 }, (_, length) => whole.subarray(0, length).toString('base64url'));
    for (const [index, authenticatorData] of [...malformed, ...shorter].entries()) {
      assert.equal(
        verifyRegistration({ ...created, authenticatorData }, ceremony),
        'authenticator data',
        String(index),
      );
      assert.equal(
        verifyAssertion({ ...got, authenticatorData }, passkey, ceremony),
        'authenticator data',
        String(index),
      );
    }
  });

  it('never throws', () => {
    const bytes = fc.uint8Array({ maxLength: 200 }).map(one => Buffer.from(one).toString('base64url'));
    const text = fc.oneof(bytes, fc.string({ unit: 'binary' }));
    const json = fc.json().map(one => Buffer.from(one).toString('base64url'));
    const field = (valid: string) => fc.oneof(fc.constant(valid), text, json);
    fc.assert(
      fc.property(
        field(created.clientDataJSON),
        field(created.authenticatorData),
        field(created.publicKey),
        fc.oneof(fc.constantFrom('-7', '-8', '-257'), fc.string()),
        (clientDataJSON, authenticatorData, publicKey, algorithm) => {
          verifyRegistration({ clientDataJSON, authenticatorData, publicKey, algorithm }, ceremony);
        },
      ),
      { numRuns: 100 },
    );
    fc.assert(
      fc.property(
        field(got.clientDataJSON),
        field(got.authenticatorData),
        field(got.signature),
        fc.record({
          publicKey: field(passkey.publicKey),
          algorithm: fc.constantFrom(-7, -8, -257, 0),
          signCount: fc.nat(),
        }),
        (clientDataJSON, authenticatorData, signature, stored) => {
          verifyAssertion({ clientDataJSON, authenticatorData, signature }, stored, ceremony);
        },
      ),
      { numRuns: 100 },
    );
  });
});

describe('the options', () => {
  it('of a registration name the site, the user and the accepted algorithms', () => {
    const user = { id: 'AAEC', name: 'ada@example.org', displayName: 'Ada' };
    assert.deepEqual(creationOptions(ceremony, { siteName: 'Shop', user, existing: ['AQID'] }), {
      rp: { id: 'shop.example', name: 'Shop' },
      user,
      challenge,
      pubKeyCredParams: [-7, -8, -257].map(alg => ({ type: 'public-key', alg })),
      timeout: 300_000,
      excludeCredentials: [{ type: 'public-key', id: 'AQID' }],
      authenticatorSelection: { residentKey: 'preferred', userVerification: 'required' },
      attestation: 'none',
    });
  });

  it('of signing in name the passkeys of the user', () => {
    assert.deepEqual(requestOptions(ceremony, ['AQID']), {
      challenge,
      rpId: 'shop.example',
      timeout: 300_000,
      allowCredentials: [{ type: 'public-key', id: 'AQID' }],
      userVerification: 'required',
    });
  });
});

describe('passkeyHostOf', () => {
  it('returns the host of a public URL with HTTPS, and localhost', () => {
    for (const [url, host] of [
      ['https://shop.example', 'shop.example'],
      ['https://Shop.Example:8443/store', 'shop.example'],
      ['https://m\u00FCnchen.example', 'xn--mnchen-3ya.example'],
      ['http://localhost:8080', 'localhost'],
      ['https://localhost', 'localhost'],
    ] as const) {
      assert.equal(passkeyHostOf(url), host, url);
    }
  });

  it('returns undefined where browsers create no passkeys', () => {
    for (const url of [
      'http://shop.example',
      'http://localhost.example',
      'http://127.0.0.1:8080',
      'https://127.0.0.1',
      'https://0x7f.1',
      'https://[::1]:8080',
      'ftp://localhost',
      'shop.example',
      '',
    ]) {
      assert.equal(passkeyHostOf(url), undefined, url);
    }
  });
});
