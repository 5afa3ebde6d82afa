import { generateKeyPairSync, hash, type KeyObject, randomBytes, sign } from 'node:crypto';

/** The flags of authenticator data. */
export const FLAGS = {
  present: 0x01,
  verified: 0x04,
  eligible: 0x08,
  backedUp: 0x10,
  credential: 0x40,
  extensions: 0x80,
};

export type KeyKind = 'ES256' | 'EdDSA' | 'RS256';

const kinds = {
  ES256: { algorithm: -7, digest: 'sha256', create: () => generateKeyPairSync('ec', { namedCurve: 'P-256' }) },
  EdDSA: { algorithm: -8, digest: null, create: () => generateKeyPairSync('ed25519') },
  RS256: { algorithm: -257, digest: 'sha256', create: () => generateKeyPairSync('rsa', { modulusLength: 2048 }) },
} as const;

/** The members of client data and of authenticator data that a test may replace. */
export interface Deviation {
  readonly clientData?: Readonly<Record<string, unknown>>;
  readonly rpId?: string;
  readonly flags?: number;
  readonly signCount?: number;
  /** What follows the head of the authenticator data. */
  readonly rest?: Buffer;
}

/** An authenticator with one passkey, which signs as a browser lets it. */
export class Authenticator {
  readonly origin: string;
  readonly credentialId = randomBytes(16);
  readonly #kind: (typeof kinds)[KeyKind];
  readonly #keys: { readonly publicKey: KeyObject; readonly privateKey: KeyObject };

  constructor(origin: string, kind: KeyKind = 'ES256') {
    this.origin = origin;
    this.#kind = kinds[kind];
    this.#keys = this.#kind.create();
  }

  /** Returns what the browser sends after `navigator.credentials.create()`. */
  create(challenge: string, { clientData, ...authenticator }: Deviation = {}) {
    return {
      clientDataJSON: this.#clientData('webauthn.create', challenge, clientData).toString('base64url'),
      authenticatorData: this.#authenticatorData({
        flags: FLAGS.present | FLAGS.verified | FLAGS.credential,
        rest: attestedOf(this.credentialId),
        ...authenticator,
      }).toString('base64url'),
      publicKey: this.#keys.publicKey.export({ type: 'spki', format: 'der' }).toString('base64url'),
      algorithm: String(this.#kind.algorithm),
    };
  }

  /** Returns what the browser sends after `navigator.credentials.get()`. */
  get(challenge: string, { clientData, ...authenticator }: Deviation = {}) {
    const data = this.#authenticatorData(authenticator);
    const json = this.#clientData('webauthn.get', challenge, clientData);
    const signed = Buffer.concat([data, hash('sha256', json, 'buffer')]);
    return {
      credentialId: this.credentialId.toString('base64url'),
      clientDataJSON: json.toString('base64url'),
      authenticatorData: data.toString('base64url'),
      signature: sign(this.#kind.digest, signed, this.#keys.privateKey).toString('base64url'),
    };
  }

  #clientData(type: string, challenge: string, other: Deviation['clientData']): Buffer {
    return Buffer.from(JSON.stringify({ type, challenge, origin: this.origin, crossOrigin: false, ...other }));
  }

  #authenticatorData({
    rpId = new URL(this.origin).hostname,
    flags = FLAGS.present | FLAGS.verified,
    signCount = 0,
    rest = Buffer.alloc(0),
  }: Omit<Deviation, 'clientData'>): Buffer {
    const counted = Buffer.alloc(5);
    counted[0] = flags;
    counted.writeUInt32BE(signCount, 1);
    return Buffer.concat([hash('sha256', rpId, 'buffer'), counted, rest]);
  }
}

/** Returns attested credential data. @param idLength the length that they claim for the id */
export function attestedOf(
  credentialId: Buffer,
  { idLength = credentialId.length, key = Buffer.alloc(77, 0xa5) } = {},
) {
  const length = Buffer.alloc(2);
  length.writeUInt16BE(idLength);
  return Buffer.concat([Buffer.alloc(16), length, credentialId, key]);
}
